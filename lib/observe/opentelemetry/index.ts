export { traceAgent } from './traceAgent.js';
export type { TraceAgentOptions } from './traceAgent.js';
export { traceModel } from './traceModel.js';
export type { Conventions, TraceOptions } from './telemetry.js';
