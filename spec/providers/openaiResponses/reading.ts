import { from, lastValueFrom, toArray } from 'rxjs';
import type { Chunk, FinishChunk } from '../../../lib/core/chunk.js';
import type { ToolCallEvent } from '../../../lib/core/event.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import type { Message } from '../../../lib/core/message.js';
import { accumulateToolCalls } from '../../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../../lib/operators/consolidate.js';
import { decodeResponses } from '../../../lib/providers/openaiResponses/decode.js';

/** What became of an answer. */
export interface Read {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly ToolCallEvent[];
  readonly message: Message | undefined;
  readonly finish: FinishChunk | undefined;
  readonly error: unknown;
}

/** Decodes frames up to the terminal mark, or to their end, and gathers the message; what is thrown is in `error`. */
export async function read(frames: readonly JsonObject[], done = false): Promise<Read> {
  const chunks: Chunk[] = [];
  let error: unknown;
  try {
    const decoder = decodeResponses((chunk) => chunks.push(chunk));
    const terminal = frames.some((frame) => decoder.next(frame) === 'end');
    decoder.end(terminal || done);
  } catch (thrown) {
    error = thrown;
  }
  const events = await lastValueFrom(from(chunks).pipe(accumulateToolCalls(), consolidate(), toArray()));
  const joined = (type: 'text' | 'thinking') => chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('');
  return {
    chunks,
    text: joined('text'),
    thinking: joined('thinking'),
    calls: events.filter((event) => event.type === 'toolCall'),
    message: events.find((event) => event.type === 'message')?.message,
    finish: chunks.find((chunk) => chunk.type === 'finish'),
    error,
  };
}
