export { serveFrames, serveModel } from './serveModel.js';
export type { LoopbackServer, ServerEvent } from './serveModel.js';
export { serveRecording } from './serveRecording.js';
export type { Behaviour, FirstFailures, ServedRequest, ServedTurn, ServeOptions } from './options.js';
export type { Script, ScriptedTurn, ScriptRequest, Step } from '../script.js';
