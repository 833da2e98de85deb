// rivulet/angular: an agent for Angular's injection, and its runs as signals.
export { injectChats } from './injectChats.js';
export type { ChatEntry, InjectedChats } from './injectChats.js';
export { injectConversation } from './injectConversation.js';
export type { InjectedConversation } from './injectConversation.js';
export { injectRun } from './injectRun.js';
export type { InjectedRun } from './injectRun.js';
export { injectWaiting } from './injectWaiting.js';
export type { InjectedWaiting } from './injectWaiting.js';
export { injectAgent, provideAgent } from './provideAgent.js';
