// The entry point `rivulet/service`: the server's side. What a page needs is in rivulet/chat.
export { createService } from './createService.js';
export type { AgentHandler, Service } from './service.js';
export { agentHandler } from './http/agentHandler.js';
export type { AgentHandlerOptions } from './http/agentHandler.js';
export { nodeListener } from './http/nodeListener.js';
export type { ListenedRequest, ListenedResponse } from './http/nodeListener.js';
export { runResponse } from './http/runResponse.js';
export { toServerSentEvents } from './http/toServerSentEvents.js';
export type { ServerSentEvent } from '../transport/serverSentEvents.js';
export type { HandledAgent } from './handledAgent.js';
export type { ServiceOptions } from './serviceOptions.js';

export { createRuns } from './runs/createRuns.js';
export type { Runs } from './runs/createRuns.js';
export { joinRun } from './runs/joinRun.js';
export type { JoinedRun } from './runs/joinRun.js';
export type { Envelope } from './runs/lateReader.js';
export { shareRun } from './runs/shareRun.js';
export type { SharedRun } from './runs/sharedRun.js';

export { keepChats } from './chats/keepChats.js';
export type { ChatRecord, ServiceChats } from './chats/chatStore.js';
export type { ChatPage, ChatSummary } from '../transport/chatSummary.js';

export { RunFullError, RunNotFoundError, RunTakenError } from './runs/runErrors.js';
export type { RunLog, RunMessage, SentMessage } from './ports/runLog.js';
export type { ListedRecord, RecordStore, StorableRecord } from './ports/recordStore.js';
export type { RunRecord } from './ports/runStore.js';
export { memoryLog } from './stores/memory/memoryLog.js';
export { memoryStore } from './stores/memory/memoryStore.js';
