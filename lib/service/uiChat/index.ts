export { fromUiMessages } from './fromUiMessages.js';
export { uiMessageResponse } from './uiMessageResponse.js';
export { toUiMessageStream } from './toUiMessageStream.js';
export { uiChatHandler } from './uiChatHandler.js';
export type { UiFinishReason, UiMessage, UiMessageChunk, UiProviderMetadata, UiToolChunk } from './chunks.js';
export type { KeptResponse, UiConversation } from './fromUiMessages.js';
export type { UiMessageStreamOptions } from './options.js';
export type { UiChatHandler, UiChatOptions } from './uiChatHandler.js';
export type { UiMessageResponseOptions } from './uiMessageResponse.js';
