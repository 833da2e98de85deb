import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { acme, chunksOf, finish, question, season, signed } from './acme.js';
import { replayed, replayedSearch, searchParts, textParts } from './replay.js';

describe('createReasoningDecoder', () => {
  const begin: LanguageModelV4StreamPart = { type: 'reasoning-start', id: 'r' };
  const end: LanguageModelV4StreamPart = { type: 'reasoning-end', id: 'r' };
  const thinks = (delta: string, metadata = {}): LanguageModelV4StreamPart => ({
    type: 'reasoning-delta',
    id: 'r',
    delta,
    ...metadata,
  });
  const call: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: '{}' };
  const called = { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: {} };
  const options = (signature: string) => ({ providerOptions: { acme: { signature } } });
  const thought = (text: string, signature?: string) => ({
    type: 'reasoning',
    text,
    ...(signature === undefined ? {} : options(signature)),
  });

  it.each([
    ['a call of the client', [call], [called]],
    [
      'a call of the provider',
      [...searchParts, ...textParts('b', 'B')],
      [...replayedSearch, { type: 'text', text: 'B' }],
    ],
    ['a text', textParts('a', 'A'), [{ type: 'text', text: 'A' }]],
    ['a text that is signed', textParts('a', 'A', signed('y')), [{ type: 'text', text: 'A', ...options('y') }]],
  ])('createReasoningDecoder keeps a block where it started, although it ends after %s', async (_, parts, back) => {
    expect(await replayed(begin, thinks('Hm', signed('x')), thinks('.'), ...parts, end)).toEqual([
      thought('Hm.', 'x'),
      ...back,
    ]);
  });

  it('createReasoningDecoder creates a separate part for what continues after another part', async () => {
    expect(await replayed(begin, thinks('One.'), call, thinks('Two.'), end)).toEqual([
      thought('One.'),
      called,
      thought('Two.'),
    ]);
    expect(await replayed(begin, thinks('One.'), call, { ...end, ...signed('x') })).toEqual([
      thought('One.'),
      called,
      thought('', 'x'),
    ]);
  });

  it('createReasoningDecoder does not split a block at the start of an empty text', async () => {
    const [opened, ...rest] = textParts('a', 'A');
    expect(await replayed(begin, thinks('Hm'), opened!, thinks('.'), end, ...rest)).toEqual([
      thought('Hm.'),
      { type: 'text', text: 'A' },
    ]);
  });

  it('createReasoningDecoder keeps the metadata of a block without text, and drops an empty block', async () => {
    expect(await replayed({ ...begin, ...signed('x') }, end, call)).toEqual([thought('', 'x'), called]);
    expect(await replayed(begin, end, call)).toEqual([called]);
  });
});

describe('readProviderPart', () => {
  it('readProviderPart makes calls that the provider runs metadata, never calls of the client', async () => {
    const search = { toolCallId: 'w1', toolName: 'web_search' };
    const { model } = acme([
      { type: 'tool-input-start', id: 'w1', toolName: 'web_search' }, // not marked: its name was not offered
      { type: 'tool-input-delta', id: 'w1', delta: '{"q":"x"}' },
      { type: 'tool-call', ...search, input: '{"q":"x"}', providerExecuted: true },
      { type: 'tool-result', ...search, result: { hits: 1 }, preliminary: true },
      { type: 'tool-result', ...search, result: { hits: 2 } },
      { type: 'text-delta', id: 't', delta: 'Two.' },
      finish(),
    ]);
    const chunks = await chunksOf(model, { ...question, tools: [season] });
    expect(chunks.filter(({ type }) => type !== 'metadata').map(({ type }) => type)).toEqual([
      'provider',
      'provider',
      'text',
      'finish',
    ]);
    const tool = { id: 'w1', name: 'web_search' };
    expect(chunks.filter(({ type }) => type === 'metadata')).toMatchObject([
      { metadata: { serverTools: [{ ...tool, status: 'running', input: { q: 'x' }, raw: { type: 'tool-call' } }] } },
      { metadata: { serverTools: [{ ...tool, status: 'running', output: { hits: 1 } }] } },
      { metadata: { serverTools: [{ ...tool, status: 'completed', output: { hits: 2 } }] } },
    ]);
  });

  it('readProviderPart reports a result that is an error as failed', async () => {
    const failed = {
      type: 'tool-result',
      toolCallId: 'w1',
      toolName: 'web_search',
      result: 'no',
      isError: true,
    } as const;
    const chunks = await chunksOf(acme([failed, finish()]).model);
    expect(chunks[0]).toMatchObject({ metadata: { serverTools: [{ id: 'w1', status: 'failed', output: 'no' }] } });
  });
});
