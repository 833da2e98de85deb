export { fromUiMessages } from './fromUiMessages.js';
export { uiMessageResponse } from './uiMessageResponse.js';
export { toUiMessageStream } from './toUiMessageStream.js';
export { uiChatHandler } from './uiChatHandler.js';
export type { UiMessage, UiMessageChunk } from './chunks.js';
export type { UiConversation } from './fromUiMessages.js';
