import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { argumentsDelta, callItem, completed, itemAdded, itemDone, read } from './frames.js';
import { recording } from './recordings.js';

const first = callItem({ arguments: '', status: 'in_progress' });

describe('Items', () => {
  it('Items separates parallel calls by the ids of their items, also with one output index', async () => {
    const second = { id: 'fc_2', call_id: 'call_2', name: 'sub' };
    const { calls } = await read([
      ...[itemAdded(first), itemAdded(callItem({ ...second, arguments: '' }), 0)],
      ...[
        argumentsDelta('{"a"', 'fc_1'),
        argumentsDelta('{"b"', 'fc_2'),
        argumentsDelta(':2}', 'fc_2', 5),
        argumentsDelta(':1}', 'fc_1', 5),
      ],
      ...[itemDone(callItem()), itemDone(callItem({ ...second, arguments: '{"b":2}' })), completed()],
    ]);
    expect(calls).toMatchObject([
      { id: 'call_1', name: 'add', arguments: { a: 1 } },
      { id: 'call_2', name: 'sub', arguments: { b: 2 } },
    ]);
    expect(calls).toMatchObject(['fc_1', 'fc_2'].map((id) => ({ providerData: { openai: { id } } })));
  });

  it('Items separates two calls with one item id and different call ids', async () => {
    const other = callItem({ call_id: 'call_2', arguments: '{"a":2}' });
    const { calls } = await read([itemDone(callItem()), itemDone(other), completed([callItem(), other])]);
    expect(calls).toMatchObject([
      { id: 'call_1', arguments: { a: 1 } },
      { id: 'call_2', arguments: { a: 2 } },
    ]);
  });

  it('Items separates two equal calls, also if every snapshot renames them', async () => {
    const named = (id: string, rest: JsonObject = {}) => callItem({ id: `fc_${id}`, call_id: `call_${id}`, ...rest });
    const { calls } = await read([
      ...[
        itemAdded(named('1', { arguments: '' }), 0),
        itemAdded(named('2', { arguments: '' }), 1),
        itemDone(named('x'), 0),
        itemDone(named('y'), 1),
      ],
      completed([named('v'), named('w')]),
    ]);
    expect(calls).toMatchObject([
      { id: 'call_1', arguments: { a: 1 } },
      { id: 'call_2', arguments: { a: 1 } },
    ]);
  });

  it.each<[string, JsonObject]>([
    ['with a free-form input', { type: 'custom_tool_call', name: 'sql', input: 'SELECT "a"\n' }],
    ['of the shell', { type: 'shell_call', action: { commands: ['ls'] }, status: 'completed' }],
    ['of a patch', { type: 'apply_patch_call', operation: { type: 'delete_file', path: 'a' }, status: 'completed' }],
  ])('Items takes a call %s whose two ids the final response renames for the same call', async (_, content) => {
    const call = { ...content, id: 'ctc_1', call_id: 'call_1' };
    const renamed = { ...content, id: 'ctc_2', call_id: 'call_2' };
    const { input: _input, ...started } = call as JsonObject;
    const { calls } = await read([itemAdded(started), itemDone(call), completed([renamed])]);
    expect(calls.map(({ id }) => id)).toEqual(['call_1']);
    const cut = await read([itemAdded(started), completed([renamed])]);
    expect(cut.calls.map(({ id }) => id)).toEqual(['call_1']);
  });

  it('Items separates two equal free-form calls that the final response renames', async () => {
    const named = (id: string, input = 'SELECT 1') => ({
      ...{ type: 'custom_tool_call', name: 'sql', input },
      ...{ id: `ctc_${id}`, call_id: `call_${id}` },
    });
    const frames = [itemDone(named('1')), itemDone(named('2')), itemDone(named('3', 'SELECT 2'))];
    const { calls } = await read([...frames, completed([named('x'), named('y'), named('z', 'SELECT 2')])]);
    expect(calls.map(({ id }) => id)).toEqual(['call_1', 'call_2', 'call_3']);
  });

  it('Items treats other arguments under another call id as another call, also at a used index', async () => {
    const other = callItem({ id: 'fc_2', call_id: 'call_2', arguments: '{"a":2}' });
    for (const frames of [
      [itemAdded(first), argumentsDelta('{"a":1}'), itemDone(other), itemDone(callItem()), completed()],
      [itemDone(callItem()), completed([other])],
      [itemDone(callItem()), completed([callItem(), callItem({ id: 'fc_2', call_id: 'call_2' })])],
    ]) {
      expect((await read(frames)).calls.map(({ id }) => id).sort()).toEqual(['call_1', 'call_2']);
    }
  });

  it('Items separates parallel calls whose deltas have the call id in place of the item id, and no index', async () => {
    const second = { id: 'fc_2', call_id: 'call_2', name: 'sub' };
    const argumentsOf = (text: string, id: string) => ({
      type: 'response.function_call_arguments.delta',
      item_id: id,
      delta: text,
    });
    const { calls } = await read([
      ...[itemAdded(first), itemAdded(callItem({ ...second, arguments: '' }), 1)],
      ...[
        argumentsOf('{"a"', 'call_1'),
        argumentsOf('{"b"', 'call_2'),
        argumentsOf(':1}', 'call_1'),
        argumentsOf(':2}', 'call_2'),
      ],
      completed(),
    ]);
    expect(calls).toMatchObject([
      { id: 'call_1', arguments: { a: 1 } },
      { id: 'call_2', arguments: { b: 2 } },
    ]);
  });

  it('Items ignores output indices as long as items have ids', async () => {
    const frames = recording('reasoning-parallel-tools');
    const { text, thinking, calls } = await read(frames);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 5 }), { minLength: frames.length, maxLength: frames.length }),
        async (indices) => {
          const mixed = frames.map((one, at) =>
            'output_index' in one ? { ...one, output_index: indices[at] ?? 0 } : one,
          );
          const got = await read(mixed);
          expect([got.text, got.thinking, got.calls]).toEqual([text, thinking, calls]);
        },
      ),
      { numRuns: 50 },
    );
  });
});
