export { toolCall } from './script.js';
export type { Lines, Script, ScriptedTurn, ScriptRequest, Step } from './script.js';
export { scriptedModel } from './scriptedModel.js';
export type { ScriptedModel, ScriptedModelOptions, ScriptedRequest } from './scriptedModel.js';
export { parseDiagram, runDiagram } from './marbles/runDiagram.js';
export type { Diagram, DiagramLine, DrawnEvent, Streams } from './marbles/runDiagram.js';
export { recordFetch } from './recording/recordFetch.js';
export type { Recorder, RecordOptions } from './recording/recordFetch.js';
export type { RecordedExchange, Recording } from './recording/recordFetch.js';
