import { describe, expect, it } from '@jest/globals';
import { toolCallIds, repairHistory } from '../../lib/core/history.js';
import { modelMessage, systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message, Part } from '../../lib/core/message.js';

const call = (id: string) => ({ type: 'toolCall', id, name: 'f', arguments: {} }) as const;
const result = (id: string) => ({ type: 'toolResult', id, name: 'f', result: 1 }) as const;
const cancelled = (id: string) =>
  ({ type: 'toolResult', id, name: 'f', error: 'The call was cancelled.', code: 'cancelled' }) as const;
const text = (value: string) => ({ type: 'text', text: value }) as const;

describe('repairHistory', () => {
  it('repairHistory does not change a valid history', () => {
    const good = [
      systemMessage('s'),
      userMessage('a'),
      modelMessage([text('b'), call('1'), call('2')]),
      userMessage([result('2'), result('1')]),
      modelMessage('c'),
    ];
    expect(repairHistory(good)).toEqual(good);
  });

  it('repairHistory puts system messages first, merged into one', () => {
    expect(repairHistory([userMessage('a'), systemMessage('s'), modelMessage('b'), systemMessage('t')])).toEqual([
      { role: 'system', parts: [text('s'), text('t')] },
      userMessage('a'),
      modelMessage('b'),
    ]);
  });

  it('repairHistory merges adjacent messages of a role and their metadata, and omits empty messages', () => {
    const a: Message = { ...userMessage('a'), metadata: { x: 1, openrouter: { details: [1] } } };
    const b: Message = { ...userMessage('b'), metadata: { y: 2, openrouter: { details: [2] } } };
    expect(repairHistory([a, { role: 'model', parts: [] }, b])).toEqual([
      { role: 'user', parts: [text('a'), text('b')], metadata: { x: 1, y: 2, openrouter: { details: [1, 2] } } },
    ]);
  });

  it('repairHistory does not merge a separate message, and still adds the results of several messages in a row', () => {
    const separate: Message = { ...modelMessage([text('a'), call('1')]), metadata: { id: 'x' } };
    const others = [modelMessage('b'), modelMessage([call('2')])];
    const isSeparate = ({ metadata }: Message) => metadata !== undefined;
    expect(repairHistory([separate, ...others, userMessage([result('1')])], isSeparate)).toEqual([
      separate,
      modelMessage([text('b'), call('2')]),
      userMessage([result('1'), cancelled('2')]),
    ]);
    expect(repairHistory([modelMessage('b'), separate, separate], isSeparate)).toMatchObject([
      modelMessage('b'),
      separate,
      separate,
      { role: 'user' },
    ]);
  });

  it('repairHistory adds a cancelled result for a call without a result, right after the call', () => {
    expect(repairHistory([userMessage('a'), modelMessage([call('1'), call('2')])])).toEqual([
      userMessage('a'),
      modelMessage([call('1'), call('2')]),
      userMessage([cancelled('1'), cancelled('2')]),
    ]);
    expect(
      repairHistory([modelMessage([call('1'), call('2')]), userMessage([result('1'), text('go on')])])[1]?.parts,
    ).toEqual([result('1'), cancelled('2'), text('go on')]);
    expect(repairHistory([modelMessage([call('1')]), userMessage('never mind')])[1]?.parts).toEqual([
      cancelled('1'),
      text('never mind'),
    ]);
  });

  it('repairHistory keeps the parts for a provider at their places', () => {
    const part = (n: number): Part => ({ type: 'provider', provider: 'p', data: { n } });
    const text = (value: string): Part => ({ type: 'text', text: value });
    const parts = [part(1), text('a'), part(2), text('b'), part(3)];
    const merged = repairHistory([userMessage('Q'), modelMessage(parts.slice(0, 3)), modelMessage(parts.slice(3))]);
    expect(merged).toEqual([userMessage('Q'), modelMessage(parts)]);
  });

  it('repairHistory merges two adjacent messages of the model', () => {
    expect(repairHistory([modelMessage([call('1')]), modelMessage('hm'), userMessage([result('1')])])).toEqual([
      modelMessage([call('1'), text('hm')]),
      userMessage([result('1')]),
    ]);
  });

  it('repairHistory merges the results of one turn from several messages', () => {
    expect(
      repairHistory([
        modelMessage([call('1'), call('2')]),
        userMessage([result('1')]),
        userMessage([result('2'), text('and?')]),
      ]),
    ).toEqual([modelMessage([call('1'), call('2')]), userMessage([result('1'), result('2'), text('and?')])]);
  });

  it('repairHistory rejects a result without a matching call, and names it', () => {
    expect(() => repairHistory([userMessage([result('lost')])])).toThrow(/Message 0 .*tool "f" \(id "lost"\)/);
    expect(() =>
      repairHistory([
        modelMessage([call('1')]),
        userMessage([result('1')]),
        modelMessage('x'),
        userMessage([result('1')]),
      ]),
    ).toThrow(expect.objectContaining({ code: 'configuration', subject: 'history' }));
  });

  it('repairHistory does not mutate its input', () => {
    const history = Object.freeze(
      [userMessage('a'), userMessage('b'), modelMessage([call('1')])].map((message) => Object.freeze(message)),
    );
    expect(() => repairHistory(history)).not.toThrow();
  });
});

describe('toolCallIds', () => {
  it('toolCallIds returns the ids of all calls', () => {
    expect([
      ...toolCallIds([modelMessage([call('1'), text('a')]), userMessage([result('1')]), modelMessage([call('2')])]),
    ]).toEqual(['1', '2']);
  });
});
