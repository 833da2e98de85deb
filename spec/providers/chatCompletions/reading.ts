import { compatible } from '../../../lib/providers/chatCompletions/compatible.js';
import { decodeChatCompletions } from '../../../lib/providers/chatCompletions/decode.js';
import type { Chunk, FinishChunk } from '../../../lib/core/chunk.js';
import type { JsonObject } from '../../../lib/core/json/json.js';

/** The output of a decoder for one response. */
export interface Read {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly thinking: string;
  readonly finish: FinishChunk | undefined;
  readonly error: unknown;
}

/** Decodes frames to the end; whatever is thrown is in `error`. */
export function read(
  frames: readonly (JsonObject | { readonly data: JsonObject; readonly event: string })[],
  terminal = true,
  provider = 'server',
): Read {
  const chunks: Chunk[] = [];
  let error: unknown;
  try {
    const decoder = decodeChatCompletions({ ...compatible, provider }, (chunk) => chunks.push(chunk));
    for (const frame of frames) {
      if (isNamed(frame)) decoder.next(frame.data, frame.event);
      else decoder.next(frame);
    }
    decoder.end(terminal);
  } catch (thrown) {
    error = thrown;
  }
  const joined = (type: 'text' | 'thinking') => chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('');
  return {
    chunks,
    text: joined('text'),
    thinking: joined('thinking'),
    finish: chunks.find((chunk) => chunk.type === 'finish'),
    error,
  };
}

const isNamed = (frame: object): frame is { readonly data: JsonObject; readonly event: string } =>
  'event' in frame && 'data' in frame;

/** A frame with one choice. */
export const frame = (choice: JsonObject, rest: JsonObject = {}): JsonObject => ({
  choices: [{ index: 0, ...choice }],
  ...rest,
});

/** A frame with a delta. */
export const delta = (fields: JsonObject, finish: string | null = null): JsonObject =>
  frame({ delta: fields, finish_reason: finish });
