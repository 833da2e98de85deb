import { describe, expect, it } from '@jest/globals';
import { Observable, concatMap, delay, filter, map, of } from 'rxjs';
import type { OperatorFunction, Subscriber } from 'rxjs';
import { createOperator } from '../../lib/core/createOperator.js';
import type { OperatorHandlers } from '../../lib/core/createOperator.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';

type Operator = OperatorFunction<StreamEvent, StreamEvent>;

const source: readonly StreamEvent[] = [{ type: 'text' }, { type: 'finish' }];
const isString = (value: unknown): boolean => typeof value === 'string';

/** A correct operator: it reads the type of each event, and counts events per subscription. */
const correct: Operator = createOperator((out) => {
  let count = 0;
  return {
    next(event) {
      if (event.type === 'retract') count = 0;
      count += isString(event.type) && event.type !== 'retract' ? 1 : 0;
      out.next(event.type === 'finish' ? ({ ...event, count } as StreamEvent) : event);
    },
  };
});

/** The operator of the doc comment's example. */
const maxTexts = (limit: number) =>
  createOperator<StreamEvent, StreamEvent>((out) => {
    let texts = 0;
    return {
      next(event) {
        if (event.type === 'retract') texts = 0;
        if (event.type !== 'text' || ++texts <= limit) out.next(event);
      },
    };
  });

/** The form that createOperator replaces. */
const bare =
  (next: (out: Subscriber<StreamEvent>, event: StreamEvent) => void): Operator =>
  (events) =>
    new Observable((out) =>
      events.subscribe({
        next: (event) => next(out, event),
        error: (error: unknown) => out.error(error),
        complete: () => out.complete(),
      }),
    );

/** Does not tie the source's subscription to the output. */
const detached: Operator = (events) =>
  new Observable((out) => {
    events.subscribe({
      next: (event) => out.next(event),
      error: (error: unknown) => out.error(error),
      complete: () => out.complete(),
    });
  });

const countedForAll = (): Operator => {
  let count = 0;
  return map((event) => (event.type === 'finish' ? ({ ...event, count: ++count } as StreamEvent) : event));
};

/** Emits each text when the next one arrives, and the last one at the end. */
function lateText(ends: (flush: () => void, out: Subscriber<StreamEvent>) => Partial<OperatorHandlers<StreamEvent>>) {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    let held: StreamEvent | undefined;
    const flush = () => {
      if (held) out.next(held);
      held = undefined;
    };
    return {
      next(event) {
        if (event.type !== 'text') {
          if (event.type === 'retract') held = undefined;
          out.next(event);
          return;
        }
        flush();
        held = event;
      },
      ...ends(flush, out),
    };
  });
}

/** Operators that break the contract, by the title of the case that finds them. */
const broken: Readonly<Record<string, Operator>> = {
  'passes unknown events through, unchanged and in order': filter(({ type }) => ['text', 'finish'].includes(type)),
  'starts the turn over on retract': createOperator((out) => {
    let count = 0;
    return {
      next: (event) => out.next(event.type === 'finish' ? ({ ...event, count } as StreamEvent) : (count++, event)),
    };
  }),
  'loses no text that it holds when a stop ends its source': lateText((flush, out) => ({
    complete() {
      flush();
      out.complete();
    },
  })),
  'ends the output with the finish': lateText((flush, out) => ({
    complete() {
      flush();
      out.complete();
    },
    release: flush,
  })),
  'subscribes nothing if its subscriber is already closed': map((event) => event),
  'pulls no more than it needs under take(1), and tears the source down': bare((out, event) => out.next(event)),
  'reports an exception as an error notification, and unsubscribes the source': createOperator((out) => ({
    next(event) {
      try {
        if (isString(event.type)) out.next(event);
      } catch {
        out.complete();
      }
    },
  })),
  'passes an error of the source on, after everything that was emitted': createOperator((out) => ({
    next: (event) => out.next(event),
    error: () => out.complete(),
  })),
  'emits in the call in which an event arrives, and unsubscribes its source': concatMap((event) =>
    of(event).pipe(delay(1)),
  ),
  'emits the same at a second subscription, and under repeat': countedForAll(),
  'emits the same again under retry': countedForAll(),
  'tears the source down before what was added downstream': detached,
};

describe('operatorContract', () => {
  const cases = operatorContract(correct, { source });

  it.each(cases)('operatorContract passes a correct operator: it $title', ({ run }) => expect(run).not.toThrow());

  it.each(operatorContract(maxTexts(1), { source: [{ type: 'text' }, { type: 'text' }, { type: 'finish' }] }))(
    'operatorContract passes the operator of its example: it $title',
    ({ run }) => expect(run).not.toThrow(),
  );

  it('operatorContract accepts an operator that emits values of its own with passThrough: false', () => {
    const types: OperatorFunction<StreamEvent, string> = createOperator((out) => ({
      next: ({ type }) => (type === 'text' ? out.next(type) : undefined),
    }));
    const failing = (passThrough: boolean) =>
      operatorContract(types, { source, passThrough }).filter(({ run }) => {
        try {
          run();
          return false;
        } catch {
          return true;
        }
      });
    expect(failing(true)).not.toEqual([]);
    expect(failing(false)).toEqual([]);
  });

  it('operatorContract fails an operator that emits nothing', () => {
    const silent = operatorContract(
      createOperator<StreamEvent, StreamEvent>(() => ({ next: () => undefined })),
      { source },
    );
    const emitting = silent.filter(({ title }) => title.startsWith('emits'));
    expect(emitting).toHaveLength(3);
    for (const { run } of emitting) expect(run).toThrow('something is emitted');
  });

  it.each(Object.entries(broken))('operatorContract fails an operator that breaks the case "%s"', (title, operator) => {
    const run = operatorContract(operator, { source }).find((one) => one.title === title)?.run;
    expect(run).toThrow('The operator breaks its contract');
  });

  it('operatorContract has a broken operator in this spec for each of its cases', () => {
    expect(Object.keys(broken)).toEqual(cases.map(({ title }) => title));
  });
});
