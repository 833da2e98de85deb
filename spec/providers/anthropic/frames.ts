import type { MetadataChunk } from '../../../lib/core/chunk.js';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import type { Message } from '../../../lib/core/message.js';
import { decodeAnthropic } from '../../../lib/providers/anthropic/decode.js';
import { encodeMessages } from '../../../lib/providers/anthropic/messages.js';
import { readAnswer } from '../../support/recordedAnswers.js';
import type { Read } from '../../support/recordedAnswers.js';

/** Decodes an answer. */
export const read = (...frames: readonly JsonObject[]): Read => readAnswer(decodeAnthropic, frames);

/** The content blocks that are sent back for a message. */
export const replayed = (message: Message | undefined): JsonValue | undefined =>
  encodeMessages(message ? [message] : []).messages[0]?.['content'];

/** The shortest `message_start` of the Messages API. */
export const begin = (message: JsonObject = {}): JsonObject => ({
  type: 'message_start',
  message: {
    id: 'msg_1',
    model: 'claude-x',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 20, output_tokens: 1 },
    ...message,
  },
});

/** The frames of a block, from its start to its stop. */
export const block = (index: number, start: JsonObject, ...deltas: readonly JsonObject[]): readonly JsonObject[] => [
  { type: 'content_block_start', index, content_block: start },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];

export const textBlock = (index: number, ...deltas: readonly string[]): readonly JsonObject[] =>
  block(index, { type: 'text', text: '' }, ...deltas.map((delta) => ({ type: 'text_delta', text: delta })));

export const thinkingBlock = (index: number, thought: string, signature: string): readonly JsonObject[] =>
  block(
    index,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: thought },
    { type: 'signature_delta', signature },
  );

export const toolUse = (index: number, id: string, name: string, ...json: readonly string[]): readonly JsonObject[] =>
  block(
    index,
    { type: 'tool_use', id, name, input: {} },
    ...json.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  );

export const end = (
  stop_reason: string | null = 'end_turn',
  usage: JsonObject = { output_tokens: 12 },
): readonly JsonObject[] => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
];

/** The reports of server tools in an answer, in order. */
export const serverToolsIn = (events: readonly { readonly type: string }[]): readonly JsonObject[] =>
  events.flatMap((event) => {
    const { serverTools } = event.type === 'metadata' ? (event as MetadataChunk).metadata : {};
    return (serverTools ?? []) as readonly JsonObject[];
  });
