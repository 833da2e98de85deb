export { call } from './script.js';
export type { Lines, Script, ScriptedTurn, ScriptRequest, Step } from './script.js';
export { scriptedModel } from './scriptedModel.js';
export type { ScriptedModel, ScriptedModelOptions, ScriptedRequest } from './scriptedModel.js';
export { parseDiagram, runDiagram } from './marbles.js';
export type { Diagram, DiagramLine, DrawnEvent, Streams } from './marbles.js';
export { recordFetch } from './recordFetch.js';
export type { Recorder, RecordOptions } from './recordFetch.js';
export type { RecordedExchange, Recording } from './recording.js';
