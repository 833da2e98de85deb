import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { from, materialize, toArray } from 'rxjs';
import type { Chunk, FinishChunk } from '../../lib/core/chunk.js';
import type { StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';
import type { Message } from '../../lib/core/message.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import type { Wire } from '../../lib/protocol/wire.js';

type Decode = Wire['decode'];

/** What a decoder and the operators behind it make of an answer. */
export interface Read {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly ToolCallEvent[];
  readonly message: Message | undefined;
  readonly finish: FinishChunk | undefined;
  readonly error: unknown;
}

/** Decodes frames up to the terminal mark or their end, and joins what came. */
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
  const said = events.find((event): event is { type: 'message'; message: Message } => event.type === 'message');
  return {
    chunks,
    text: joined('text'),
    thinking: joined('thinking'),
    calls: events.filter((event): event is ToolCallEvent => event.type === 'toolCall'),
    message: said?.message,
    finish: events.find((event): event is FinishChunk => event.type === 'finish'),
    error,
  };
}

interface Expected {
  readonly text?: string;
  readonly reasoning?: string;
  readonly finishReason?: string;
  readonly usage?: {
    readonly input?: number;
    readonly output?: number;
    readonly reasoning?: number;
    readonly cacheRead?: number;
  } | null;
  readonly error?: { readonly message?: string } | null;
  readonly toolCalls?: readonly { readonly id: string | null; readonly name: string; readonly arguments: JsonValue }[];
  /** Parts of the message, and what goes with it: in recordings of our own. */
  readonly message?: JsonValue;
}

const words: Readonly<Record<string, string>> = {
  'tool-calls': 'toolCalls',
  'content-filter': 'contentFilter',
  unknown: 'unspecified',
};

function check({ text, thinking, calls, finish, message, error }: Read, expected: Expected): void {
  if (expected.text !== undefined) expect(text).toBe(expected.text);
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
    (expected.toolCalls ?? []).map(({ id, ...call }) => ({ ...call, ...(id === null ? {} : { id }) })),
  );
  expect(calls).toHaveLength(expected.toolCalls?.length ?? 0);
  if (expected.finishReason !== undefined)
    expect(finish?.reason).toBe(words[expected.finishReason] ?? expected.finishReason);
  if (expected.usage === null) expect(finish?.usage).toBeUndefined();
  const { input, output, reasoning, cacheRead } = expected.usage ?? {};
  const counts = { input, output, reasoning, cachedInput: cacheRead };
  // A count of 0 and an absent count are the same.
  for (const [name, count] of Object.entries(counts)) if (count) expect(finish?.usage).toHaveProperty(name, count);
  if (expected.message !== undefined) expect(message).toEqual(expected.message);
}

/** The answers recorded in the project, and others of the same wire where they are at hand. */
export function itReadsRecordings(wire: string, decode: Decode): void {
  describe(`${wire}: recorded answers`, () => {
    const folders = [`spec/recordings/${wire}`, `../shared/recordings/${wire}`].filter((folder) => existsSync(folder));
    const recordings = folders.flatMap((folder) =>
      readdirSync(folder)
        .filter((file) => file.endsWith('.chunks.txt'))
        .map((file) => ({ name: file.slice(0, -'.chunks.txt'.length), folder })),
    );
    it.each(recordings)('$name of $folder comes out whole', ({ name, folder }) => {
      const lines = readFileSync(`${folder}/${name}.chunks.txt`, 'utf8').split('\n').filter(Boolean);
      const { expected } = JSON.parse(readFileSync(`${folder}/${name}.expected.json`, 'utf8')) as {
        expected: Expected;
      };
      check(
        readAnswer(
          decode,
          lines.map((line) => JSON.parse(line) as JsonObject),
        ),
        expected,
      );
    });
  });
}
