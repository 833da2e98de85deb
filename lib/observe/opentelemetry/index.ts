export { traceAgent } from './traceAgent.js';
export { traceModel } from './traceModel.js';
