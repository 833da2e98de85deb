import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { read, recordings } from './reading.js';
import type { Recording } from './reading.js';

const words: Record<string, string> = {
  'tool-calls': 'toolCalls',
  'content-filter': 'contentFilter',
  unknown: 'unspecified',
};

function check({ frames, expected }: Recording) {
  const { text, thinking, finish, chunks, error } = read(frames);
  expect(text).toBe(expected.text);
  expect(thinking).toBe(expected.reasoning ?? '');
  const names = chunks.flatMap((chunk) => (chunk.type === 'toolCallFragment' && chunk.name ? [chunk.name] : []));
  expect(names).toEqual(expected.toolCalls.map(({ name }) => name));
  if (expected.error) {
    expect(error).toMatchObject({ code: 'provider', message: expect.stringContaining(expected.error.message ?? '') });
    expect(finish).toBeUndefined();
    return;
  }
  expect(error).toBeUndefined();
  expect(
    [expected.finishReason, ...(expected.finishReasonAlsoAccepted ?? [])].map((word) => words[word] ?? word),
  ).toContain(finish?.reason);
  if (expected.usage === null) expect(finish?.usage).toBeUndefined();
  else {
    const { input, output, reasoning, cacheRead } = expected.usage;
    expect(finish?.usage).toMatchObject({
      input,
      output,
      ...(reasoning ? { reasoning } : {}),
      ...(cacheRead ? { cachedInput: cacheRead } : {}),
    });
  }
}

describe('chat completions: recorded streams', () => {
  const wires = ['openai-chat', 'openai-compatible', 'openrouter', 'together', 'mistral'];
  it.each(wires.flatMap((wire) => recordings(`spec/recordings/${wire}`)))('$name comes out whole', check);

  const theirs = wires.flatMap((wire) => recordings(`../shared/recordings/${wire}`));
  if (theirs.length > 0) it.each(theirs)('$name comes out whole', check);
});

interface Quirk {
  readonly id: string;
  readonly wire: string;
  readonly title: string;
  readonly options?: { readonly thinkTags?: boolean };
  readonly frames: readonly (string | { readonly end: string })[];
  readonly expected: {
    readonly text?: string;
    readonly thinking?: string;
    readonly finishReason?: string | readonly string[];
    readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
    readonly error?: boolean | string;
  };
}

const quirksFile = '../shared/quirks/visible.json';
if (existsSync(quirksFile)) {
  const { cases } = JSON.parse(readFileSync(quirksFile, 'utf8')) as { cases: Quirk[] };
  const ours = cases.filter(({ wire, options }) => ['openai-chat', 'mistral'].includes(wire) && !options?.thinkTags);

  describe('chat completions: documented quirks', () => {
    it.each(ours)('$id: $title', ({ frames, expected }) => {
      const data = frames.flatMap((written) =>
        typeof written === 'string' && written.startsWith('data: ') ? [written.slice(6).trim()] : [],
      );
      const payloads = data.filter((line) => line !== '[DONE]').map((line) => JSON.parse(line) as JsonObject);
      const got = read(payloads, data.includes('[DONE]'));
      if (expected.text !== undefined) expect(got.text).toBe(expected.text);
      if (expected.thinking !== undefined) expect(got.thinking).toBe(expected.thinking);
      if (expected.error === false) expect(got.error).toBeUndefined();
      if (typeof expected.error === 'string')
        expect(String(got.error).toLowerCase()).toContain(expected.error.toLowerCase());
      const reasons: readonly unknown[] = [expected.finishReason ?? got.finish?.reason].flat();
      expect(reasons).toContain(got.error === undefined ? got.finish?.reason : 'error');
      if (expected.usage)
        expect(got.finish?.usage).toMatchObject({
          input: expected.usage.inputTokens,
          output: expected.usage.outputTokens,
        });
    });
  });
}
