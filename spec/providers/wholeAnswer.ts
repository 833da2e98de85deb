import { existsSync, readFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import { concat, EMPTY, from, tap, throwError } from 'rxjs';
import type { Chunk, FinishChunk } from '../../lib/core/chunk.js';
import type { StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import type { Message } from '../../lib/core/message.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import type { Decoder } from '../../lib/protocol/wire.js';
import { finishReasonOf } from '../support/recordings.js';
import type { Recording } from '../support/recordings.js';

/** The output of a wire's decoder, and of the operators after it, for one response. */
export interface WholeAnswer {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly ToolCallEvent[];
  readonly message: Message | undefined;
  readonly finish: FinishChunk | undefined;
  readonly error: unknown;
}

/** Decodes frames to the end. A thrown error is returned as `error`. */
export function wholeAnswer(
  decode: (emit: (chunk: Chunk) => void) => Decoder,
  frames: readonly JsonObject[],
  terminal = false,
): WholeAnswer {
  const chunks: Chunk[] = [];
  let error: unknown;
  try {
    const decoder = decode((chunk) => chunks.push(chunk));
    const ended = frames.some((frame) => decoder.next(frame) === 'end');
    decoder.end(ended || terminal);
  } catch (thrown) {
    error = thrown;
  }
  const events: StreamEvent[] = [];
  const calls: ToolCallEvent[] = [];
  let ids = 0;
  concat(from(chunks), error === undefined ? EMPTY : throwError(() => new Error('broken off', { cause: error })))
    .pipe(
      accumulateToolCalls({ newId: () => `made_${++ids}` }),
      tap((event) => event.type === 'toolCall' && calls.push(event)), // consolidate removes the provider data
      consolidate(),
    )
    .subscribe({ next: (event) => events.push(event), error: () => undefined });
  const joined = (type: 'text' | 'thinking') => chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('');
  const message = events.find(
    (event): event is StreamEvent & { message: Message } => event.type === 'message',
  )?.message;
  return {
    chunks,
    text: joined('text'),
    thinking: joined('thinking'),
    calls,
    message,
    finish: events.find((event): event is FinishChunk => event.type === 'finish'),
    error,
  };
}

/** Compares a response with the expectation of its recording. */
export function expectRecorded({ expected }: Recording, { text, thinking, calls, finish, error }: WholeAnswer): void {
  expect(text).toBe(expected.text);
  expect(thinking).toBe(expected.reasoning ?? '');
  expect(calls.map(({ name, arguments: args }) => ({ name, arguments: args }))).toEqual(
    expected.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
  );
  expected.toolCalls.forEach(({ id }, at) => expect(calls[at]?.id).toEqual(id ?? expect.any(String)));
  if (expected.error) {
    expect(error).toMatchObject({
      code: 'provider',
      message: expect.stringContaining(expected.error.message ?? '') as unknown,
    });
    return;
  }
  expect(error).toBeUndefined();
  const reasons = [expected.finishReason, ...(expected.finishReasonAlsoAccepted ?? [])].map(finishReasonOf);
  expect(reasons).toContain(finish?.reason);
  if (expected.usage === null) expect(finish?.usage).toBeUndefined();
  else {
    const { input, output, reasoning, cacheRead } = expected.usage;
    expect(finish?.usage).toMatchObject({
      ...(input === undefined ? {} : { input }),
      ...(output === undefined ? {} : { output }),
      ...(reasoning ? { reasoning } : {}),
      ...(cacheRead ? { cachedInput: cacheRead } : {}),
    });
  }
}

/** A documented malformation of a wire. */
export interface Quirk {
  readonly id: string;
  readonly wire: string;
  readonly title: string;
  readonly frames: readonly string[];
  readonly expected: {
    readonly text?: string;
    readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
    readonly finishReason?: string | readonly string[];
    readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
    readonly error?: boolean | string;
  };
}

/** The documented malformations of a wire; none where the file is missing. */
export function quirksOf(wire: string): readonly Quirk[] {
  const file = '../shared/quirks/visible.json';
  if (!existsSync(file)) return [];
  return (JSON.parse(readFileSync(file, 'utf8')) as { cases: Quirk[] }).cases.filter((quirk) => quirk.wire === wire);
}

/** Compares a response with the expectation of a malformation. */
export function expectQuirk({ frames, expected }: Quirk, decode: (emit: (chunk: Chunk) => void) => Decoder): void {
  const payloads = frames.map((frame) => JSON.parse(frame.replace(/^data: /, '')) as JsonObject);
  const { text, calls, finish, error } = wholeAnswer(decode, payloads);
  if (expected.text !== undefined) expect(text).toBe(expected.text);
  if (expected.toolCalls) {
    expect(calls.map(({ name, arguments: args }) => ({ name, arguments: args }))).toEqual(
      expected.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
    );
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  }
  if (typeof expected.error === 'string') expect(String(error)).toContain(expected.error);
  else expect(error).toBeUndefined();
  if (error === undefined && expected.finishReason !== undefined)
    expect([expected.finishReason].flat()).toContain(finish?.reason);
  if (expected.usage) {
    expect(finish?.usage).toMatchObject({ input: expected.usage.inputTokens, output: expected.usage.outputTokens });
  }
}
