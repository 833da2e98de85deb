// Compiled by `npm run test:ai-sdk-ui`, and not run: the types of the bridge against the published ones.
import type { UIMessage, UIMessageChunk } from 'ai';
import type { UIMessage as UIMessage6 } from 'ai-6';
import { fromUiMessages } from 'rivulet/ai-sdk-ui';
import type { UiMessageChunk } from 'rivulet/ai-sdk-ui';

export const isChunk = (chunk: UiMessageChunk): UIMessageChunk => chunk;
export const areRead = (messages: UIMessage[], older: UIMessage6[]) => [
  fromUiMessages(messages),
  fromUiMessages(older),
];
