import { describe, expect, it } from '@jest/globals';
import { from, materialize, toArray } from 'rxjs';
import type { Chunk, FinishChunk } from '../../lib/core/chunk.js';
import type { StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import type { Message } from '../../lib/core/message.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import type { Wire } from '../../lib/protocol/wire.js';
import { finishReasonOf, recordings } from './recordings.js';
import type { ExpectedAnswer } from './recordings.js';

type Decode = Wire['decode'];

/** The output of a decoder, and of the operators after it, for one response. */
export interface Read {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly ToolCallEvent[];
  readonly message: Message | undefined;
  readonly finish: FinishChunk | undefined;
  readonly error: unknown;
}

/** Decodes frames to the terminal mark or their end. Whatever is thrown is in `error`. */
export function readAnswer(decode: Decode, frames: readonly JsonObject[]): Read {
  const chunks: Chunk[] = [];
  let error: unknown;
  try {
    const decoder = decode((chunk) => chunks.push(chunk));
    const terminal = frames.some((frame) => decoder.next(frame) === 'end');
    decoder.end(terminal);
  } catch (thrown) {
    error = thrown;
  }
  const events: StreamEvent[] = [];
  from(chunks as readonly StreamEvent[])
    .pipe(accumulateToolCalls(), consolidate(), materialize(), toArray())
    .subscribe((all) => all.forEach((one) => one.kind === 'N' && events.push(one.value)));
  const joined = (type: 'text' | 'thinking') => chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('');
  const messageEvent = events.find((event): event is { type: 'message'; message: Message } => event.type === 'message');
  return {
    chunks,
    text: joined('text'),
    thinking: joined('thinking'),
    calls: events.filter((event): event is ToolCallEvent => event.type === 'toolCall'),
    message: messageEvent?.message,
    finish: events.find((event): event is FinishChunk => event.type === 'finish'),
    error,
  };
}

function check({ text, thinking, calls, finish, message, error }: Read, expected: ExpectedAnswer): void {
  expect(text).toBe(expected.text);
  if (expected.reasoning !== undefined) expect(thinking).toBe(expected.reasoning);
  if (expected.error) {
    expect(error).toMatchObject({
      code: 'provider',
      message: expect.stringContaining(expected.error.message ?? '') as unknown,
    });
    expect(finish).toBeUndefined();
    return;
  }
  expect(error).toBeUndefined();
  expect(calls).toMatchObject(
    expected.toolCalls.map(({ id, ...call }) => ({ ...call, ...(id === null ? {} : { id }) })),
  );
  expect(calls).toHaveLength(expected.toolCalls.length);
  expect(finish?.reason).toBe(finishReasonOf(expected.finishReason));
  if (expected.usage === null) expect(finish?.usage).toBeUndefined();
  const { input, output, reasoning, cacheRead } = expected.usage ?? {};
  const counts = { input, output, reasoning, cachedInput: cacheRead };
  // A count of 0 and an absent count are the same.
  for (const [name, count] of Object.entries(counts)) if (count) expect(finish?.usage).toHaveProperty(name, count);
  if (expected.message !== undefined) expect(message).toEqual(expected.message);
}

/** Decodes the recordings of a wire: the project's own, and those next to the project where they are present. */
export function itReadsRecordings(wire: string, decode: Decode): void {
  describe(`${wire}: recordings`, () => {
    const all = [...recordings(`spec/recordings/${wire}`), ...recordings(`../shared/recordings/${wire}`)];
    it.each(all)(`${wire} decodes $name completely`, ({ frames, expected }) =>
      check(readAnswer(decode, frames), expected),
    );
  });
}
