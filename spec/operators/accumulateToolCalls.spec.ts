import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { EMPTY, NEVER, Subject, concat, from, map, of, throwError } from 'rxjs';
import type { Chunk, FinishReason, ToolCallFragment } from '../../lib/core/chunk.js';
import { isToolCall } from '../../lib/core/eventGuards.js';
import type { StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { diagram } from '../support/diagram.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

type FragmentFields = Omit<ToolCallFragment, 'type'>;

const fragment = (fields: FragmentFields): ToolCallFragment => ({ type: 'toolCallFragment', ...fields });
const finish = (reason: FinishReason = 'toolCalls'): Chunk => ({ type: 'finish', reason });

/** The calls of a stream of fragments, as [name, arguments, id]. */
function callsOf(
  fragments: readonly FragmentFields[],
  reason: FinishReason = 'toolCalls',
  usedIds: readonly string[] = [],
) {
  let generated = 0;
  const options = { usedIds, newId: () => `new${++generated}` };
  const { values, error } = observe(
    from<Chunk[]>([...fragments.map(fragment), finish(reason)]).pipe(accumulateToolCalls(options)),
  );
  expect(error).toBeUndefined();
  return values.filter((event) => event.type === 'toolCall').map((call) => [call.name, call.arguments, call.id]);
}

/** The labels of fragments, as [index, name, id]. */
function labelsOf(fragments: readonly FragmentFields[]) {
  const { values } = observe(
    from<Chunk[]>(fragments.map(fragment)).pipe(accumulateToolCalls({ fragments: true, newId: () => 'new1' })),
  );
  return values.flatMap((event) => (event.type === 'toolCallFragment' ? [[event.index, event.name, event.id]] : []));
}

/** The names of the calls that are emitted before the `finish`. */
function earlyCallsOf(fragments: readonly FragmentFields[]) {
  const { values } = observe(concat(from(fragments.map(fragment)), NEVER).pipe(accumulateToolCalls()));
  return values.map(({ name }) => name);
}

describe('accumulateToolCalls', () => {
  it('accumulateToolCalls joins interleaved fragments', () =>
    diagram('accumulateToolCalls', ({ source }) => source.pipe(accumulateToolCalls())));
  it('accumulateToolCalls emits a call when its end is marked, and drops a truncated call', () =>
    diagram('accumulateToolCalls.done', ({ source }) => source.pipe(accumulateToolCalls())));

  it.each(
    operatorContract(accumulateToolCalls({ newId: () => 'new' }), {
      source: [
        { type: 'text', text: 'Hm' },
        fragment({ index: 0, name: 'add', arguments: '{"a":' }),
        fragment({ index: 0, arguments: '1}' }),
        finish('stop'),
      ],
    }),
  )('accumulateToolCalls $title', ({ run }) => run());

  describe('ids', () => {
    it.each([[''], ['null'], [null], [undefined]])('a call without an id (%j) receives a new id', (id) => {
      const fields = (id === undefined ? {} : { id }) as FragmentFields; // a server may send null
      expect(callsOf([{ ...fields, name: 'now', arguments: '{}' }])).toEqual([['now', {}, 'new1']]);
    });

    it('a late id replaces an empty id, even if the name is repeated', () => {
      expect(
        callsOf([
          { index: 0, name: 'f', arguments: '{"a"' },
          { index: 0, id: 'late', arguments: ':1}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'late']]);
      expect(
        callsOf([
          { index: 0, name: 'f' },
          { index: 0, id: 'late', name: 'f', arguments: '{"a":1}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'late']]);
      expect(
        callsOf([
          { name: 'f', arguments: '{"a":1}' },
          { id: 'late', name: 'f', arguments: '' },
        ]),
      ).toEqual([['f', { a: 1 }, 'late']]);
    });

    it('a known id takes precedence over the index', () => {
      expect(
        callsOf([
          { index: 0, id: 'x', name: 'f', arguments: '{"a"' },
          { index: 1, id: 'x', arguments: ':1}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
      expect(
        callsOf([
          { id: 'x', name: 'f' },
          { id: 'y', name: 'g' },
          { id: 'x', arguments: '{"a":1}' },
          { id: 'y', arguments: '{"b":1}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'x'],
        ['g', { b: 1 }, 'y'],
      ]);
    });

    it('a known id at another index with another name or other arguments opens a call with a new id', () => {
      expect(
        callsOf([
          { index: 0, id: 'x', name: 'f', arguments: '{"a":1}' },
          { index: 1, id: 'x', name: 'g', arguments: '{"a":1}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'x'],
        ['g', { a: 1 }, 'new1'],
      ]);
      expect(
        callsOf([
          { index: 0, id: 'x', name: 'f', arguments: '{"a":1}' },
          { index: 1, id: 'x', name: 'f', arguments: '{"a":2}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'x'],
        ['f', { a: 2 }, 'new1'],
      ]);
    });

    it('the index separates interleaved calls that share an id', () => {
      expect(
        callsOf([
          { index: 0, id: 'x', name: 'f', arguments: '{"a":' },
          { index: 1, id: 'x', name: 'f', arguments: '{"a":' },
          { index: 0, id: 'x', arguments: '1}' },
          { index: 1, id: 'x', arguments: '2}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'x'],
        ['f', { a: 2 }, 'new1'],
      ]);
    });

    it('a call that is announced again without new data stays one call', () => {
      const call = { id: 'x', name: 'f', arguments: '{"a":1}' };
      expect(
        callsOf([
          { index: 0, ...call },
          { index: 1, ...call },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
      expect(
        callsOf([
          { index: 0, ...call },
          { index: 3, id: 'x', name: 'f' },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
      expect(callsOf([call, call])).toEqual([['f', { a: 1 }, 'x']]);
    });

    it('complete calls that share an id without an index are two calls', () => {
      expect(
        callsOf([
          { id: 'x', name: 'f', arguments: '{"a":1}' },
          { id: 'x', name: 'g', arguments: '{}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'x'],
        ['g', {}, 'new1'],
      ]);
    });

    it('a new id at a used index continues the call at that index, and the call keeps the first id', () => {
      expect(
        callsOf([
          { index: 0, id: 'x', name: 'f' },
          { index: 0, id: 'y', arguments: '{"a"' },
          { index: 0, id: 'z', arguments: ':1}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
      expect(
        callsOf([
          { id: 'x', name: 'f' },
          { id: 'y', arguments: '{"a"' },
          { id: 'z', arguments: ':1}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
    });

    it('a new id with a name opens a call at a used index', () => {
      expect(
        callsOf([
          { index: 0, id: 'x', name: 'now' },
          { index: 0, id: 'y', name: 'now' },
        ]),
      ).toEqual([
        ['now', {}, 'x'],
        ['now', {}, 'y'],
      ]);
      expect(
        callsOf([
          { index: 0, id: 'x', name: 'f', arguments: '{"a":1}' },
          { index: 0, id: 'y', name: 'f', arguments: '{"a":' },
          { index: 0, arguments: '2}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'x'],
        ['f', { a: 2 }, 'y'],
      ]);
    });

    it('a new id in each fragment, with the name repeated, still makes one call', () => {
      expect(
        callsOf([
          { id: 'x', name: 'f', arguments: '{"a"' },
          { id: 'y', name: 'f', arguments: ':1' },
          { id: 'z', name: 'f', arguments: '}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
    });

    it('an id without a name at a new index begins a call, and the call before it continues', () => {
      for (const args of [undefined, null, '', ' ', 'null', '{}']) {
        expect(
          callsOf([
            { index: 0, id: 'x', name: 'f', arguments: '{"a":' },
            { index: 1, id: 'y', ...(args === undefined ? {} : { arguments: args }) },
            { index: 1, name: 'g', arguments: '{"b":2}' },
            { index: 0, arguments: '1}' },
          ]),
        ).toEqual([
          ['f', { a: 1 }, 'x'],
          ['g', { b: 2 }, 'y'],
        ]);
      }
    });

    it('an index that is sent only at the first fragments of a call, or only at the last, does not matter', () => {
      const parts: FragmentFields[] = [
        { id: 'x', name: 'get_' },
        { id: 'x', name: 'weather', arguments: '{"a":1}' },
      ];
      for (const at of [0, 1]) {
        const fragments = parts.map((fields, part) => (part === at ? { ...fields, index: 0 } : fields));
        expect(callsOf(fragments)).toEqual([['get_weather', { a: 1 }, 'x']]);
      }
    });

    it('a second id at an index continues the call whenever it is sent again', () => {
      expect(
        callsOf([
          { index: 0, id: 'x', name: 'f', arguments: '{"a":' },
          { index: 0, id: 'y', arguments: '{"b":' },
          { index: 0, id: 'y', name: 'f', arguments: '{"c":1}}}' },
        ]),
      ).toEqual([['f', { a: { b: { c: 1 } } }, 'x']]);
    });

    it('the name continues a call with an id, even if the fragment has neither id nor index', () => {
      expect(
        callsOf([
          { id: 'x', name: 'f' },
          { name: 'f', arguments: '{"a":1}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
    });

    it('a new id with other arguments opens a call, even if the call before it has no id', () => {
      expect(
        callsOf([
          { name: 'f', arguments: '{"a":1}' },
          { id: 'x', name: 'f', arguments: '{"a":2}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'new1'],
        ['f', { a: 2 }, 'x'],
      ]);
    });

    it('an end marker with a new id ends the call before it, and is labelled as its fragment', () => {
      const fragments: FragmentFields[] = [
        { index: 0, id: 'x', name: 'f', arguments: '{"a":1}' },
        { index: 0, id: 'y', arguments: '', done: true },
      ];
      expect(earlyCallsOf(fragments)).toEqual(['f']);
      expect(labelsOf(fragments)).toEqual([
        [0, 'f', 'x'],
        [0, 'f', 'x'],
      ]);
    });

    it('other arguments with a new id but without a name do not spoil a complete call', () => {
      expect(
        callsOf([
          { id: 'x', name: 'f', arguments: '{"a":1}' },
          { id: 'y', arguments: '{"b":2}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
    });

    it.each<[string, FragmentFields, FragmentFields]>([
      [
        'without arguments, with provider data',
        { name: 'now' },
        { name: 'clock', providerData: { google: { sig: 1 } } },
      ],
      ['to one tool, with provider data', { name: 'now' }, { name: 'now', providerData: { google: { sig: 1 } } }],
      ['of which the second has only an end', { name: 'f', arguments: '{"a":1}' }, { name: 'f', done: true }],
      ['of which the first is cut off', { name: 'f', arguments: '{"a":' }, { name: 'g', done: true }],
      ['to one tool of which the first is cut off', { name: 'f', arguments: '{"a":' }, { name: 'f' }],
      ['of which the first has text as arguments', { name: 'f', arguments: '{"a":' }, { name: 'f', arguments: 'null' }],
      ['of which the second begins again', { name: 'f', arguments: '{"a":' }, { name: 'f', arguments: '{"a":1}' }],
    ])('calls with ids but without an index are separate calls: %s', (_, first, second) => {
      const calls = callsOf([
        { id: 'x', ...first },
        { id: 'y', ...second },
      ]);
      expect(calls.map(([name, , id]) => [name, id])).toEqual([
        [first.name, 'x'],
        [second.name, 'y'],
      ]);
    });

    it('accumulateToolCalls replaces ids that the conversation has used', () => {
      expect(
        callsOf(
          [
            { index: 0, id: 'old', name: 'f' },
            { index: 1, id: 'y', name: 'f' },
            { index: 2, name: 'g' },
          ],
          'toolCalls',
          ['old', 'new1'],
        ),
      ).toEqual([
        ['f', {}, 'new2'],
        ['f', {}, 'y'],
        ['g', {}, 'new3'],
      ]);
    });
  });

  describe('calls without ids', () => {
    it('an index without an id continues the call that was last opened at this index', () => {
      expect(
        callsOf([
          { index: 1, name: 'f', arguments: '{"a"' },
          { index: 2, name: 'g', arguments: '{"b"' },
          { index: 1, arguments: ':1}' },
          { index: 2, arguments: ':2}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'new1'],
        ['g', { b: 2 }, 'new2'],
      ]);
    });

    it('a fragment with neither id nor index continues the current call, unless it has a name and that call is complete', () => {
      expect(
        callsOf([
          { name: 'f', arguments: '{"a"' },
          { arguments: ':1}' },
          { name: 'g', arguments: '{"b"' },
          { arguments: ':2}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'new1'],
        ['g', { b: 2 }, 'new2'],
      ]);
    });

    it('equal complete calls with neither id nor index are separate calls', () => {
      const click = { name: 'click', arguments: { x: 1 } };
      expect(callsOf([click, click])).toHaveLength(2);
      expect(
        callsOf([
          { ...click, done: true },
          { ...click, done: true },
        ]),
      ).toHaveLength(2);
      expect(callsOf([{ name: 'now' }, { name: 'now' }])).toHaveLength(2);
    });

    it('complete calls that are all at index 0 are separate calls', () => {
      expect(
        callsOf([
          { index: 0, name: 'f', arguments: '{"a":1}' },
          { index: 0, name: 'g', arguments: '{}' },
          { index: 0, name: 'g', arguments: '{"b":1}' },
        ]),
      ).toEqual([
        ['f', { a: 1 }, 'new1'],
        ['g', { b: 1 }, 'new2'],
      ]);
    });
  });

  describe('a call that is cut off', () => {
    it.each<[string, FragmentFields, FragmentFields]>([
      ['at the same index', { index: 0 }, { arguments: '{"b":1}' }],
      ['without an index', {}, { arguments: '{"b":1}' }],
      ['after whitespace', { index: 0 }, { arguments: ' {"b":1}' }],
      ['as an object', { index: 0 }, { arguments: { b: 1 } }],
    ])('arguments under another name begin another call (%s)', (_, place, second) => {
      const fragments: FragmentFields[] = [
        { ...place, name: 'f', arguments: '{"a":' },
        { ...place, name: 'g', ...second },
      ];
      expect(callsOf(fragments)).toEqual([
        ['f', { _raw: '{"a":', _error: 'invalid_json' }, 'new1'],
        ['g', { b: 1 }, 'new2'],
      ]);
      expect(callsOf(fragments, 'length')).toEqual([['g', { b: 1 }, 'new1']]);
    });

    it.each<[FragmentFields]>([[{ index: 0 }], [{}]])(
      'arguments that begin again under the same name are cumulative (%j)',
      (place) => {
        const parts = ['{"ci', '{"city":"Os', '{"city":"Oslo"}'];
        expect(callsOf(parts.map((text) => ({ ...place, name: 'f', arguments: text })))).toEqual([
          ['f', { city: 'Oslo' }, 'new1'],
        ]);
      },
    );
  });

  type Arguments = string | JsonObject;
  const [text, object] = ['{"a":1}', { a: 1 }] as const;
  it.each<[string, readonly Arguments[], readonly Arguments[]]>([
    ['a text', [text], [text]],
    ['a text, after a blank', [text], [' ', text]],
    ['an object', [object], [object]],
    ['an object, as a text', [object], [text]],
    ['an object and a blank', [object, ' '], [object]],
    ['an object, after a blank', [object], ['\n', object]],
    ['an empty object and an object', ['{}'], [object]],
    ['a line break and an object', ['\n'], [object]],
    ['null and an object', ['null'], [object]],
  ])('a call that a server repeats many times stays one call: %s', (_, first, repeated) => {
    const all = [...first, ...Array.from({ length: 100 }, () => repeated).flat()];
    expect(callsOf(all.map((args) => ({ index: 0, id: 'x', name: 'f', arguments: args })))).toEqual([
      ['f', { a: 1 }, 'x'],
    ]);
  });

  it('a call that is announced again opens a second call only if different arguments follow', () => {
    const first: FragmentFields[] = [
      { index: 0, name: 'f', arguments: '' },
      { index: 0, arguments: '{"a":1}' },
      { index: 0, name: 'f', arguments: '' },
    ];
    expect(callsOf([...first, { index: 0, arguments: '{"b":' }, { index: 0, arguments: '2}' }])).toEqual([
      ['f', { a: 1 }, 'new1'],
      ['f', { b: 2 }, 'new2'],
    ]);
    expect(callsOf([...first, { index: 0, arguments: '{"a":' }, { index: 0, arguments: '1}' }])).toEqual([
      ['f', { a: 1 }, 'new1'],
    ]);
    expect(callsOf([...first, { index: 0, arguments: '{}' }])).toEqual([
      ['f', { a: 1 }, 'new1'],
      ['f', {}, 'new2'],
    ]);
    for (const blank of [{}, { arguments: '' }, { arguments: 'null' }]) {
      expect(callsOf([...first, { index: 0, ...blank }, { index: 0, arguments: '{"b":2}' }])).toEqual([
        ['f', { a: 1 }, 'new1'],
        ['f', { b: 2 }, 'new2'],
      ]);
    }
    expect(
      callsOf([
        { index: 0, id: 'x', name: 'f', arguments: '' },
        { index: 0, arguments: '{"a":1}' },
        { index: 1, id: 'x', name: 'f', arguments: '' },
        { index: 1, arguments: '{"b":2}' },
      ]),
    ).toEqual([
      ['f', { a: 1 }, 'x'],
      ['f', { b: 2 }, 'new1'],
    ]);
  });

  it('a name that is repeated before the arguments have closed, or after a placeholder, opens no second call', () => {
    for (const [before, after, args] of [
      ['{"a":', '{"b":1}}', { a: { b: 1 } }],
      ['{}', '{"a":1}', { a: 1 }],
      ['null', '{"a":1}', { a: 1 }],
    ] as const) {
      const repeated: FragmentFields[] = [
        { index: 0, name: 'f', arguments: before },
        { index: 0, name: 'f', arguments: '' },
        { index: 0, arguments: after },
      ];
      expect(callsOf(repeated)).toEqual([['f', args, 'new1']]);
    }
  });

  it('what follows the end of a call that was announced again is not another call', () => {
    const fragments: FragmentFields[] = [
      { index: 0, id: 'x', name: 'f', arguments: '{"a":1}' },
      { index: 0, name: 'f', arguments: '' },
      { index: 0, done: true },
      { index: 0, arguments: '{"a":1}' },
      { index: 0, arguments: '{"b":2}' },
    ];
    expect(callsOf(fragments)).toEqual([['f', { a: 1 }, 'x']]);
  });

  describe('a call announced at several indexes', () => {
    const announced = (index: number): FragmentFields => ({ index, id: 'x', name: 'f', arguments: '' });

    it('a call announced at one index and complete at the next ones is one call (mudler/LocalAI#9722)', () => {
      const complete = { id: 'q', name: 'bash', arguments: '{"command":"pwd"}' };
      const fragments = [
        { ...complete, index: 0, arguments: '' },
        { ...complete, index: 1 },
        { ...complete, index: 2 },
      ];
      expect(callsOf(fragments)).toEqual([['bash', { command: 'pwd' }, 'q']]);
      expect(callsOf([{ ...complete, index: 0, arguments: 'null' }, ...fragments.slice(1)])).toHaveLength(1);
    });

    it.each<[string, FragmentFields]>([
      ['by index', {}],
      ['by index and id', { id: 'x' }],
      ['by index, id and name', { id: 'x', name: 'f' }],
    ])('arguments that arrive at both indexes make two calls (%s)', (_, fields) => {
      const args = (index: number, text: string): FragmentFields => ({ ...fields, index, arguments: text });
      const two = [
        ['f', { a: 1 }, 'x'],
        ['f', { a: 2 }, 'new1'],
      ];
      const both = [announced(0), announced(1)];
      expect(callsOf([...both, args(0, '{"a":1}'), args(1, '{"a":2}')])).toEqual(two);
      expect(callsOf([...both, args(0, '{"a":'), args(1, '{"a":'), args(0, '1}'), args(1, '2}')])).toEqual(two);
      expect(callsOf([...both, args(1, '{"a":1}'), args(0, '{"a":2}')])).toEqual(two);
      expect(callsOf([...both, announced(2), args(0, '{"a":1}'), args(2, '{"a":2}')])).toEqual(two);
      expect(callsOf([args(0, '{"a":'), announced(1), args(0, '1}'), args(1, '{"a":2}')].map(named))).toEqual(two);
    });

    it('arguments that arrive as objects at both indexes make two calls', () => {
      const both = [announced(0), announced(1)];
      expect(callsOf([...both, { index: 0, arguments: { a: 1 } }, { index: 1, arguments: { a: 2 } }])).toEqual([
        ['f', { a: 1 }, 'x'],
        ['f', { a: 2 }, 'new1'],
      ]);
      const afterEmpty = [{}, { a: 1 }, { a: 2 }].map((args, at): FragmentFields => ({
        index: at % 2,
        arguments: args,
      }));
      expect(callsOf([...both, ...afterEmpty])).toEqual([
        ['f', { a: 1 }, 'x'],
        ['f', { a: 2 }, 'new1'],
      ]);
      expect(
        callsOf([
          { ...announced(0), arguments: {} },
          { ...announced(1), arguments: { a: 1 } },
        ]),
      ).toEqual([
        ['f', {}, 'x'],
        ['f', { a: 1 }, 'new1'],
      ]);
    });

    /** The first fragment of a call has its id and name. */
    const named = (fields: FragmentFields, at: number): FragmentFields =>
      at === 0 ? { ...announced(0), ...fields } : fields;

    it.each([0, 1])('arguments that arrive only at index %d make one call', (index) => {
      const both = [announced(0), announced(1)];
      expect(callsOf([...both, { index, arguments: '{"a":' }, { index, arguments: '1}' }])).toEqual([
        ['f', { a: 1 }, 'x'],
      ]);
      const done: FragmentFields[] = [0, 1].map((at) => ({ index: at, done: true }));
      expect(callsOf([...both, { index, arguments: '{"a":1}' }, ...done])).toEqual([['f', { a: 1 }, 'x']]);
      expect(callsOf([...both, ...done, { index, arguments: '{"a":1}' }])).toEqual([['f', { a: 1 }, 'x']]);
    });

    it('equal arguments, or no arguments, at both indexes make one call', () => {
      const both = [announced(0), announced(1)];
      expect(callsOf([...both, { index: 0, arguments: '{"a":1}' }, { index: 1, arguments: '{"a":1}' }])).toEqual([
        ['f', { a: 1 }, 'x'],
      ]);
      expect(callsOf(both)).toEqual([['f', {}, 'x']]);
    });

    it('equal arguments at both indexes, each marked as done, make one call', () => {
      const done = { arguments: '{"a":1}', done: true } as const;
      const fragments: FragmentFields[] = [announced(0), announced(1), { index: 0, ...done }, { index: 1, ...done }];
      expect(callsOf(fragments)).toEqual([['f', { a: 1 }, 'x']]);
      expect(callsOf([...fragments, { index: 1, done: true }])).toEqual([['f', { a: 1 }, 'x']]);
    });

    it.each([[['{}']], [['{', '}']]])('empty arguments %j at one of the indexes make no second call', (empty) => {
      const both = [announced(0), announced(1)];
      const emptyAt = (index: number) => empty.map((args): FragmentFields => ({ index, arguments: args }));
      const real: FragmentFields[] = [
        { index: 1, arguments: '{"a":' },
        { index: 1, arguments: '{"b":1}}' },
      ];
      const one = [['f', { a: { b: 1 } }, 'x']];
      expect(callsOf([...both, ...real, ...emptyAt(0)])).toEqual(one);
      expect(callsOf([...both, ...emptyAt(0), ...real])).toEqual(one);
      const realAt0 = real.map((fields) => ({ ...fields, index: 0 }));
      expect(callsOf([...both, ...realAt0, ...emptyAt(1)])).toEqual(one);
      expect(callsOf([...both, ...emptyAt(1), ...realAt0])).toEqual(one);
    });

    it('an index that only continued the call opens no second call', () => {
      expect(
        callsOf([
          { index: 0, id: 'x', name: 'f', arguments: '{"a":' },
          { index: 1, id: 'x', arguments: '{"b":' },
          { index: 1, id: 'x', arguments: '1}}' },
        ]),
      ).toEqual([['f', { a: { b: 1 } }, 'x']]);
    });

    it('accumulateToolCalls labels the fragments of one call with one index and id', () => {
      const complete = (index: number) => ({ ...announced(index), arguments: '{"a":1}' });
      for (const fragments of [
        [announced(0), complete(1)],
        [announced(0), announced(1), complete(0), complete(1)],
      ])
        expect(labelsOf(fragments)).toEqual(fragments.map(() => [0, 'f', 'x']));
    });

    it.each<[string, FragmentFields[]]>([
      ['without an index', [announced(0), { id: 'x', name: 'f', arguments: '' }]],
      ['at the same index', [announced(0), announced(0)]],
      ['at an index for the first time', [{ id: 'x', name: 'f' }, announced(0)]],
    ])('a call that is announced again %s is emitted at its end marker', (_, announcements) =>
      expect(earlyCallsOf([...announcements, { index: 0, id: 'x', done: true }])).toEqual(['f']),
    );
  });

  it('the index separates calls that share an id, even after the first call was emitted', () => {
    const call = (index: number, city: string): FragmentFields[] => [
      { index, id: 'x', name: 'f' },
      { index, arguments: `{"city":"${city}"}` },
      { index, done: true },
    ];
    expect(callsOf([...call(0, 'Oslo'), ...call(1, 'Bergen')])).toEqual([
      ['f', { city: 'Oslo' }, 'x'],
      ['f', { city: 'Bergen' }, 'new1'],
    ]);
  });

  it('arguments that arrive after their call was emitted are another call', () => {
    const done = { id: 'x', name: 'f', done: true } as const;
    expect(
      callsOf([
        { ...done, arguments: {} },
        { ...done, arguments: '{"b":2}' },
      ]),
    ).toEqual([
      ['f', {}, 'x'],
      ['f', { b: 2 }, 'new1'],
    ]);
  });

  it.each<[string, FragmentFields]>([
    ['the name', { index: 0, name: 'f' }],
    ['id and name', { index: 0, id: 'x', name: 'f' }],
    ['id and name at another index', { index: 1, id: 'x', name: 'f' }],
    ['a new id', { index: 0, id: 'other' }],
  ])('accumulateToolCalls has linear cost even if %s arrives in each fragment', (_, fields) => {
    // An accumulator that reads the text from its start for each of the 200,000 fragments takes minutes.
    const middle = Array.from({ length: 200_000 }, (__, at): FragmentFields => ({
      ...fields,
      ...(fields.id === 'other' ? { id: `id${at}` } : {}),
      arguments: 'xxxx',
    }));
    const calls = callsOf([
      { index: 0, id: 'x', name: 'f', arguments: '{"a":"' },
      ...middle,
      { index: 0, arguments: '"}' },
    ]);
    expect(calls).toHaveLength(1);
    expect((calls[0]?.[1] as { a: string }).a).toHaveLength(800_000);
  });

  describe('names', () => {
    it.each<[string, string[], string]>([
      ['is taken from a later fragment', ['', 'bash'], 'bash'],
      ['is taken once if it is repeated', ['bash', 'bash', ''], 'bash'],
      ['is joined from its parts', ['get_', 'weather'], 'get_weather'],
      ['is the longest of cumulative names', ['get', 'get_wea', 'get_weather'], 'get_weather'],
    ])('a name %s', (_, names, complete) => {
      expect(callsOf([...names.map((name) => ({ index: 0, id: 'x', name })), { index: 0, arguments: '{}' }])).toEqual([
        [complete, {}, 'x'],
      ]);
    });

    it.each<[string, FragmentFields, FragmentFields, string]>([
      ['under the id', { index: 0, id: 'x', arguments: '{"a":1}' }, { index: 0, id: 'x', name: 'f' }, 'x'],
      ['at the index', { index: 0, id: 'x', name: '', arguments: '{"a":1}' }, { index: 0, name: 'f' }, 'x'],
      ['without id and index', { arguments: '{"a":1}' }, { name: 'f' }, 'new1'],
      ['with a late id', { index: 0, arguments: '{"a":' }, { index: 0, id: 'x', name: 'f', arguments: '1}' }, 'x'],
      ['with a new id', { id: 'x', name: '', arguments: '{"a":' }, { id: 'y', name: 'f', arguments: '1}' }, 'x'],
    ])('a name may follow the arguments %s', (_, first, second, id) => {
      expect(callsOf([first, second])).toEqual([['f', { a: 1 }, id]]);
    });

    it('a call that never receives a name is not emitted', () => {
      expect(callsOf([{ index: 0, id: 'x', name: '', arguments: '{"a":1}' }])).toEqual([]);
    });
  });

  describe('arguments', () => {
    const argumentsOf = (...fragments: (string | JsonObject | null | undefined)[]) =>
      callsOf(
        fragments.map((args, at) => ({
          index: 0,
          ...(at === 0 ? { id: 'x', name: 'f' } : {}),
          ...(args === undefined ? {} : { arguments: args }),
        })),
      )[0]?.[1];

    it.each([[''], ['null'], [null], [undefined], ['  '], ['{}'], ['""']])(
      'blank arguments (%j) become {}',
      (blank) => {
        expect(argumentsOf(blank)).toEqual({});
      },
    );

    it('argument strings are joined and parsed, and argument objects are emitted unchanged', () => {
      expect(argumentsOf('', '{"ci', 'ty":', '"Ålesund 🏔"}', ' ', '\n')).toEqual({ city: 'Ålesund 🏔' });
      expect(argumentsOf({ city: 'Oslo' })).toEqual({ city: 'Oslo' });
      expect(argumentsOf({}, { city: 'Oslo' }, { days: 2 })).toEqual({ city: 'Oslo', days: 2 });
    });

    it('text after an argument object adds its fields', () => {
      expect(argumentsOf({ city: 'Oslo' }, '{"days":2}')).toEqual({ city: 'Oslo', days: 2 });
    });

    it('repeated complete arguments are ignored', () => {
      expect(argumentsOf('{"a":', '1}', '{"a":1}')).toEqual({ a: 1 });
      const call = { index: 0, id: 'x', name: 'f' };
      for (const [args, repeat] of [
        [{ a: 1 }, { a: 1 }],
        ['{"a":1}', { a: 1 }],
        [{ a: 1 }, '{"a":1}'],
        ['{"a":1}', null],
      ] as (string | JsonObject)[][])
        expect(callsOf([call, { ...call, arguments: args ?? {} }, { ...call, arguments: repeat ?? null }])).toEqual([
          ['f', { a: 1 }, 'x'],
        ]);
      expect(argumentsOf('{"a":', '1}', '{ "a": ', '1 }')).toEqual({ a: 1 });
      expect(argumentsOf('{"a":"null {"}{"a":"null {"}')).toEqual({ a: 'null {' });
    });

    it('repeated arguments with their keys in another order, or after null, are ignored', () => {
      expect(argumentsOf('{"a":1,"b":2}', '{"b":2,"a":1}')).toEqual({ a: 1, b: 2 });
      for (const placeholder of ['null', ' null', 'null\n'])
        expect(argumentsOf(placeholder, '{"a":1}', ' {"a":1}')).toEqual({ a: 1 });
    });

    it('the last of several cumulative arguments counts', () => {
      expect(argumentsOf('{"ci', '{"city":"Os', '{"city":"Oslo"}')).toEqual({ city: 'Oslo' });
      expect(argumentsOf('{"ci', '', '{"city":"Oslo"}')).toEqual({ city: 'Oslo' });
      expect(argumentsOf('{"ci', '{"city":"Os')).toEqual({ _raw: '{"ci{"city":"Os', _error: 'invalid_json' });
    });

    it('real arguments replace a placeholder {}', () => {
      expect(argumentsOf('{}', '{"a":1}')).toEqual({ a: 1 });
      expect(argumentsOf('{}', '{"a"', ':1}')).toEqual({ a: 1 });
      const call = { id: 'x', name: 'f' };
      const placeholder = { ...call, arguments: '{}' };
      const real = { ...call, arguments: '{"a":1}' };
      expect(callsOf([placeholder, real])).toEqual([['f', { a: 1 }, 'x']]);
      expect(callsOf([placeholder, placeholder, real])).toEqual([['f', { a: 1 }, 'x']]);
      expect(argumentsOf('{}{}')).toEqual({});
      expect(argumentsOf('{', '}', '{}')).toEqual({});
      expect(argumentsOf('{ }', '{"a":1}')).toEqual({ a: 1 });
      expect(argumentsOf('{\n', '}', '{"a":1}')).toEqual({ a: 1 });
    });

    it('arguments that are a JSON string of an object are unwrapped once', () => {
      expect(argumentsOf('"{\\"city\\":', ' \\"Oslo\\"}"')).toEqual({ city: 'Oslo' });
    });

    it.each([
      ['command": "ls"}'],
      ['{"a":1'],
      ['{"a":{}'],
      ['[1,2]'],
      ['12'],
      ['{"a":1}{"a":2}'],
      ['"text"'],
      ['"\\"{}\\""'],
      ['{"a":NaN}'],
    ])('arguments that are not a JSON object (%s) become _raw and _error', (raw) => {
      expect(argumentsOf(raw)).toEqual({ _raw: raw, _error: 'invalid_json' });
    });

    it.each([5_000, 100_000])('arguments with %d levels of nesting become _raw and _error', (levels) => {
      const raw = '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
      expect(argumentsOf(raw)).toEqual({ _raw: raw, _error: 'too_deep' });
      expect(argumentsOf(...(raw.match(/.{1,999}/g) ?? []))).toEqual({ _raw: raw, _error: 'too_deep' });
    });

    it.each([
      '{"id":9007199254740993}',
      '{"list":[{"id":-12345678901234567890}]}',
      `{"id":1${'0'.repeat(200)}1}`,
      '"{\\"id\\":9007199254740993}"',
      ' "{\\"id\\":9007199254740993}"\n',
      '"{\\"id\\":9007199254740993}" "{\\"id\\":9007199254740993}"',
    ])('arguments with an integer that a number cannot hold (%j) become _raw and _error', (raw) => {
      expect(argumentsOf(raw)).toEqual({ _raw: raw, _error: 'inexact_integer' });
    });

    it.each<[string, JsonObject]>([
      ['{"a":9007199254740991,"b":9007199254740992}', { a: 2 ** 53 - 1, b: 2 ** 53 }],
      ['{"a":"9007199254740993","b":"\\"9007199254740993"}', { a: '9007199254740993', b: '"9007199254740993' }],
      ['{"a":12345678901234565e-1}', { a: 1234567890123456.5 }],
      ['{"a":0.12345678901234567890,"b":1e300,"c":1000000000000000000}', { a: 0.12345678901234568, b: 1e300, c: 1e18 }],
    ])('arguments with numbers that are exact, or not integers (%s), are unchanged', (raw, args) => {
      expect(argumentsOf(raw)).toEqual(args);
    });

    it('arguments that arrive as an object with an integer beyond 2^53 become _raw and _error', () => {
      const callWith = (args: JsonObject) => callsOf([{ id: 'x', name: 'f', arguments: args }]);
      const inexact = JSON.parse('{"list":[{"id":9007199254740993}]}') as JsonObject;
      expect(callWith(inexact)).toEqual([['f', { _raw: JSON.stringify(inexact), _error: 'inexact_integer' }, 'x']]);
      const exact = { a: 2 ** 53 - 1, b: 1e300, c: 0.5, d: 1e21, e: null };
      expect(callWith(exact)).toEqual([['f', exact, 'x']]);
    });

    it('arguments that arrive as an object with 501 levels become _raw, up to the limit, and _error', () => {
      const nested = (levels: number) => JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels)) as JsonObject;
      const raw = '{"a":'.repeat(500) + 'null' + '}'.repeat(500);
      expect(argumentsOf(nested(501))).toEqual({ _raw: raw, _error: 'too_deep' });
      expect(argumentsOf(nested(500))).toEqual(nested(500));
    });

    it('__proto__ and constructor are ordinary keys of arguments', () => {
      const args = argumentsOf('{"__proto__":{"x":1},"constructor":2}') as JsonObject;
      expect(Object.entries(args)).toEqual([
        ['__proto__', { x: 1 }],
        ['constructor', 2],
      ]);
      expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    });
  });

  describe('finish', () => {
    const complete = { index: 0, id: 'x', name: 'f', arguments: '{"a":1}' };
    const incomplete = { index: 1, id: 'y', name: 'f', arguments: '{"a":' };

    it.each<FinishReason>(['length', 'contentFilter', 'error', 'stopped', 'other', 'limit', 'paused'])(
      'a finish of %s exposes complete calls only',
      (reason) => {
        expect(callsOf([complete, incomplete], reason)).toEqual([['f', { a: 1 }, 'x']]);
        expect(callsOf([complete, { index: 1, id: 'y', name: 'f' }], reason)).toEqual([['f', { a: 1 }, 'x']]);
      },
    );

    it('a finish of length emits no truncated call, wherever its arguments are cut off', () => {
      const args = JSON.stringify({ 'a}"': '\\"}', b: [{ c: '{' }] });
      const cutAt = (text: string, size: number) =>
        Array.from({ length: Math.ceil(text.length / size) }, (_, at): FragmentFields => ({
          index: 0,
          arguments: text.slice(at * size, (at + 1) * size),
        }));
      for (const size of [1, 2, 3, 5, 8]) {
        for (let end = 1; end <= args.length; end++) {
          const calls = callsOf([{ index: 0, id: 'x', name: 'f' }, ...cutAt(args.slice(0, end), size)], 'length');
          expect([size, end, calls.length]).toEqual([size, end, end === args.length ? 1 : 0]);
        }
      }
    });

    it.each([[['null']], [['{}']], [[' {}']], [[' ', 'null']], [['nu', 'll']]])(
      'a call with the complete arguments %j is not lost at a finish of length',
      (parts) => {
        const fragments = parts.map((text): FragmentFields => ({ index: 0, id: 'x', name: 'f', arguments: text }));
        expect(callsOf(fragments, 'length')).toEqual([['f', {}, 'x']]);
      },
    );

    it('a finish of stop after a call without a name stays stop', () => {
      const { values } = observe(of(fragment({ index: 0, id: 'x' }), finish('stop')).pipe(accumulateToolCalls()));
      expect(values).toEqual([finish('stop')]);
    });

    it.each<[FinishReason, FinishReason]>([
      ['stop', 'toolCalls'],
      ['unspecified', 'toolCalls'],
      ['length', 'length'],
      ['other', 'other'],
    ])('a finish of %s in a turn with calls becomes %s', (reason, expected) => {
      const { values } = observe(of(fragment(complete), finish(reason)).pipe(accumulateToolCalls()));
      expect(values.at(-1)).toEqual({ type: 'finish', reason: expected });
    });

    it('a finish of stop without calls passes through as the same object', () => {
      const stop: Chunk = { type: 'finish', reason: 'stop', usage: { input: 1 } };
      expect(observe(of(stop).pipe(accumulateToolCalls())).values[0]).toBe(stop);
    });

    it.each([
      ['a completion without finish', EMPTY],
      ['an error', throwError(() => new Error('reset'))],
    ])('accumulateToolCalls emits no call at %s', (_, end) => {
      expect(observe(concat(of(fragment(complete)), end).pipe(accumulateToolCalls())).values).toEqual([]);
    });
  });

  it('accumulateToolCalls emits a call at its end marker, once, in the order in which the calls began', () => {
    const seen = observe(
      from([
        fragment({ index: 'a', id: 'x', name: 'f' }),
        fragment({ index: 'b', id: 'y', name: 'g', arguments: '{}', done: true }),
        fragment({ index: 'a', arguments: '{"a":1}', done: true }),
        fragment({ index: 'a', id: 'x', name: 'f', arguments: '{"a":1}', done: true }),
      ]).pipe(accumulateToolCalls()),
    );
    expect(seen.values.map((call) => call.id)).toEqual(['x', 'y']);
  });

  it.each<[string, FragmentFields, boolean]>([
    ['whose arguments have closed is complete', { index: 0, id: 'x', name: 'f', arguments: '{"a":1}' }, true],
    ['whose arguments are open waits', { index: 0, id: 'x', name: 'f', arguments: '{"a":' }, false],
    ['with a placeholder waits', { index: 0, id: 'x', name: 'f', arguments: '{}' }, false],
    ['without an id waits', { index: 0, name: 'f', arguments: '{"a":1}' }, false],
    ['without an index waits', { id: 'x', name: 'f', arguments: '{"a":1}' }, false],
    ['at the same index waits', { index: 1, id: 'x', name: 'f', arguments: '{"a":1}' }, false],
  ])('a call %s when a call opens at another index', (_, first, isComplete) => {
    const fragments = [fragment(first), fragment({ index: 1, id: 'y', name: 'g' })];
    const { values } = observe(concat(from(fragments), NEVER).pipe(accumulateToolCalls()));
    expect(values).toMatchObject(isComplete ? [{ type: 'toolCall', id: 'x', arguments: { a: 1 } }] : []);
    expect(values).toHaveLength(isComplete ? 1 : 0);
  });

  it('a call with an index waits when a call opens without an index', () => {
    expect(earlyCallsOf([{ index: 0, id: 'x', name: 'f', arguments: '{"a":1}' }, { name: 'g' }])).toEqual([]);
  });

  it.each([0, 1])(
    'a call whose name was repeated at index %d or without an index waits only for the next call',
    (index) =>
      expect(
        earlyCallsOf([
          { index, id: 'x', name: 'f', arguments: '' },
          { id: 'x', name: 'f', arguments: '' },
          { index, arguments: '{"a":1}' },
          { index: index + 1, id: 'y', name: 'g' },
        ]),
      ).toEqual(['f']),
  );

  it('a call without id and arguments waits for arguments until the next call', () => {
    expect(earlyCallsOf([{ name: 'now', done: true }])).toEqual([]);
    expect(earlyCallsOf([{ name: 'now', done: true }, { name: 'clock' }])).toEqual(['now']);
    expect(
      callsOf([
        { name: 'f', arguments: {}, done: true },
        { arguments: { city: 'Oslo' }, done: true },
      ]),
    ).toEqual([['f', { city: 'Oslo' }, 'new1']]);
    expect(
      callsOf([
        { name: 'now', arguments: {}, done: true },
        { name: 'f', arguments: { a: 1 }, done: true },
      ]),
    ).toEqual([
      ['now', {}, 'new1'],
      ['f', { a: 1 }, 'new2'],
    ]);
  });

  it('accumulateToolCalls keeps the provider data of a call', () => {
    const { values } = observe(
      of(fragment({ index: 0, id: 'x', name: 'f', providerData: { google: { sig: 1 } } }), finish()).pipe(
        accumulateToolCalls(),
      ),
    );
    expect(values[0]).toEqual({
      type: 'toolCall',
      id: 'x',
      name: 'f',
      arguments: {},
      providerData: { google: { sig: 1 } },
    });
  });

  it('accumulateToolCalls generates another id if newId returns the same id at each call, or none', () => {
    const idsWith = (id: string) => {
      const calls = [fragment({ index: 0, name: 'f' }), fragment({ index: 1, name: 'g' }), finish('stop')];
      const { values } = observe(from(calls).pipe(accumulateToolCalls({ newId: () => id })));
      return values.flatMap((event) => (event.type === 'toolCall' ? [event.id] : []));
    };
    expect(idsWith('new')).toEqual(['new', expect.stringMatching(/^[\w-]{21}$/)]);
    expect(new Set(idsWith('')).size).toBe(2);
  });

  it('accumulateToolCalls replaces an id with a slash, from a server or newId: calls inside calls have such ids', () => {
    const idsWith = (id: string, newId: string) => {
      const calls = [fragment({ index: 0, id, name: 'f' }), finish('stop')];
      const { values } = observe(from(calls).pipe(accumulateToolCalls({ newId: () => newId })));
      return values.flatMap((event) => (event.type === 'toolCall' ? [event.id] : []));
    };
    expect(idsWith('c1/r1', 'new')).toEqual(['new']);
    expect(idsWith('/', 'new')).toEqual(['new']);
    expect(idsWith('c1/r1', 'c1/r2')).toEqual([expect.stringMatching(/^[\w-]{21}$/)]);
  });

  it('accumulateToolCalls starts the turn again on retract', () => {
    const { values } = observe(
      from<Chunk[]>([
        fragment({ index: 0, id: 'x', name: 'f' }),
        { type: 'retract' },
        fragment({ index: 0, id: 'x', name: 'g' }),
        finish('stop'),
      ]).pipe(accumulateToolCalls({ newId: () => 'never' })),
    );
    expect(values).toEqual([
      { type: 'retract' },
      { type: 'toolCall', id: 'x', name: 'g', arguments: {} },
      finish('toolCalls'),
    ]);
  });

  describe('several turns', () => {
    const call = fragment({ index: 0, id: 'x', name: 'f', arguments: '{}' });
    const doneCall: Chunk = { ...call, done: true }; // emitted before the finish
    const finishesOf = (chunks: readonly Chunk[]) =>
      observe(from(chunks).pipe(accumulateToolCalls({ newId: () => 'new' }))).values.filter(
        ({ type }) => type === 'finish',
      );

    it.each([call, doneCall])('a turn without calls after a turn with calls keeps its finish of stop', (called) =>
      expect(finishesOf([called, finish('stop'), finish('stop')])).toEqual([finish('toolCalls'), finish('stop')]),
    );

    it('a finish of stop after retract does not count the retracted calls', () => {
      expect(finishesOf([call, { type: 'retract' }, finish('stop')])).toEqual([finish('stop')]);
      expect(finishesOf([doneCall, { type: 'retract' }, finish('stop')])).toEqual([finish('stop')]);
    });

    it('an id of an earlier turn is replaced, and an id of a retracted turn is not', () => {
      const ids = (chunks: readonly Chunk[]) =>
        observe(from(chunks).pipe(accumulateToolCalls({ newId: () => 'new' }))).values.flatMap((event) =>
          event.type === 'toolCall' ? [event.id] : [],
        );
      expect(ids([call, finish(), call, finish()])).toEqual(['x', 'new']);
      expect(ids([call, finish(), { ...call, id: 'y' }, finish(), call, finish()])).toEqual(['x', 'y', 'new']);
      expect(ids([{ ...call, done: true }, { type: 'retract' }, call, finish()])).toEqual(['x', 'x']);
    });

    it.each<[string, Partial<ToolCallFragment>, boolean]>([
      ['the same call', { arguments: '{"b":2,"a":1}' }, true],
      ['other arguments', { arguments: '{"a":9}' }, false],
      ['another tool', { name: 'g' }, false],
    ])('an id of a retracted call is kept only for the same call: %s', (_, fields, isKept) => {
      const first: ToolCallFragment = { ...call, arguments: '{"a":1,"b":2}', done: true };
      const again = { ...first, ...fields };
      for (const fragments of [false, true]) {
        const source = from<Chunk[]>([first, { type: 'retract' }, again, { type: 'retract' }, again, finish()]);
        const { values } = observe(source.pipe(accumulateToolCalls({ fragments, newId: () => 'new' })));
        const labels = values.filter(({ type }) => type === 'toolCallFragment');
        expect(values.filter(isToolCall).map(({ id }) => id)).toEqual(isKept ? ['x', 'x', 'x'] : ['x', 'new', 'new']);
        expect(labels.map((label) => 'id' in label)).toEqual(fragments ? [true, false, false] : []);
      }
    });

    it('a one-shot iterable of usedIds applies to all turns and after retract', () => {
      const usedIds = new Set(['x']).values();
      const { values } = observe(
        from<Chunk[]>([{ ...call, done: true }, { type: 'retract' }, call, finish()]).pipe(
          accumulateToolCalls({ usedIds, newId: () => 'new' }),
        ),
      );
      expect(values).toMatchObject([{ id: 'new' }, { type: 'retract' }, { id: 'new' }, finish()]);
    });

    it('a finish that is pushed while a call is emitted becomes toolCalls', () => {
      const source = new Subject<Chunk>();
      const events: unknown[] = [];
      source.pipe(accumulateToolCalls()).subscribe((event) => {
        events.push(event.type === 'finish' ? event.reason : event.type);
        if (event.type === 'toolCall') source.next(finish('stop'));
      });
      source.next({ ...call, done: true });
      expect(events).toEqual(['toolCall', 'toolCalls']);
    });

    it.each([call, doneCall])('a turn that is pushed while a finish is emitted starts without calls', (called) => {
      const source = new Subject<Chunk>();
      const reasons: FinishReason[] = [];
      source.pipe(accumulateToolCalls()).subscribe((event) => {
        if (event.type === 'finish' && reasons.push(event.reason) === 1) source.next(finish('stop'));
      });
      source.next(called);
      source.next(finish('stop'));
      expect(reasons).toEqual(['toolCalls', 'stop']);
    });
  });

  it('accumulateToolCalls with fragments: true labels each fragment with its call, before the call itself', () => {
    const { values } = observe(
      of(
        fragment({ index: 7, id: 'used', name: 'f' }),
        fragment({ index: 8, name: 'g', arguments: '{"b"' }),
        fragment({ index: 7, arguments: '{"a":1}' }),
        fragment({ index: 8, id: 'late', arguments: ':2}', done: true }),
        finish(),
      ).pipe(accumulateToolCalls({ fragments: true, usedIds: ['used'], newId: () => 'new' })),
    );
    expect(values).toEqual([
      fragment({ index: 0, id: 'new', name: 'f' }),
      fragment({ index: 1, name: 'g', arguments: '{"b"' }),
      fragment({ index: 0, id: 'new', name: 'f', arguments: '{"a":1}' }),
      fragment({ index: 1, id: 'late', name: 'g', arguments: ':2}' }),
      { type: 'toolCall', id: 'new', name: 'f', arguments: { a: 1 } },
      { type: 'toolCall', id: 'late', name: 'g', arguments: { b: 2 } },
      finish(),
    ]);
  });

  it('accumulateToolCalls with fragments: true emits no fragment that repeats an emitted call', () => {
    const done: FragmentFields = { index: 0, id: 'x', name: 'f', arguments: '{"a":1}', done: true };
    expect(labelsOf([done, done, { index: 0, done: true }])).toEqual([[0, 'f', 'x']]);
  });

  describe('with previews', () => {
    const preview = (fields: FragmentFields): ToolCallFragment => fragment({ ...fields, preview: true });
    const run = (chunks: readonly Chunk[], fragments = true) =>
      observe(from(chunks).pipe(accumulateToolCalls({ fragments, usedIds: ['used'], newId: () => 'new' }))).values;
    const shown = [preview({ index: 'a', id: 'used', name: 'f' }), preview({ index: 'a', arguments: '{"a"' })];

    it('accumulateToolCalls shows a preview under the label of its call, and then what the preview did not have', () => {
      const call = fragment({ index: 'a', id: 'used', name: 'f', arguments: '{"a":1}', done: true });
      expect(run([...shown, call, finish()])).toEqual([
        fragment({ index: 0, id: 'new', name: 'f' }),
        fragment({ index: 0, id: 'new', name: 'f', arguments: '{"a"' }),
        fragment({ index: 0, id: 'new', name: 'f', arguments: ':1}' }),
        { type: 'toolCall', id: 'new', name: 'f', arguments: { a: 1 } },
        finish(),
      ]);
      expect(run([...shown, call, finish()], false)).toHaveLength(2);
    });

    it.each([
      fragment({ index: 'a', id: 'used', name: 'g', arguments: '{"b":2}', done: true }),
      fragment({ index: 'a', id: 'used', name: 'g', arguments: { b: 2 } }),
    ])('accumulateToolCalls emits the call, not what its preview had: %j', (call) => {
      expect(run([...shown, preview({ index: 'a', arguments: ':1}' }), call, finish()]).slice(3)).toEqual([
        fragment({ index: 0, id: 'new', name: 'g', arguments: '' }),
        { type: 'toolCall', id: 'new', name: 'g', arguments: { b: 2 } },
        finish(),
      ]);
    });

    it.each<FinishReason>(['stop', 'toolCalls', 'unspecified', 'length'])(
      'accumulateToolCalls makes no call of a preview alone, whatever follows: %s',
      (reason) => {
        const whole = preview({ index: 'a', id: 'a', name: 'f', arguments: '{"a":1}', done: true });
        expect(run([whole, finish(reason)], false)).toEqual([finish(reason)]);
        const next = fragment({ index: 'b', id: 'b', name: 'g', arguments: '{}', done: true });
        expect(run([whole, next], false)).toEqual([{ type: 'toolCall', id: 'b', name: 'g', arguments: {} }]);
        expect(run([...shown, { type: 'retract' }, finish(reason)], false)).toEqual([
          { type: 'retract' },
          finish(reason),
        ]);
      },
    );
  });

  it('a labelled fragment has only the fields that are known', () => {
    const { values } = observe(
      of(fragment({}), fragment({ index: 0, name: '' }), fragment({ id: 'x' }), fragment({ id: 'x', name: 'f' })).pipe(
        accumulateToolCalls({ fragments: true }),
      ),
    );
    expect(values).toStrictEqual([fragment({ index: 0, id: 'x' }), fragment({ index: 0, id: 'x', name: 'f' })]);
  });

  it('accumulateToolCalls emits the same calls however the arguments are split and the calls are interleaved', () => {
    const oneCall = fc.record({
      name: fc.stringMatching(/^[a-z]{1,8}$/),
      args: fc.dictionary(fc.string(), fc.jsonValue()),
      cuts: fc.array(fc.nat(40)),
    });
    fc.assert(
      fc.property(fc.array(oneCall, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(3)), (calls, order) => {
        const queues = calls.map(({ name, args, cuts }, index) => {
          const text = JSON.stringify(args);
          const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
          const cut = [0, ...at].map((from, i) => text.slice(from, [...at, text.length][i]));
          return [
            { index, id: `id${index}`, name },
            ...cut.map((args): FragmentFields => ({ index, arguments: args })),
          ];
        });
        const fragments: FragmentFields[] = queues.map((queue) => queue.shift()!);
        for (const pick of order) fragments.push(...(queues[pick % queues.length]?.splice(0, 1) ?? []));
        fragments.push(...queues.flat());
        expect(callsOf(fragments)).toEqual(
          calls.map(({ name, args }, index) => [name, JSON.parse(JSON.stringify(args)) as JsonObject, `id${index}`]),
        );
      }),
    );
  });

  it('accumulateToolCalls never throws and never repeats an id, for any fragments', () => {
    const anyFragment = fc.record(
      {
        index: fc.oneof(fc.nat(2), fc.constantFrom('a', 'b')),
        id: fc.constantFrom('', 'null', 'x', 'y'),
        name: fc.constantFrom('', 'f', 'g', 'fg', '__proto__'),
        arguments: fc.oneof(
          fc.constantFrom('', '{}', '{"a":1}', '{"a"', ':1}', 'null', '"{}"', ' '),
          fc.constant(null),
          fc.constant({ b: 1 }),
        ),
        done: fc.constant(true as const),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(anyFragment), fc.constantFrom<FinishReason>('stop', 'length'), (fragments, reason) => {
        const calls = callsOf(fragments, reason);
        const ids = calls.map(([, , id]) => id);
        expect(new Set(ids).size).toBe(ids.length);
        for (const [name, , id] of calls) expect(name !== '' && id !== '' && id !== 'null').toBe(true);
      }),
    );
  });

  it('accumulateToolCalls removes fragments from the types, adds calls and keeps custom events', () => {
    interface Mine extends StreamEvent {
      readonly type: 'mine';
      readonly n: number;
    }
    const { values } = observe(of<(Mine | Chunk)[]>({ type: 'mine', n: 1 }).pipe(accumulateToolCalls()));
    const first: Exclude<Chunk, ToolCallFragment> | ToolCallEvent | Mine | undefined = values[0];
    expect(first?.type === 'mine' ? first.n : undefined).toBe(1);
  });

  it('accumulateToolCalls with fragments: boolean has fragments in its type', () => {
    const isFragment = (event: Chunk | ToolCallEvent) => event.type === 'toolCallFragment';
    const typed = (fragments: boolean, options: { readonly fragments?: boolean | undefined }) => [
      from<Chunk[]>([]).pipe(accumulateToolCalls({ fragments }), map(isFragment)),
      from<Chunk[]>([]).pipe(accumulateToolCalls(options), map(isFragment)),
      from<Chunk[]>([]).pipe(
        accumulateToolCalls(options),
        // @ts-expect-error -- a fragment may pass through
        map((event): Exclude<Chunk, ToolCallFragment> | ToolCallEvent => event),
      ),
      from<Chunk[]>([]).pipe(
        accumulateToolCalls({ fragments: false }),
        map((event): Exclude<Chunk, ToolCallFragment> | ToolCallEvent => event),
      ),
    ];
    const passes = (fragments: boolean) =>
      observe(of(fragment({ name: 'f' })).pipe(accumulateToolCalls({ fragments }))).values.length;
    expect([passes(true), passes(false), typed(true, {}).length]).toEqual([1, 0, 4]);
  });
});
