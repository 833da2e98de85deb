import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import type { Message } from 'rivulet';
import { acme, chunksOf, finish, messageOf, question, season, signed, start } from './acme.js';
import { replayed, replayedSearch, searchParts, textParts } from './replay.js';

describe('createContentDecoder', () => {
  it('createContentDecoder reports a part of a later version as metadata, and nothing of the parts that repeat others', async () => {
    const unknown = { type: 'hologram', depth: 3 };
    const callback = { type: 'hook', run: () => 1 };
    const untyped = { type: 5n };
    const silent = [{ type: 'raw', rawValue: {} }, { type: 'ping' }, { type: 'tool-input-end', id: 'c1' }];
    const parts = [unknown, callback, untyped, ...silent, ...textParts('a', 'Hi'), finish()];
    const chunks = await chunksOf(acme(parts as unknown as LanguageModelV4StreamPart[]).model);
    expect(chunks).toMatchObject([
      { type: 'metadata', metadata: { 'acme.chat': unknown } },
      { type: 'metadata', metadata: { 'acme.chat': { type: 'hook' } } },
      { type: 'metadata', metadata: { 'acme.chat': null } },
      { type: 'text', text: 'Hi' },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('createContentDecoder keeps texts in place around calls that the provider ran', async () => {
    expect(await replayed(...textParts('a', 'Let me look.'), ...searchParts, ...textParts('b', 'Found.'))).toEqual([
      { type: 'text', text: 'Let me look.' },
      ...replayedSearch,
      { type: 'text', text: 'Found.' },
    ]);
  });

  it('createContentDecoder keeps a call that requires an approval in a message, also if it is the only content', async () => {
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'tool-call', toolCallId: 'a1', toolName: 'mcp.f', input: '{}', providerExecuted: true },
      { type: 'tool-approval-request', approvalId: 'p1', toolCallId: 'a1' },
    ];
    const content = [{ type: 'tool-call', toolCallId: 'a1', toolName: 'mcp.f', input: {}, providerExecuted: true }];
    expect(await replayed(...parts)).toEqual(content);
  });

  it('createContentDecoder keeps texts in place around reasoning and calls of the client', async () => {
    const thought: LanguageModelV4StreamPart[] = [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
      { type: 'reasoning-end', id: 'r' },
    ];
    const call: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: '{}' };
    expect(
      await replayed(
        ...textParts('a', 'A'),
        ...thought,
        ...textParts('b', 'B'),
        call,
        ...thought,
        ...textParts('c', 'C'),
      ),
    ).toEqual([
      { type: 'text', text: 'A' },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'B' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: {} },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'C' },
    ]);
  });

  it('createContentDecoder does not join a text with one that has metadata', async () => {
    const options = { providerOptions: { acme: { signature: 'x' } } };
    expect(
      await replayed(
        ...textParts('a', 'Plain.'),
        ...textParts('b', 'Signed.', signed('x')),
        ...textParts('c', 'Plain again.'),
      ),
    ).toEqual([
      { type: 'text', text: 'Plain.' },
      { type: 'text', text: 'Signed.', ...options },
      { type: 'text', text: 'Plain again.' },
    ]);
    const open = textParts('a', 'Plain.').slice(0, 2);
    expect(await replayed(...open, ...textParts('b', 'Signed.', signed('x')))).toEqual([
      { type: 'text', text: 'Plain.' },
      { type: 'text', text: 'Signed.', ...options },
    ]);
  });

  it('createContentDecoder emits only deltas where nothing is sent back', async () => {
    expect(await chunksOf(acme([...textParts('a', 'One '), ...textParts('b', 'two.'), finish()]).model)).toEqual([
      { type: 'text', text: 'One ' },
      { type: 'text', text: 'two.' },
      expect.objectContaining({ type: 'finish' }),
    ]);
  });

  it('createContentDecoder keeps reasoning, metadata and calls that the provider ran, each in its place', async () => {
    const first = acme([
      { type: 'reasoning-start', id: 'a' },
      { type: 'reasoning-delta', id: 'a', delta: 'First.' },
      { type: 'reasoning-end', id: 'a', ...signed('one') },
      { type: 'text-start', id: 't1' },
      { type: 'text-delta', id: 't1', delta: 'Look' },
      { type: 'source', sourceType: 'url', id: 's1', url: 'https://acme.example' },
      { type: 'text-delta', id: 't1', delta: ':' },
      { type: 'text-end', id: 't1', ...signed('text') },
      { type: 'tool-call', toolCallId: 'w1', toolName: 'web_search', input: '{"q":"x"}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'w1', toolName: 'web_search', result: [1] },
      {
        type: 'reasoning-file',
        mediaType: 'image/png',
        data: { type: 'url', url: new URL('https://acme.example/b.png') },
      },
      { type: 'text-start', id: 't2' },
      { type: 'text-delta', id: 't2', delta: 'Done.' },
      { type: 'text-end', id: 't2' },
      { type: 'reasoning-delta', id: 'b', delta: 'Second.' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: '{}', ...signed('call') },
      { type: 'custom', kind: 'acme.plan', ...signed('plan') },
      finish('tool-calls'),
    ]);
    const model = await messageOf(first.model, { ...question, tools: [season] });
    expect(JSON.parse(JSON.stringify(model))).toEqual(model);
    const answered: Message = {
      role: 'user',
      parts: [{ type: 'toolResult', id: 'c1', name: 'season', result: 'winter' }],
    };
    const second = acme([start, finish()]);
    await chunksOf(second.model, { messages: [...question.messages, model, answered] });
    const options = (signature: string) => ({ providerOptions: { acme: { signature } } });
    expect(second.asked[0]?.prompt.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'First.', ...options('one') },
          { type: 'text', text: 'Look:', ...options('text') },
          { type: 'tool-call', toolCallId: 'w1', toolName: 'web_search', input: { q: 'x' }, providerExecuted: true },
          { type: 'tool-result', toolCallId: 'w1', toolName: 'web_search', output: { type: 'json', value: [1] } },
          {
            type: 'reasoning-file',
            mediaType: 'image/png',
            data: { type: 'url', url: new URL('https://acme.example/b.png') },
          },
          { type: 'text', text: 'Done.' },
          { type: 'reasoning', text: 'Second.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: {}, ...options('call') },
          { type: 'custom', kind: 'acme.plan', ...options('plan') },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'season', output: { type: 'text', value: 'winter' } },
        ],
      },
    ]);
  });
});
