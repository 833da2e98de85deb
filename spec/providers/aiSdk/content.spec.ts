import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import type { Request } from 'rivulet';
import { userMessage } from 'rivulet';
import { acme, chunksOf, finish, messageOf, question, season, signed, start } from './acme.js';

const asked: Request = { ...question, tools: [season] };
const said = (id: string, delta: string, metadata = {}): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id, ...metadata },
  { type: 'text-delta', id, delta },
  { type: 'text-end', id },
];
const search = { toolCallId: 'w1', toolName: 'web_search' };
const searched: LanguageModelV4StreamPart[] = [
  { type: 'tool-call', ...search, input: '{}', providerExecuted: true },
  { type: 'tool-result', ...search, result: [1] },
];
const searchedAgain = [
  { type: 'tool-call', ...search, input: {}, providerExecuted: true },
  { type: 'tool-result', ...search, output: { type: 'json', value: [1] } },
];

/** What goes back as the model's message after an answer of these parts. */
async function sentBack(...parts: LanguageModelV4StreamPart[]) {
  const answer = await messageOf(acme([...parts, finish()]).model, asked);
  const next = acme([start, finish()]);
  await chunksOf(next.model, { messages: [...question.messages, answer, userMessage('Go on.')] });
  return next.asked[0]?.prompt[1]?.content;
}

describe('createContent: texts', () => {
  it('stand where they stood, around what the provider ran itself', async () => {
    expect(await sentBack(...said('a', 'Let me look.'), ...searched, ...said('b', 'Found.'))).toEqual([
      { type: 'text', text: 'Let me look.' },
      ...searchedAgain,
      { type: 'text', text: 'Found.' },
    ]);
  });

  it('stand where they stood, around reasoning, and around a call of the client', async () => {
    const thought: LanguageModelV4StreamPart[] = [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
      { type: 'reasoning-end', id: 'r' },
    ];
    const call: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: '{}' };
    expect(
      await sentBack(...said('a', 'A'), ...thought, ...said('b', 'B'), call, ...thought, ...said('c', 'C')),
    ).toEqual([
      { type: 'text', text: 'A' },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'B' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: {} },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'C' },
    ]);
  });

  it('are not joined with one that has metadata', async () => {
    const options = { providerOptions: { acme: { signature: 'x' } } };
    expect(
      await sentBack(...said('a', 'Plain.'), ...said('b', 'Signed.', signed('x')), ...said('c', 'Plain again.')),
    ).toEqual([
      { type: 'text', text: 'Plain.' },
      { type: 'text', text: 'Signed.', ...options },
      { type: 'text', text: 'Plain again.' },
    ]);
    const open = said('a', 'Plain.').slice(0, 2);
    expect(await sentBack(...open, ...said('b', 'Signed.', signed('x')))).toEqual([
      { type: 'text', text: 'Plain.' },
      { type: 'text', text: 'Signed.', ...options },
    ]);
  });

  it('are nothing but their deltas where nothing has to go back', async () => {
    expect(await chunksOf(acme([...said('a', 'One '), ...said('b', 'two.'), finish()]).model)).toEqual([
      { type: 'text', text: 'One ' },
      { type: 'text', text: 'two.' },
      expect.objectContaining({ type: 'finish' }),
    ]);
  });
});

describe('createContent: reasoning', () => {
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
    ['a call of the provider', [...searched, ...said('b', 'B')], [...searchedAgain, { type: 'text', text: 'B' }]],
    ['a text', said('a', 'A'), [{ type: 'text', text: 'A' }]],
    ['a text that is signed', said('a', 'A', signed('y')), [{ type: 'text', text: 'A', ...options('y') }]],
  ])('stands where it began, though it ends behind %s', async (_, parts, back) => {
    expect(await sentBack(begin, thinks('Hm', signed('x')), thinks('.'), ...parts, end)).toEqual([
      thought('Hm.', 'x'),
      ...back,
    ]);
  });

  it('that goes on behind a part goes on there, and so does what is only known of it then', async () => {
    expect(await sentBack(begin, thinks('One.'), call, thinks('Two.'), end)).toEqual([
      thought('One.'),
      called,
      thought('Two.'),
    ]);
    expect(await sentBack(begin, thinks('One.'), call, { ...end, ...signed('x') })).toEqual([
      thought('One.'),
      called,
      thought('', 'x'),
    ]);
  });

  it('is one, though a text begins within it that has nothing to say yet', async () => {
    const [opened, ...rest] = said('a', 'A');
    expect(await sentBack(begin, thinks('Hm'), opened!, thinks('.'), end, ...rest)).toEqual([
      thought('Hm.'),
      { type: 'text', text: 'A' },
    ]);
  });

  it('without text has its metadata, or leaves nothing', async () => {
    expect(await sentBack({ ...begin, ...signed('x') }, end, call)).toEqual([thought('', 'x'), called]);
    expect(await sentBack(begin, end, call)).toEqual([called]);
  });
});
