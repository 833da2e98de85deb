export { chatCopies } from './chat/chatCopies.js';
export type { ChatCopies } from './chat/chatCopies.js';
export { keepChats } from './service/chats/keepChats.js';
export type { KeepChatsOptions } from './service/chats/keepChats.js';
export { remoteChats } from './chat/remoteChats.js';
export type { OpenedChat, RemoteChats, RemoteChatsOptions } from './chat/remoteChats.js';
export type { ChatRecord, ChatService, ServiceChats } from './service/chats/chatStore.js';
export type { ChatPage, ChatSummary } from './transport/chatSummary.js';
