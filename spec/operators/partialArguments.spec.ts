import { describe, expect, it } from '@jest/globals';
import { Subject, concat, from, map, of, repeat, take, throwError } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent.js';
import type { ToolCallFragment } from '../../lib/core/chunk.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { tool } from '../../lib/core/tool.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { partialArguments } from '../../lib/operators/partialArguments.js';
import type { PartialArguments } from '../../lib/operators/partialArguments.js';
import { toolCall, scriptedModel } from '../../lib/testing/index.js';
import type { Script } from '../../lib/testing/script.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { typed } from '../../lib/orchestrators/typed.js';
import { diagram } from '../support/diagram.js';
import { countedSource, observe } from '../support/observe.js';

const fragment = (index: number, args?: string, more: Partial<ToolCallFragment> = {}): ToolCallFragment => ({
  type: 'toolCallFragment',
  index,
  ...(args === undefined ? {} : { arguments: args }),
  ...more,
});
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
