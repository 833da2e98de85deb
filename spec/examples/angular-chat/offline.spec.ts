import { describe, expect, it } from '@jest/globals';
import { modelMessage, userMessage } from 'rivulet';
import type { Message } from 'rivulet';
import { answerByRules } from '../../../examples/angular-chat/server/offline.js';

/** The stand-in's answer: its text, and its calls. */
function answerTo(...history: readonly Message[]) {
  const chunks = answerByRules(history).flatMap((step) => (typeof step === 'object' && 'type' in step ? [step] : []));
  return {
    text: chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join(''),
    calls: chunks.flatMap((chunk) => (chunk.type === 'toolCallFragment' ? [[chunk.name, chunk.arguments]] : [])),
  };
}

describe('answerByRules', () => {
  it.each([
    ['How many primes are there below 2 million and 1,000?', 'count_primes', [{ below: 2_000_000 }, { below: 1000 }]],
    ['Save a note: buy milk', 'save_note', [{ note: 'buy milk' }]],
    ['What time is it here?', 'local_time', [{}]],
    ['Let me choose a color', 'choose_colour', [{ colours: expect.any(Array) }]],
  ])('%s: the stand-in calls %s', (prompt, name, args) => {
    expect(answerTo(userMessage(prompt)).calls).toEqual(args.map((one) => [name, one]));
  });

  it('the stand-in answers with the result of a call', () => {
    const call = { type: 'toolCall', id: '1', name: 'count_primes', arguments: { below: 100 } } as const;
    const history = [userMessage('How many primes are there below 100?'), modelMessage([call])];
    const results = (outcome: { result: number } | { error: string }) =>
      userMessage([{ type: 'toolResult', id: '1', name: 'count_primes', ...outcome }]);
    expect(answerTo(...history, results({ result: 25 }))).toEqual({ text: 'There are **25** primes.', calls: [] });
    expect(answerTo(...history, results({ error: 'cancelled' })).text).toBe('`count_primes` did not run: cancelled');
  });

  it('the long text is the description of the architecture', () => {
    expect(answerTo(userMessage('Write a long text')).text).toMatch(/^# Architecture\n[^]{10000}/);
  });

  it('any other prompt is answered with an overview', () => {
    expect(answerTo(userMessage('Hello')).text).toMatch(/\| say \| and see \|/);
  });
});
