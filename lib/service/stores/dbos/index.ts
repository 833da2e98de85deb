export { durableAgent } from './durableAgent.js';
export type { DurableAgentOptions } from './durableAgent.js';
export { durableWorker } from './durableWorker.js';
export type { DurableWorker, DurableWorkerOptions } from './durableWorker.js';
export type { DurableEngine, DurableNames, DurableQueue, EngineConfig } from './engine.js';
export type { LockClient } from './workerLock.js';
