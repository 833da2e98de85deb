import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../lib/core/json/json.js';
import type { Wire } from '../../lib/protocol/wire.js';
import { wholeAnswer } from '../providers/wholeAnswer.js';
import type { WholeAnswer } from '../providers/wholeAnswer.js';
import { finishReasonOf, recordings } from './recordings.js';
import type { ExpectedAnswer } from './recordings.js';

type Decode = Wire['decode'];

/** The output of a decoder, and of the operators after it, for one response. */
export type Read = WholeAnswer;

/** Decodes frames to the terminal mark or their end. Whatever is thrown is in `error`. */
export const readAnswer = (decode: Decode, frames: readonly JsonObject[]): Read => wholeAnswer(decode, frames);

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
