import { describe, expect, it } from '@jest/globals';
import { NEVER, Subject, concat, from, map, of, repeat, take, throwError } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { ToolCallFragment } from '../../lib/core/chunk.js';
import type { StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { tool } from '../../lib/core/tool.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { partialArguments } from '../../lib/operators/partialArguments.js';
import type { PartialArguments } from '../../lib/operators/partialArguments.js';
import { inVirtualTime, playMarbles, toolCall, scriptedModel } from '../../lib/testing/index.js';
import type { Script } from '../../lib/testing/script.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { typed } from '../../lib/agent/typed.js';
import { diagram } from '../support/diagram.js';
import { countedSource, observe } from '../support/observe.js';

const fragment = (index: number, args?: string, more: Partial<ToolCallFragment> = {}): ToolCallFragment => ({
  type: 'toolCallFragment',
  index,
  ...(args === undefined ? {} : { arguments: args }),
  ...more,
});
const complete = (name: string, args: JsonObject, id: string): StreamEvent & ToolCallEvent => ({
  type: 'toolCall',
  id,
  name,
  arguments: args,
});

/** The snapshots of events that arrive as marbles show, as [time, id, arguments]; the run stays open. */
const snapshotsOf = (marbles: string, events: Readonly<Record<string, StreamEvent>>) => {
  const letters = Object.fromEntries(Object.entries(events).map(([letter, event]) => [letter, [event]]));
  const source = () => concat(playMarbles<StreamEvent>(marbles, letters), NEVER);
  return inVirtualTime(() => source().pipe(partialArguments()), 2000).values.map(({ at, value }) => [
    at,
    value.id,
    value.arguments,
  ]);
};

const macrotask = () => new Promise<void>((resolve) => setImmediate(resolve));
const mail = tool({
  name: 'mail',
  description: 'Sends.',
  parameters: z.object({ to: z.string(), body: z.string() }),
  execute: () => 'sent',
});
const clock = tool({ name: 'clock', description: 'The time.', execute: () => 12 });

describe('partialArguments', () => {
  it('partialArguments emits the growing arguments of a call, and the complete arguments with the call', () =>
    diagram('partialArguments', ({ source }) => source.pipe(partialArguments())));

  it.each(
    operatorContract(partialArguments(), {
      source: [
        fragment(0, '{"a":', { name: 'add' }),
        fragment(0, '1}'),
        { type: 'toolCall', id: 'c1', name: 'add', arguments: { a: 1 } } as StreamEvent,
      ],
      passThrough: false,
    }),
  )('partialArguments $title', ({ run }) => run());

  it('partialArguments separates parallel calls, and emits the calls of the given tool only', async () => {
    const source = new Subject<StreamEvent>();
    const all = observe(source.pipe(partialArguments()));
    const mails = observe(source.pipe(partialArguments('mail')));
    source.next(fragment(0, '{"to":"An', { id: 'c1', name: 'mail' }));
    source.next(fragment(1, '{"zone":', { id: 'c2', name: 'clock' }));
    source.next(fragment(0, 'n'));
    await macrotask();
    source.next(fragment(1, '"UT'));
    await macrotask();
    expect(all.values.map(({ id, arguments: args }) => [id, args])).toEqual([
      ['c1', { to: 'Ann' }],
      ['c2', {}],
      ['c2', { zone: 'UT' }],
    ]);
    expect(mails.values.map(({ id }) => id)).toEqual(['c1']);
  });

  it('partialArguments ends with the arguments of the call, including calls without id, objects, and JSON in a string', () => {
    const last = (fragments: readonly ToolCallFragment[]) =>
      observe(
        concat(from(fragments), of({ type: 'finish', reason: 'stop' } as const)).pipe(
          accumulateToolCalls({ fragments: true, newId: () => 'new' }),
          partialArguments(),
        ),
      ).values.at(-1);
    expect(last([fragment(0, '{"a":', { name: 'f' }), fragment(0, '1}')])).toEqual({
      type: 'partialArguments',
      index: 0,
      id: 'new',
      name: 'f',
      arguments: { a: 1 },
    });
    expect(last([toolCall('f', { a: 1 }, 'c1')])).toMatchObject({ id: 'c1', arguments: { a: 1 } });
    expect(last([fragment(0, '"{\\"a\\":1}"', { id: 'c1', name: 'f' })])).toMatchObject({ arguments: { a: 1 } });
    expect(last([fragment(0, '{}', { id: 'c1', name: 'f' }), fragment(0, '{"a":1}')])).toMatchObject({
      arguments: { a: 1 },
    });
  });

  it('partialArguments ends each of several calls with its own arguments, also if a later call ends first', () => {
    const begun = [
      fragment(0, '{"to":"An', { id: 'c1', name: 'mail' }),
      fragment(1, '{"to":"Bo', { id: 'c2', name: 'mail' }),
      fragment(2, '{"zone":', { name: 'clock' }),
      fragment(3, '{"zone":', { name: 'clock' }),
      fragment(4, '{"to":"Ev', { name: 'mail' }),
    ];
    const ends = [
      complete('mail', { to: 'Eva' }, 'c5'),
      complete('mail', { to: 'Bob' }, 'c2'),
      complete('mail', { to: 'Ann' }, 'c1'),
      complete('clock', { zone: 'UTC' }, 'c3'),
      complete('clock', { zone: 'CET' }, 'c4'),
    ];
    for (const order of [ends, [...ends.slice(1), ...ends.slice(0, 1)]]) {
      const { values } = observe(from([...begun, ...order]).pipe(partialArguments()));
      const last = new Map(values.map(({ index, id, arguments: args }) => [index, [id, args]]));
      expect([...last].sort(([a], [b]) => Number(a) - Number(b))).toEqual([
        [0, ['c1', { to: 'Ann' }]],
        [1, ['c2', { to: 'Bob' }]],
        [2, ['c3', { zone: 'UTC' }]],
        [3, ['c4', { zone: 'CET' }]],
        [4, ['c5', { to: 'Eva' }]],
      ]);
    }
  });

  it('partialArguments joins the fields of arguments that arrive as objects', () => {
    const events = {
      a: fragment(0, undefined, { id: 'c1', name: 'mail', arguments: { to: 'Ann' } }),
      b: fragment(0, undefined, { arguments: { body: 'Hi' } }),
    };
    expect(snapshotsOf('a-b', events)).toEqual([
      [0, 'c1', { to: 'Ann' }],
      [2, 'c1', { to: 'Ann', body: 'Hi' }],
    ]);
  });

  it('partialArguments emits nothing until the name of the call is known, and no id until it is known', () => {
    const events = {
      a: fragment(0, '{"a":1}', { id: 'c1' }),
      b: fragment(1, '{"b":1}', { name: 'g' }),
    };
    expect(observe(of(events.a, events.b).pipe(partialArguments())).values).toStrictEqual([
      { type: 'partialArguments', index: 1, name: 'g', arguments: { b: 1 } },
    ]);
  });

  it('partialArguments emits complete arguments again with the call only if the call has another id', () => {
    const begun = fragment(0, '{"a":1}', { name: 'f' });
    const withId: ToolCallFragment = { ...begun, id: 'new' };
    const call = complete('f', { a: 1 }, 'new');
    expect(snapshotsOf('a-b', { a: begun, b: call })).toEqual([
      [0, undefined, { a: 1 }],
      [2, 'new', { a: 1 }],
    ]);
    expect(snapshotsOf('a-b', { a: withId, b: call })).toEqual([[0, 'new', { a: 1 }]]);
  });

  it('partialArguments emits nothing more for a call that has ended', () => {
    const events = {
      a: fragment(0, '{}', { id: 'c1', name: 'f' }),
      b: fragment(0, '{"a":1}'),
      c: complete('f', { a: 1 }, 'c1'),
      d: fragment(0, '{"a":1}', { id: 'c1', name: 'f' }),
    };
    expect(snapshotsOf('a-b-c-d', events)).toEqual([
      [0, 'c1', {}],
      [4, 'c1', { a: 1 }],
    ]);
  });

  it('partialArguments emits the last snapshot with the end of the turn, and the next turn begins with other calls', () => {
    const events = {
      a: fragment(0, '{"a":1', { id: 'c1', name: 'f' }),
      b: fragment(0, '}'),
      t: { type: 'turn' },
      c: fragment(0, '{"b":2}', { id: 'c2', name: 'g' }),
    };
    expect(snapshotsOf('a 9ms (bt)-c', events)).toEqual([
      [0, 'c1', {}],
      [10, 'c1', { a: 1 }],
      [15, 'c2', { b: 2 }],
    ]);
  });

  it('partialArguments emits nothing for a call that is void before its burst has ended', () => {
    const begun = fragment(0, '{"a":1}', { id: 'c1', name: 'f' });
    expect(snapshotsOf('(ab)', { a: begun, b: { type: 'retract' } })).toEqual([]);
  });

  it('partialArguments delays the snapshots of a long list, but each no longer than 100 ms', () => {
    const list = `{"list":[${Array.from({ length: 500 }, (_, index) => index).join(',')}`;
    const events = { a: fragment(0, list, { id: 'c1', name: 'f' }), b: fragment(0, ',1') };
    const times = snapshotsOf('a 9ms b 59ms b 59ms b 59ms b 59ms b 59ms b', events).map(([at]) => at);
    expect(times).toEqual([0, 110, 230, 350]);
  });

  it('partialArguments emits the last snapshot at the end of the turn, at an error and at the completion', () => {
    const begun = fragment(0, '{"a":"b', { id: 'c1', name: 'f' });
    const failure = new Error('reset');
    const shown = { values: [{ arguments: { a: 'b' } }] };
    expect(observe(of(begun).pipe(partialArguments()))).toMatchObject({ ...shown, completed: true });
    expect(observe(of(begun, { type: 'turn' }).pipe(partialArguments()))).toMatchObject(shown);
    const failing = concat(
      of(begun),
      throwError(() => failure),
    );
    expect(observe(failing.pipe(partialArguments()))).toMatchObject({ ...shown, error: failure });
  });

  it('partialArguments drops the calls of a retracted response', () => {
    const events = [
      fragment(0, '{"a":1', { id: 'c1', name: 'f' }),
      { type: 'retract' },
      fragment(0, '{"b":2}', { id: 'c2', name: 'f' }),
    ];
    expect(observe(from(events).pipe(partialArguments())).values).toEqual([
      { type: 'partialArguments', index: 0, id: 'c2', name: 'f', arguments: { b: 2 } },
    ]);
  });

  it('partialArguments unsubscribes in the same tick, stops at take, and keeps separate state per subscription', async () => {
    const subject = new Subject<StreamEvent>();
    const { values, subscription } = observe(subject.pipe(partialArguments()));
    subject.next(fragment(0, '{', { name: 'f' }));
    subscription.unsubscribe();
    expect(subject.observed).toBe(false);
    await macrotask();
    expect(values).toEqual([]);
    const complete: StreamEvent[] = [
      fragment(0, '{}', { id: 'c', name: 'f' }),
      { type: 'toolCall', id: 'c', name: 'f', arguments: {} } as StreamEvent,
    ];
    const { count, source } = countedSource((n) => complete[(n - 1) % 2]!);
    expect(observe(source.pipe(partialArguments(), take(1))).values).toHaveLength(1);
    expect(count).toEqual({ pulled: 2, subscribed: 1, torndown: 1 });
    expect(observe(from(complete).pipe(partialArguments(), repeat(2))).values).toHaveLength(2);
  });

  const script: Script = [
    [fragment(0, '{"to":"Ann","bo', { id: 'c1', name: 'mail' }), fragment(0, 'dy":"Hi"}')],
    [toolCall('return_result', { ok: true })],
  ];

  it.each(['toolLoop', 'typedOutput', 'return_result', 'twoPhase'])(
    'partialArguments emits the arguments of a run with { fragments: true }: %s',
    (kind) => {
      const capabilities = {
        tools: true,
        typedOutput: kind !== 'return_result',
        typedOutputWithTools: kind !== 'twoPhase',
      };
      const output = kind === 'toolLoop' ? undefined : typed(z.object({ ok: z.boolean() }));
      const second = kind === 'return_result' ? script[1] : '{"ok":true}';
      const model = scriptedModel([script[0] as never, second as never, '{"ok":true}'], { capabilities });
      const { values, error } = observe(
        createAgent({ model, tools: [mail, clock], output })
          .stream('?', { fragments: true })
          .pipe(partialArguments(mail)),
      );
      expect(error).toBeUndefined();
      expect(values).toEqual([
        { type: 'partialArguments', index: 0, id: 'c1', name: 'mail', arguments: { to: 'Ann', body: 'Hi' } },
      ]);
    },
  );

  it('a run without { fragments: true } emits no fragments', () => {
    const events = observe(
      createAgent({ model: scriptedModel([script[0] as never, 'Sent.']), tools: [mail] }).stream('?'),
    ).values;
    expect(events.map(({ type }) => type as string)).not.toContain('toolCallFragment');
  });

  it('partialArguments has the types of the tool', () => {
    const typed = () =>
      from<StreamEvent[]>([]).pipe(
        partialArguments(mail),
        map(({ name, arguments: { to } }) => [name satisfies 'mail', to?.length]),
      );
    const toNumber = (call: PartialArguments<{ to: number }>) => call.arguments.to;
    // @ts-expect-error -- `to` is a string
    const wrong = () => from<StreamEvent[]>([]).pipe(partialArguments(mail), map(toNumber));
    expect([typed, wrong]).toHaveLength(2);
  });

  it('a run with fragments: boolean has fragments in its type', () => {
    const agent = createAgent({ model: scriptedModel([script[0] as never, 'Sent.']), tools: [mail] });
    const typesOf = (fragments: boolean) =>
      observe(agent.stream('?', { fragments }).pipe(map((event) => event.type === 'toolCallFragment'))).values;
    // @ts-expect-error -- a run without fragments has no such events
    const wrong = () => agent.stream('?').pipe(map((event) => event.type === 'toolCallFragment'));
    expect([typesOf(true).includes(true), typesOf(false).includes(true), typeof wrong]).toEqual([
      true,
      false,
      'function',
    ]);
  });
});
