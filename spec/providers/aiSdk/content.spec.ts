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
    expect(await sentBack(...said('a', 'A'), ...thought, ...said('b', 'B'), call, ...thought, ...said('c', 'C'))).toEqual([
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
    expect(await sentBack(...said('a', 'Plain.'), ...said('b', 'Signed.', signed('x')), ...said('c', 'Plain again.'))).toEqual([
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
