import { describe, expect, it } from '@jest/globals';
import { filter, from, lastValueFrom, toArray } from 'rxjs';
import { isToolCall } from '../../../lib/core/eventGuards.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { accumulateToolCalls } from '../../../lib/operators/accumulateToolCalls.js';
import { delta, frame, read } from './reading.js';

describe('CallReader', () => {
  const fragments = (...deltas: JsonObject[]) =>
    read(deltas.map((fields) => delta(fields))).chunks.flatMap((chunk) => {
      if (chunk.type !== 'toolCallFragment') return [];
      return [Object.fromEntries(Object.entries(chunk).filter(([field]) => field !== 'type'))];
    });

  it('CallReader reads each entry as a fragment and joins nothing', () => {
    expect(
      fragments(
        { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] },
        {
          tool_calls: [
            { index: 0, function: { arguments: '{"x"' } },
            { index: 1, id: '', function: { name: 'g', arguments: { y: 1 } } },
          ],
        },
        { tool_calls: [{ id: 7, name: 'bare', arguments: null }] },
      ),
    ).toEqual([
      { index: 0, id: 'a', name: 'f', arguments: '' },
      { index: 0, arguments: '{"x"' },
      { index: 1, name: 'g', arguments: { y: 1 } },
      { id: '7', name: 'bare', arguments: null },
    ]);
  });

  it('CallReader skips lists that are null or empty, and empty entries', () => {
    expect(
      fragments(
        { tool_calls: null },
        { tool_calls: [] },
        { tool_calls: [null, {}, { index: 0, function: { name: '', arguments: '' } }, 'x'] },
      ),
    ).toEqual([]);
  });

  it('CallReader reads the field that has had a call first', () => {
    const older = { function_call: { name: 'pay', arguments: '{"amount":1}' } };
    const newer = { tool_calls: [{ index: 0, id: 'c1', function: { name: 'pay', arguments: '{"amount":1}' } }] };
    const empty = { function_call: { name: '', arguments: '' } };
    expect(fragments(older, newer)).toEqual(fragments(older));
    expect(fragments(newer, older)).toEqual(fragments(newer));
    expect(fragments(empty, newer)).toEqual(fragments(newer));
  });
  it('CallReader reads the older function_call only without tool_calls', () => {
    expect(fragments({ function_call: { name: 'f', arguments: '{' } }, { function_call: { arguments: '}' } })).toEqual([
      { name: 'f', arguments: '{' },
      { arguments: '}' },
    ]);
    expect(fragments({ function_call: { name: 'f' }, tool_calls: [{ id: 'a', function: { name: 'f' } }] })).toEqual([
      { id: 'a', name: 'f' },
    ]);
  });
});

describe('CallReader: calls that are not functions', () => {
  const custom = (index: number, fields: JsonObject, rest: JsonObject = {}) =>
    delta({ tool_calls: [{ index, ...rest, custom: fields }] });
  const begin = (index: number) => custom(index, { name: 'run_sql', input: '' }, { id: `c${index}`, type: 'custom' });
  const input = 'SELECT "a\\b"\n😀';

  it('CallReader reads a free-form input as the argument of its call, however it is cut', async () => {
    for (let at = 0; at <= input.length; at++) {
      const cut = [input.slice(0, at), input.slice(at)].map((piece) => custom(0, { input: piece }));
      const { chunks } = read([begin(0), ...cut, begin(1), delta({}, 'tool_calls')]);
      const calls = await lastValueFrom(from(chunks).pipe(accumulateToolCalls(), filter(isToolCall), toArray()));
      expect(calls).toMatchObject([
        { id: 'c0', name: 'run_sql', arguments: { input }, providerData: { server: { type: 'custom' } } },
        { id: 'c1', name: 'run_sql', arguments: { input: '' } },
      ]);
    }
  });

  it('CallReader reads the free-form calls of a complete message', async () => {
    const call = { id: 'c0', type: 'custom', custom: { name: 'run_sql', input } };
    const { chunks } = read([frame({ message: { content: null, tool_calls: [call] }, finish_reason: 'tool_calls' })]);
    const calls = await lastValueFrom(from(chunks).pipe(accumulateToolCalls(), filter(isToolCall), toArray()));
    expect(calls).toMatchObject([{ id: 'c0', name: 'run_sql', arguments: { input } }]);
  });

  it.each([
    ['length', delta({}, 'length')],
    ['a reason of another API', delta({}, 'repetition')],
    ['a refusal', delta({ refusal: 'No.' }, 'tool_calls')],
  ])('CallReader does not end a free-form call that is truncated by %s', async (_, end) => {
    const { chunks } = read([begin(0), custom(0, { input: 'SEL' }), end]);
    expect(await lastValueFrom(from(chunks).pipe(accumulateToolCalls(), filter(isToolCall), toArray()))).toEqual([]);
  });

  it('CallReader reports a call of an unknown type, and the response does not end with stop', () => {
    const call = { index: 0, id: 'c0', type: 'browser', browser: { url: 'https://a.test' } };
    for (const reason of ['stop', 'tool_calls']) {
      const { chunks, finish: last } = read([delta({ tool_calls: [call] }), delta({}, reason)]);
      expect(chunks.map(({ type }) => type)).toEqual(['metadata', 'finish']);
      expect(chunks[0]).toEqual({ type: 'metadata', metadata: { server: { toolCall: call } } });
      expect(last).toMatchObject({ reason: 'other', rawReason: reason });
    }
    const known = { index: 1, id: 'c1', function: { name: 'f', arguments: '{}' } };
    expect(read([delta({ tool_calls: [call, known] }), delta({}, 'tool_calls')]).finish?.reason).toBe('toolCalls');
  });
});
