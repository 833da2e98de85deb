import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { firstValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { repairHistory } from '../../lib/core/history.js';
import { keepRecent } from '../../lib/core/keepRecent.js';
import type { KeepRecentOptions } from '../../lib/core/keepRecent.js';
import { hasToolResults, messageText, modelMessage, systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { anyTool } from '../support/toolCalls.js';

let calls = 0;
/** A turn that calls a tool: the model's message and the results. */
const round = (name: string): readonly Message[] => {
  const id = `call_${++calls}`;
  return [
    modelMessage([{ type: 'toolCall', id, name, arguments: {} }]),
    userMessage([{ type: 'toolResult', id, name, result: null }]),
  ];
};

/** A history as a text: `u` input, `m` answer, `c` call, `r` result, `s` system. */
const shapeOf = (messages: readonly Message[]) =>
  messages
    .map((message) => {
      const [part] = message.parts;
      if (part?.type === 'toolCall') return `c(${part.name})`;
      return part?.type === 'toolResult' ? `r(${part.name})` : messageText(message);
    })
    .join(' ');

const history = [
  systemMessage('s'),
  userMessage('u1'),
  ...round('a'),
  ...round('b'),
  modelMessage('m1'),
  userMessage('u2'),
  ...round('c'),
  ...round('d'),
];
const shapeWith = (options: KeepRecentOptions, messages: readonly Message[] = history) =>
  shapeOf(keepRecent(options)(messages));
const complete = shapeOf(history);

describe('keepRecent', () => {
  it.each([
    [100, complete],
    [11, complete],
    [10, 's u1 c(b) r(b) m1 u2 c(c) r(c) c(d) r(d)'],
    [9, 's u1 c(b) r(b) m1 u2 c(c) r(c) c(d) r(d)'],
    [8, 's u1 m1 u2 c(c) r(c) c(d) r(d)'],
    [7, 's u1 m1 u2 c(c) r(c) c(d) r(d)'],
    [6, 's u2 c(c) r(c) c(d) r(d)'],
    [5, 's u2 c(c) r(c) c(d) r(d)'],
    [4, 's u2 c(d) r(d)'],
    [3, 's u2 c(d) r(d)'],
    [1, 's u2 c(d) r(d)'],
  ])('keepRecent with %d messages keeps the system prompt, an input, and complete turns', (messages, shape) => {
    expect(shapeWith({ messages })).toBe(shape);
  });

  it('keepRecent counts tokens with its function, one message at a time, system messages included', () => {
    const lengths: number[] = [];
    const countTokens = (messages: readonly Message[]) => {
      lengths.push(messages.length);
      return 10;
    };
    expect(shapeWith({ tokens: 60, countTokens })).toBe('s u2 c(c) r(c) c(d) r(d)');
    expect(shapeWith({ tokens: 59, countTokens })).toBe('s u2 c(d) r(d)');
    expect(new Set(lengths)).toEqual(new Set([1]));
  });

  it('keepRecent estimates a token as four characters', () => {
    const long = [userMessage('a'.repeat(400)), modelMessage('b'.repeat(400)), userMessage('c'.repeat(400))];
    expect(keepRecent({ tokens: 300 })(long)).toBe(long);
    expect(keepRecent({ tokens: 299 })(long)).toEqual(long.slice(2));
  });

  it('keepRecent applies both limits', () => {
    const countTokens = () => 10;
    expect(shapeWith({ tokens: 60, messages: 3, countTokens })).toBe('s u2 c(d) r(d)');
    expect(shapeWith({ tokens: 40, messages: 100, countTokens })).toBe('s u2 c(d) r(d)');
  });

  it('keepRecent returns the same array if nothing is dropped', () => {
    expect(keepRecent({ messages: 11 })(history)).toBe(history);
    expect(keepRecent({ messages: 1 })([])).toEqual([]);
    const modelOnly = [modelMessage('m')];
    expect(keepRecent({ messages: 1 })(modelOnly)).toBe(modelOnly);
  });

  it('keepRecent keeps an input after the last turn', () => {
    const next = [...history, modelMessage('m2'), userMessage('u3')];
    expect(shapeWith({ messages: 1 }, next)).toBe('s u3');
    expect(shapeWith({ messages: 3 }, next)).toBe('s u2 m2 u3');
  });

  it('keepRecent keeps a message with results and text with its calls', () => {
    const [call, result] = round('e');
    const joined = userMessage([...(result?.parts ?? []), { type: 'text', text: 'Hurry.' }]);
    const steered = [userMessage('u1'), ...round('d'), ...(call ? [call] : []), joined];
    expect(shapeWith({ messages: 3 }, steered)).toBe('u1 c(e) r(e)');
  });

  const histories = fc
    .array(
      fc.oneof(
        fc.constant('input' as const),
        fc.constant('answer' as const),
        fc.constant('round' as const),
        fc.constant('system' as const),
      ),
      { maxLength: 30 },
    )
    .map((kinds) =>
      kinds.flatMap((kind, index): readonly Message[] => {
        if (kind === 'input') return [userMessage(`u${index}`)];
        if (kind === 'answer') return [modelMessage(`m${index}`)];
        return kind === 'round' ? round(`t${index}`) : [systemMessage(`s${index}`)];
      }),
    )
    .map((messages) => [userMessage('u'), ...messages]);

  it('keepRecent returns a valid history for every history and limit', () =>
    fc.assert(
      fc.property(histories, fc.integer({ min: 1, max: 40 }), (messages, max) => {
        const kept = keepRecent({ messages: max })(messages);
        expect(() => repairHistory(kept)).not.toThrow(); // it throws for a result without a call
        expect(kept.filter(({ role }) => role === 'system')).toEqual(messages.filter(({ role }) => role === 'system'));
        const [first] = kept.filter(({ role }) => role !== 'system');
        expect(first?.role).toBe('user');
        expect(first && hasToolResults(first)).toBe(false);
        expect(kept.at(-1)).toBe(messages.at(-1));
        expect(kept.every((message) => messages.includes(message))).toBe(true);
        const idsOf = (type: 'toolCall' | 'toolResult') =>
          kept.flatMap(({ parts }) => parts.flatMap((part) => (part.type === type ? [part.id] : [])));
        expect(idsOf('toolCall')).toEqual(idsOf('toolResult'));
      }),
    ));

  it('keepRecent shortens the requests of a run in prepareTurn, and not its result', async () => {
    const shorten = keepRecent({ messages: 3 });
    const model = scriptedModel([[toolCall('look')], [toolCall('look')], [toolCall('look')], 'Done.']);
    const agent = createAgent({
      model,
      tools: [anyTool('look', () => 1)],
      system: 'Be brief.',
      prepareTurn: ({ messages }) => ({ messages: shorten(messages) }),
    });
    const { messages } = await firstValueFrom(agent.run('u1'));
    expect(messages).toHaveLength(7);
    expect(model.requests.map((request) => shapeOf(request.messages))).toEqual([
      'Be brief. u1',
      'Be brief. u1 c(look) r(look)',
      'Be brief. u1 c(look) r(look)',
      'Be brief. u1 c(look) r(look)',
    ]);
  });

  it.each([{}, { tokens: 0 }, { messages: NaN }])('keepRecent rejects %j', (options) => {
    expect(() => keepRecent(options)).toThrow(expect.objectContaining({ code: 'configuration' }));
  });
});
