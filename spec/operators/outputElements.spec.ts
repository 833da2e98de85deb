import { describe, expect, it } from '@jest/globals';
import { Subject, from, map, of, repeat, take } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { RunEvent, StreamEvent } from '../../lib/core/event.js';
import type { Schema } from '../../lib/core/schema.js';
import { outputElements } from '../../lib/operators/outputElements.js';
import type { OutputElementsOptions } from '../../lib/operators/outputElements.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { typed } from '../../lib/agent/typed.js';
import { diagram } from '../support/diagram.js';
import { countedSource, observe } from '../support/observe.js';

const text = (value: string): RunEvent => ({ type: 'text', text: value });
const turn = (n: number): RunEvent => ({ type: 'turn', turn: n, finishReason: 'stop' });
const retract: RunEvent = { type: 'retract' };
const deltas = (json: string, size = 1): RunEvent[] =>
  (json.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []).map(text);
const valuesOf = (events: readonly RunEvent[], schema?: Schema, options?: OutputElementsOptions) =>
  observe(from(events).pipe(schema ? outputElements(schema, options) : outputElements(undefined, options)));

describe('outputElements', () => {
  it('outputElements emits each element as soon as it is complete', () =>
    diagram('outputElements', ({ source }) => source.pipe(outputElements())));

  it.each(operatorContract(outputElements(), { source: [text('[1,2'), text(',3]'), turn(1)], passThrough: false }))(
    'outputElements $title',
    ({ run }) => run(),
  );

  it.each([1, 2, 3, 7, 1000])(
    'outputElements emits each element once, in order and complete, for deltas of %d characters',
    (size) => {
      const list = [1, 'two', { three: [3] }, [4, []], null, true, {}, -5.5e3];
      expect(valuesOf(deltas(JSON.stringify(list), size)).values).toEqual(list);
      expect(
        valuesOf(deltas(JSON.stringify({ name: 'x', inner: { no: [0] }, list, other: [1] }), size)).values,
      ).toEqual(list);
    },
  );

  it('outputElements reads the array at a path', () => {
    const json = '{"a":[1],"b":{"c":[2,3],"d":[4]}}';
    expect(valuesOf(deltas(json), undefined, { path: ['b', 'c'] }).values).toEqual([2, 3]);
    expect(valuesOf(deltas(json), undefined, { path: 'a' }).values).toEqual([1]);
    expect(valuesOf(deltas('[5,6]'), undefined, { path: [] }).values).toEqual([5, 6]);
    expect(valuesOf(deltas(json), undefined, { path: ['b', '__proto__'] }).values).toEqual([]);
  });

  it('outputElements emits what the schema returns, in order, even if it returns a Promise', async () => {
    expect(
      valuesOf(
        deltas('[1,2]'),
        z.number().transform((n) => `no. ${n}`),
      ).values,
    ).toEqual(['no. 1', 'no. 2']);
    const late = z.number().refine(async (n) => n > 0);
    const done = await new Promise((resolve) => {
      const values: number[] = [];
      from(deltas('[3,1]'))
        .pipe(outputElements(late))
        .subscribe({ next: (value) => values.push(value), complete: () => resolve(values) });
    });
    expect(done).toEqual([3, 1]);
  });

  it('outputElements fails after an invalid element, with its index and the reason, if no other response follows', () => {
    const { values, error } = valuesOf([...deltas('[1,"2",3]'), turn(1)], z.number());
    expect(values).toEqual([1]);
    expect(error).toMatchObject({
      code: 'element',
      index: 1,
      element: '2',
      message: expect.stringContaining('Element 1 is not valid: '),
    });
  });

  it('outputElements continues with the repaired response and repeats no element', () => {
    const repaired = valuesOf([...deltas('[1,"2",3]'), turn(1), ...deltas('[1,2,3]'), turn(2)], z.number());
    expect(repaired).toMatchObject({ values: [1, 2, 3], error: undefined, completed: true });
    const empty = valuesOf([...deltas('["2"'), turn(1), ...deltas('[]'), turn(2)], z.number());
    expect(empty).toMatchObject({ values: [], error: undefined, completed: true });
  });

  it('outputElements starts again on retract', () => {
    expect(valuesOf([...deltas('[1,"x"'), retract, ...deltas('[1,2]'), turn(1)], z.number())).toMatchObject({
      values: [1, 2],
      error: undefined,
    });
    expect(valuesOf([...deltas('[1,"x"'), retract], z.number())).toMatchObject({
      values: [1],
      error: undefined,
      completed: true,
    });
  });

  it('outputElements emits an element of the new response that differs from the one at its index', () => {
    const both = valuesOf([...deltas('[1,2'), retract, ...deltas('[1,3,null]'), turn(1)]);
    expect(both).toMatchObject({ values: [1, 3, null], error: undefined });
    expect(valuesOf([...deltas('[1,2]'), turn(1), ...deltas('[2,2]'), turn(2)]).values).toEqual([1, 2, 2]);
  });

  it('outputElements emits nothing for text that is not JSON, and the complete elements of an array that becomes invalid', () => {
    expect(valuesOf([text('Here are some: [1, 2]'), turn(1)])).toMatchObject({ values: [], completed: true });
    expect(valuesOf(deltas('[1,2,?,3]'))).toMatchObject({ values: [1, 2], completed: true });
  });

  it('outputElements emits synchronously when an element ends, and unsubscribes in the same tick', () => {
    const source = new Subject<StreamEvent>();
    const { values, subscription } = observe(source.pipe(outputElements()));
    source.next(text('[1,'));
    expect(values).toEqual([1]);
    subscription.unsubscribe();
    expect(source.observed).toBe(false);
  });

  it('outputElements stops a synchronous source at take, and keeps separate state per subscription', () => {
    const { count, source } = countedSource(() => text('[1,2,3,'));
    expect(observe(source.pipe(outputElements(), take(2))).values).toEqual([1, 2]);
    expect(count).toEqual({ pulled: 1, subscribed: 1, torndown: 1 });
    expect(observe(of(text('[1]')).pipe(outputElements(), repeat(2))).values).toEqual([1, 1]);
  });

  it('outputElements emits the elements of a typed run with the type of the schema', () => {
    const river = z.object({ name: z.string() });
    const agent = createAgent({
      model: scriptedModel(['{"rivers":[{"name":"Don"},{"name":"Po"}]}']),
      output: typed(z.object({ rivers: z.array(river) })),
    });
    const names = agent.stream('?').pipe(
      outputElements(river),
      map(({ name }) => name.toUpperCase()),
    );
    expect(observe(names).values).toEqual(['DON', 'PO']);
    const measured = (list: { readonly length: number }) => list.length;
    // @ts-expect-error -- a river has no length
    const wrong = () => agent.stream('?').pipe(outputElements(river), map(measured));
    expect(wrong).toBeDefined();
  });

  it('outputElements does not fail for an invalid element of a run that was stopped', () => {
    const stopped: RunEvent = { type: 'turn', turn: 1, finishReason: 'stopped' };
    const log = valuesOf([text('[1,"x",'), stopped], z.number());
    expect([log.values, log.completed, log.error]).toEqual([[1], true, undefined]);
  });
});
