import type { JsonObject } from '../../../lib/core/json/json.js';

/** Frames of the Messages API, as short as they can be. */
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

/** A block from its start to its stop. */
export const block = (index: number, start: JsonObject, ...deltas: readonly JsonObject[]): readonly JsonObject[] => [
  { type: 'content_block_start', index, content_block: start },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];

export const text = (index: number, ...pieces: readonly string[]): readonly JsonObject[] =>
  block(index, { type: 'text', text: '' }, ...pieces.map((piece) => ({ type: 'text_delta', text: piece })));

export const thinking = (index: number, thought: string, signature: string): readonly JsonObject[] =>
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
