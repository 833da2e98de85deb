export { durableAgent } from './durableAgent.js';
export { durableWorker } from './durableWorker.js';
export type { DurableWorker } from './durableWorker.js';
export type { DurableEngine } from './engine.js';
