import { describe, expect, it } from '@jest/globals';
import { Subject, concat, from, lastValueFrom, map, of, repeat, retry, take, throwError, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { DeepPartial } from '../../lib/core/json/partialJson.js';
import type { RunEvent, StreamEvent } from '../../lib/core/event.js';
import { tool } from '../../lib/core/tool.js';
import { partialOutput } from '../../lib/operators/partialOutput.js';
import { toolCall, scriptedModel } from '../../lib/testing/index.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { typed } from '../../lib/agent/typed.js';
import { diagram } from '../support/diagram.js';
import { countedSource, observe } from '../support/observe.js';

const text = (value: string): RunEvent => ({ type: 'text', text: value });
const turn = (n: number, output?: unknown): RunEvent => ({
  type: 'turn',
  turn: n,
  finishReason: 'stop',
  ...(output === undefined ? {} : { output }),
});
const schema = z.object({ city: z.string(), degrees: z.number() });
const burst = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('partialOutput', () => {
  it('partialOutput emits one snapshot per burst, and the validated output last', () =>
    diagram('partialOutput', ({ source }) => source.pipe(partialOutput())));

  it.each(
    operatorContract(partialOutput(), { source: [text('{"a":'), text('1}'), turn(1, { a: 1 })], passThrough: false }),
  )('partialOutput $title', ({ run }) => run());

  it('partialOutput ignores prose and thinking, and emits no snapshot twice', () => {
    const events: RunEvent[] = [
      text('Let me see.'),
      turn(1),
      { type: 'thinking', text: '{"a":1}' },
      text('\n'),
      text('{"a":'),
      text('1}'),
      turn(2, { a: 1 }),
    ];
    expect(observe(from(events).pipe(partialOutput())).values).toEqual([{ a: 1 }]);
    expect(observe(of(text('5 degrees in Oslo.')).pipe(partialOutput())).values).toEqual([]);
  });

  it('partialOutput emits nothing for a turn without JSON after another turn', () => {
    const events: RunEvent[] = [text('{"a":1}'), turn(1), text('\n'), turn(2), text('Done.'), turn(3)];
    expect(observe(from(events).pipe(partialOutput())).values).toStrictEqual([{ a: 1 }]);
  });

  it('partialOutput emits no snapshot for text that adds nothing to the value', async () => {
    const source = new Subject<StreamEvent>();
    const { values } = observe(source.pipe(partialOutput()));
    for (const delta of ['[[1]', ' ', '\n']) {
      source.next(text(delta));
      await burst();
    }
    expect(values).toEqual([[[1]]]);
  });

  it('partialOutput starts again in a new turn (a repaired response) and on retract', () => {
    const events: RunEvent[] = [
      text('{"a":1'),
      { type: 'retract' },
      text('{"a":2}'),
      turn(1),
      text('{"a":3}'),
      turn(2, { a: 3 }),
    ];
    expect(observe(from(events).pipe(partialOutput())).values).toEqual([{ a: 2 }, { a: 3 }]);
  });

  it('partialOutput emits the last snapshot before an error or the completion', () => {
    const failure = new Error('reset');
    const cut = concat(
      of(text('{"city":"Os')),
      throwError(() => failure),
    );
    expect(observe(cut.pipe(partialOutput()))).toMatchObject({ values: [{ city: 'Os' }], error: failure });
    expect(observe(of(text('17')).pipe(partialOutput()))).toMatchObject({ values: [17], completed: true });
  });

  it('partialOutput delays the snapshot of a long open array until it is due, but no longer than 100 ms', () => {
    const list = `[${Array.from({ length: 500 }, (_, index) => index).join(',')}`;
    const values = { a: text(list), b: text(',1'), c: text(',2'), d: text(`,"${'long'.repeat(200)}"`) };
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(
      ({ hot, expectObservable, expectSubscriptions }) => {
        const source = hot<StreamEvent>('-a-b-c- 200ms d', values);
        const lengths = source.pipe(
          partialOutput<unknown[]>(),
          map((snapshot) => snapshot.length),
        );
        // `a` is due. `b` and `c` add too few characters and are emitted together 100 ms after `b`. `d` adds enough.
        expectObservable(lengths, '^ 300ms !').toBe('-a- 100ms b 103ms d', { a: 499, b: 501, d: 503 });
        expectSubscriptions(source.subscriptions).toBe('^ 300ms !');
      },
    );
  });

  it('partialOutput unsubscribes in the same tick and drops a snapshot that is due', async () => {
    const source = new Subject<StreamEvent>();
    const { values, subscription } = observe(source.pipe(partialOutput()));
    source.next(text('{"a":"b'));
    subscription.unsubscribe();
    expect(source.observed).toBe(false);
    await burst();
    expect(values).toEqual([]);
  });

  it('partialOutput emits a snapshot in the macrotask of its burst', async () => {
    const source = new Subject<StreamEvent>();
    const { values } = observe(source.pipe(partialOutput()));
    for (const delta of ['{"a"', ':"b', 'c']) source.next(text(delta));
    expect(values).toEqual([]);
    await Promise.resolve();
    expect(values).toEqual([{ a: 'bc' }]);
  });

  it('partialOutput stops a synchronous source at take', () => {
    const { count, source } = countedSource(() => turn(1, { a: 1 }));
    expect(observe(source.pipe(partialOutput(), take(1))).values).toEqual([{ a: 1 }]);
    expect(count).toEqual({ pulled: 1, subscribed: 1, torndown: 1 });
  });

  it('partialOutput keeps separate state per subscription', () => {
    const once = from([text('{"a":1}'), turn(1)]).pipe(partialOutput());
    expect(observe(once.pipe(repeat(2))).values).toEqual([{ a: 1 }, { a: 1 }]);
    const failing = concat(
      of(text('{"a":1')),
      throwError(() => new Error('once')),
    ).pipe(partialOutput(), retry(1));
    expect(observe(failing)).toMatchObject({ values: [{}, {}] });
  });

  it('partialOutput emits the output of a run with tools, with an output tool and with a repair', async () => {
    const clock = tool({ name: 'clock', description: 'The time.', execute: () => 12 });
    const script = [['Looking. ', toolCall('clock')], '```json\n{"city": 5}\n```', '{"city": "Oslo", "degrees": 5}'];
    const native = createAgent({ model: scriptedModel(script), tools: [clock], output: typed(schema) });
    expect(observe(native.stream('?').pipe(partialOutput())).values).toEqual([
      { city: 5 },
      { city: 'Oslo', degrees: 5 },
    ]);
    const byTool = scriptedModel([[toolCall('return_result', { city: 'Oslo', degrees: 5 })]], {
      capabilities: { tools: true, typedOutput: false },
    });
    expect(
      await lastValueFrom(
        createAgent({ model: byTool, output: typed(schema) })
          .stream('?')
          .pipe(partialOutput(), toArray()),
      ),
    ).toEqual([{ city: 'Oslo', degrees: 5 }]);
  });

  it('partialOutput has the type of the run, or the given type', () => {
    const agent = createAgent({
      model: scriptedModel([]),
      output: typed(z.object({ kind: z.enum(['a', 'b']), list: z.array(z.object({ n: z.number() })) })),
    });
    const withTypes: (partial: {
      readonly kind?: string;
      readonly list?: readonly { readonly n?: number }[];
    }) => unknown = () => 0;
    const inferred = () => agent.stream('?').pipe(partialOutput(), map(withTypes));
    const numbers = ({ list }: { readonly list?: readonly number[] }) => list;
    // @ts-expect-error -- an element of the list is an object
    const wrong = () => agent.stream('?').pipe(partialOutput(), map(numbers));
    const given = () =>
      from<StreamEvent[]>([]).pipe(
        partialOutput<{ a: string[] }>(),
        map(({ a }) => a?.[0]?.length),
      );
    const unknownStays: DeepPartial<unknown> = 1;
    expect([typeof inferred, typeof wrong, typeof given, unknownStays]).toEqual([
      'function',
      'function',
      'function',
      1,
    ]);
  });
});
