// The entry point `rivulet/chat`: conversations of a page, without a framework. Angular has rivulet/angular, pages that
// read AG-UI have rivulet/ag-ui, and the server has rivulet/service.
export { conversation } from './conversation.js';
export type { Conversation, ConversationView } from './conversation.js';
export type { ConversationAgent } from './conversationAgent.js';
export type { QueuedPrompt, WhenBusy } from './commandQueue.js';
export type { Exchange, ExchangeView } from './exchange.js';
export { pageTools } from './pageTools.js';
export type { PageTools } from './pageTools.js';
export { persist } from './persist.js';
export { savedElsewhere } from './savedElsewhere.js';
export type { SavedConversation } from './savedConversation.js';
export type { TabLock } from './tabLock.js';

export { remoteAgent } from './remoteAgent.js';
export { fromServerSentEvents, RUN_ID_HEADER } from '../transport/fromServerSentEvents.js';
export type { RunRequest } from '../transport/fromServerSentEvents.js';
export type { EarlierRun } from '../transport/earlierRun.js';
export type { ReconnectingEvent, Reconnection } from '../core/connectionEvents.js';

export { chatCopies } from './chatCopies.js';
export type { ChatCopies } from './chatCopies.js';
export { remoteChats } from './remoteChats.js';
export type { OpenedChat, RemoteChats } from './remoteChats.js';
export type { ChatPage, ChatSummary } from '../transport/chatSummary.js';
