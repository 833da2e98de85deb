import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { EMPTY, concat, from, of, throwError } from 'rxjs';
import type { Chunk, FinishReason, ToolCallFragment } from '../../lib/core/chunk.js';
import type { StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { diagram } from '../support/diagram.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

type Bare = Omit<ToolCallFragment, 'type'>;

const fragment = (bare: Bare): ToolCallFragment => ({ type: 'toolCallFragment', ...bare });
const finish = (reason: FinishReason = 'toolCalls'): Chunk => ({ type: 'finish', reason });

/** The calls that come of fragments, as [name, arguments, id]. */
function callsOf(fragments: readonly Bare[], reason: FinishReason = 'toolCalls', usedIds: readonly string[] = []) {
  let made = 0;
  const options = { usedIds, newId: () => `new${++made}` };
  const { values } = observe(
    from<Chunk[]>([...fragments.map(fragment), finish(reason)]).pipe(accumulateToolCalls(options)),
  );
  return values.filter((event) => event.type === 'toolCall').map((call) => [call.name, call.arguments, call.id]);
}

describe('accumulateToolCalls', () => {
  it('joins interleaved fragments', () =>
    diagram('accumulateToolCalls', ({ source }) => source.pipe(accumulateToolCalls())));
  it('emits a call when its end is marked, and none that was cut', () =>
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
    it.each([[''], ['null'], [undefined]])('of a call without one (%j) are made', (id) => {
      const bare = id === undefined ? {} : { id };
      expect(callsOf([{ ...bare, name: 'now', arguments: '{}' }])).toEqual([['now', {}, 'new1']]);
    });

    it('come late and fill an empty one, also with the name once more', () => {
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

    it('that are known win over the index', () => {
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

    it('that stand at another index with another name, or other arguments, are another call, made distinct', () => {
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

    it('shared by interleaved calls keep their fragments apart by index', () => {
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

    it('announced again, with nothing new, are the same call', () => {
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

    it('shared without an index by whole calls are two calls', () => {
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

    it('that are new at a used index continue the call there; the first id stays', () => {
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

    it('that are new at a used index and bring a name open a call', () => {
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

    it('new in each fragment, beside the repeated name, still make one call', () => {
      expect(
        callsOf([
          { id: 'x', name: 'f', arguments: '{"a"' },
          { id: 'y', name: 'f', arguments: ':1' },
          { id: 'z', name: 'f', arguments: '}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
    });

    it('used before in the conversation, or twice in the turn, are made distinct', () => {
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

  describe('without ids', () => {
    it('an index continues the call opened last under it', () => {
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

    it('nor index, a fragment continues the current call, unless it brings a name when that one is whole', () => {
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

    it('nor index, equal whole calls are separate calls', () => {
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

    it('whole calls all at index 0 are separate calls', () => {
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

  it('opens another call of the same name when one is announced again and other arguments follow, and none when they are the same', () => {
    const first: Bare[] = [
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

  it('keeps calls of one id apart by their index also where the first was emitted at its end', () => {
    const call = (index: number, city: string): Bare[] => [
      { index, id: 'x', name: 'f' },
      { index, arguments: `{"city":"${city}"}` },
      { index, done: true },
    ];
    expect(callsOf([...call(0, 'Oslo'), ...call(1, 'Bergen')])).toEqual([
      ['f', { city: 'Oslo' }, 'x'],
      ['f', { city: 'Bergen' }, 'new1'],
    ]);
  });

  it('does not lose arguments that come after the call was emitted: they are another call', () => {
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

  it.each<[string, Bare]>([
    ['the name', { index: 0, name: 'f' }],
    ['id and name', { index: 0, id: 'x', name: 'f' }],
    ['a new id', { index: 0, id: 'other' }],
  ])('is linear also where %s comes in each fragment', (_, bare) => {
    // 200,000 of them: looked at from the start for each, they take minutes, and the test runs out of its time.
    const pieces = Array.from({ length: 200_000 }, (__, at): Bare => ({
      ...bare,
      ...(bare.id === 'other' ? { id: `id${at}` } : {}),
      arguments: 'xxxx',
    }));
    const calls = callsOf([
      { index: 0, id: 'x', name: 'f', arguments: '{"a":"' },
      ...pieces,
      { index: 0, arguments: '"}' },
    ]);
    expect(calls).toHaveLength(1);
    expect((calls[0]?.[1] as { a: string }).a).toHaveLength(800_000);
  });

  describe('names', () => {
    it.each<[string, string[], string]>([
      ['are taken late', ['', 'bash'], 'bash'],
      ['repeated are ignored', ['bash', 'bash', ''], 'bash'],
      ['in pieces are joined', ['get_', 'weather'], 'get_weather'],
      ['cumulative are taken whole', ['get', 'get_wea', 'get_weather'], 'get_weather'],
    ])('%s', (_, names, whole) => {
      expect(callsOf([...names.map((name) => ({ index: 0, id: 'x', name })), { index: 0, arguments: '{}' }])).toEqual([
        [whole, {}, 'x'],
      ]);
    });

    it('that never come make no call', () => {
      expect(callsOf([{ index: 0, id: 'x', name: '', arguments: '{"a":1}' }])).toEqual([]);
    });
  });

  describe('arguments', () => {
    const argumentsOf = (...pieces: (string | JsonObject | null | undefined)[]) =>
      callsOf(
        pieces.map((piece, at) => ({
          index: 0,
          ...(at === 0 ? { id: 'x', name: 'f' } : {}),
          ...(piece === undefined ? {} : { arguments: piece }),
        })),
      )[0]?.[1];

    it.each([[''], ['null'], [null], [undefined], ['  '], ['{}'], ['""']])(
      'that are nothing (%j) are {}',
      (nothing) => {
        expect(argumentsOf(nothing)).toEqual({});
      },
    );

    it('are parsed once they are together; objects are taken as they are', () => {
      expect(argumentsOf('', '{"ci', 'ty":', '"Ålesund 🏔"}', ' ', '\n')).toEqual({ city: 'Ålesund 🏔' });
      expect(argumentsOf({ city: 'Oslo' })).toEqual({ city: 'Oslo' });
      expect(argumentsOf({}, { city: 'Oslo' }, { days: 2 })).toEqual({ city: 'Oslo', days: 2 });
    });

    it('that come whole once more are a repeat', () => {
      expect(argumentsOf('{"a":', '1}', '{"a":1}')).toEqual({ a: 1 });
      expect(argumentsOf('{"a":', '1}', '{ "a": ', '1 }')).toEqual({ a: 1 });
    });

    it('that come once more with their keys in another order, or after null, are the same', () => {
      expect(argumentsOf('{"a":1,"b":2}', '{"b":2,"a":1}')).toEqual({ a: 1, b: 2 });
      expect(argumentsOf('null', '{"a":1}')).toEqual({ a: 1 });
    });

    it('that come as all so far, again and again, are the last of them', () => {
      expect(argumentsOf('{"ci', '{"city":"Os', '{"city":"Oslo"}')).toEqual({ city: 'Oslo' });
      expect(argumentsOf('{"ci', '{"city":"Os')).toEqual({ _raw: '{"ci{"city":"Os', _error: 'invalid_json' });
    });

    it('that begin as a placeholder give way to the real ones', () => {
      expect(argumentsOf('{}', '{"a":1}')).toEqual({ a: 1 });
      expect(argumentsOf('{}', '{"a"', ':1}')).toEqual({ a: 1 });
      expect(
        callsOf([
          { id: 'x', name: 'f', arguments: '{}' },
          { id: 'x', name: 'f', arguments: '{"a":1}' },
        ]),
      ).toEqual([['f', { a: 1 }, 'x']]);
    });

    it('that are a JSON string of an object are unwrapped once', () => {
      expect(argumentsOf('"{\\"city\\":', ' \\"Oslo\\"}"')).toEqual({ city: 'Oslo' });
    });

    it.each([
      ['command": "ls"}'],
      ['{"a":1'],
      ['[1,2]'],
      ['12'],
      ['{"a":1}{"a":2}'],
      ['"text"'],
      ['"\\"{}\\""'],
      ['{"a":NaN}'],
    ])('that are no JSON object (%s) keep their text and say so', (raw) => {
      expect(argumentsOf(raw)).toEqual({ _raw: raw, _error: 'invalid_json' });
    });

    it('called __proto__ or constructor are ordinary keys', () => {
      const args = argumentsOf('{"__proto__":{"x":1},"constructor":2}') as JsonObject;
      expect(Object.entries(args)).toEqual([
        ['__proto__', { x: 1 }],
        ['constructor', 2],
      ]);
      expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    });
  });

  describe('the end', () => {
    const whole = { index: 0, id: 'x', name: 'f', arguments: '{"a":1}' };
    const half = { index: 1, id: 'y', name: 'f', arguments: '{"a":' };

    it.each<FinishReason>(['length', 'contentFilter', 'error'])(
      'with %s exposes what is whole, and nothing that was cut',
      (reason) => {
        expect(callsOf([whole, half], reason)).toEqual([['f', { a: 1 }, 'x']]);
        expect(callsOf([whole, { index: 1, id: 'y', name: 'f' }], reason)).toEqual([['f', { a: 1 }, 'x']]);
      },
    );

    it.each<[FinishReason, FinishReason]>([
      ['stop', 'toolCalls'],
      ['unspecified', 'toolCalls'],
      ['length', 'length'],
      ['other', 'other'],
    ])('with %s and calls is %s', (reason, expected) => {
      const { values } = observe(of(fragment(whole), finish(reason)).pipe(accumulateToolCalls()));
      expect(values.at(-1)).toEqual({ type: 'finish', reason: expected });
    });

    it('with stop and no calls stays stop, usage and all, the very object', () => {
      const stop: Chunk = { type: 'finish', reason: 'stop', usage: { input: 1 } };
      expect(observe(of(stop).pipe(accumulateToolCalls())).values[0]).toBe(stop);
    });

    it.each([
      ['a completion without finish', EMPTY],
      ['an error', throwError(() => new Error('reset'))],
    ])('%s exposes no call', (_, end) => {
      expect(observe(concat(of(fragment(whole)), end).pipe(accumulateToolCalls())).values).toEqual([]);
    });
  });

  it('emits marked calls at their mark, each once, in the order in which they began', () => {
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

  it('waits for the arguments of an id-less call that has none until the next named call', () => {
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

  it('keeps what the provider must get back with its call', () => {
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

  it('starts over on retract', () => {
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

  it('lets fragments through as well when asked to, each told of its call, before the call itself', () => {
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

  it('gives the same calls for any cut of the arguments and any interleaving of the calls', () => {
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
          const pieces = [0, ...at].map((from, i) => text.slice(from, [...at, text.length][i]));
          return [{ index, id: `id${index}`, name }, ...pieces.map((piece): Bare => ({ index, arguments: piece }))];
        });
        const fragments: Bare[] = queues.map((queue) => queue.shift()!);
        for (const pick of order) fragments.push(...(queues[pick % queues.length]?.splice(0, 1) ?? []));
        fragments.push(...queues.flat());
        expect(callsOf(fragments)).toEqual(
          calls.map(({ name, args }, index) => [name, JSON.parse(JSON.stringify(args)) as JsonObject, `id${index}`]),
        );
      }),
    );
  });

  it('never throws, whatever the fragments, and every id is unique', () => {
    const bare = fc.record(
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
      fc.property(fc.array(bare), fc.constantFrom<FinishReason>('stop', 'length'), (fragments, reason) => {
        const calls = callsOf(fragments, reason);
        const ids = calls.map(([, , id]) => id);
        expect(new Set(ids).size).toBe(ids.length);
        for (const [name, , id] of calls) expect(name !== '' && id !== '' && id !== 'null').toBe(true);
      }),
    );
  });

  it('keeps the types: fragments leave, calls enter, own events stay', () => {
    interface Mine extends StreamEvent {
      readonly type: 'mine';
      readonly n: number;
    }
    const { values } = observe(of<(Mine | Chunk)[]>({ type: 'mine', n: 1 }).pipe(accumulateToolCalls()));
    const first: Exclude<Chunk, ToolCallFragment> | ToolCallEvent | Mine | undefined = values[0];
    expect(first?.type === 'mine' ? first.n : undefined).toBe(1);
  });
});
