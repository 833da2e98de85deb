export { serveFrames, serveModel } from './serveModel.js';
export type { LoopbackServer } from './serveModel.js';
export { serveRecording } from './serveRecording.js';
export type { ServedRequest, ServedTurn, ServeOptions } from './options.js';
