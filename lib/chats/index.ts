export { chatCopies } from './chatCopies.js';
export type { ChatCopies } from './chatCopies.js';
export { keepChats } from './keepChats.js';
export type { KeepChatsOptions } from './keepChats.js';
export { memoryChats } from './memoryChats.js';
export { remoteChats } from './remoteChats.js';
export type { OpenedChat, RemoteChats, RemoteChatsOptions } from './remoteChats.js';
export type { ChatPage, ChatRecord, ChatService, ChatStore, ChatSummary } from '../service/chatStore.js';
export type { ServiceChats, StoredChat } from '../service/chatStore.js';
