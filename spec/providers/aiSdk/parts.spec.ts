import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { acme, endOf } from './acme.js';

const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Half' };
const deep = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as unknown;

describe('parts', () => {
  it.each([
    ['null', null, /it is not an object/],
    ['an array', [text], /it is not an object/],
    ['a text without a delta', { type: 'text-delta', id: 't' }, /"text-delta".*`delta` is not a string/],
    ['a text with a number as delta', { type: 'text-delta', id: 't', delta: 5 }, /`delta` is not a string/],
    ['a call with an object as input', { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: {} }, /`input`/],
    ['a call without an id', { type: 'tool-call', toolName: 'f', input: '{}' }, /`toolCallId`/],
    ['an input without a name', { type: 'tool-input-start', id: 'c' }, /`toolName`/],
    ['a file without data', { type: 'file', mediaType: 'image/png' }, /neither base64 nor bytes/],
    [
      'a file whose data is a number',
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 5 } },
      /base64/,
    ],
    ['a file whose URL is invalid', { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'x' } }, /URL/],
    [
      'a source whose title is an object',
      { type: 'source', sourceType: 'url', id: 's', url: 'u', title: {} },
      /`title`/,
    ],
    ['citations that are not a list', { type: 'text-end', id: 't', citations: 5 }, /cannot be read/],
    ['metadata that is a function', { type: 'custom', kind: 'k', providerMetadata: { a: { f: () => 1 } } }, /function/],
    ['metadata that is nested too deeply', { type: 'custom', kind: 'k', providerMetadata: deep(20_000) }, /call stack/],
    ['a finish without a reason', { type: 'finish', usage: {} }, /"finish"/],
    [
      'an object whose fields throw',
      new Proxy({}, { get: () => { throw new Error('no'); } }), // prettier-ignore
      /part without a type that cannot be read: no/,
    ],
  ])('A part that cannot be read is a ProtocolError after the text that arrived: %s', async (_, part, message) => {
    const { model } = acme([text, part as LanguageModelV4StreamPart]);
    expect(await endOf(model)).toMatchObject([
      { kind: 'N', value: { text: 'Half' } },
      {
        kind: 'E',
        error: { code: 'protocol', reason: 'frame', retryable: false, message: expect.stringMatching(message) },
      },
    ]);
  });
});
