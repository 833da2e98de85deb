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

interface TextEvent extends StreamEvent {
  readonly text?: string;
}

const textEvent = (text: string): StreamEvent => ({ type: 'text', text }) as TextEvent;

const notices: readonly string[] = ['metadata', 'retry'];

/** Parts of an operator that holds the last text back. */
interface LateTextParts extends Partial<OperatorHandlers<StreamEvent>> {
  /** Before which types of events it emits what it holds. */
  readonly isContent?: (type: string) => boolean;
  /** How many characters it emits when a text arrives. */
  readonly decided?: (text: string) => number;
}

/**
 * An operator that holds the last character of the text back, and fulfils the contract. `parts` change it; with `shared`,
 * its subscriptions share their state.
 */
function lateText(
  parts: (flush: () => void, out: Subscriber<StreamEvent>) => LateTextParts = () => ({}),
  shared?: { text: string },
): Operator {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    const held = shared ?? { text: '' };
    const emit = (text: string) => {
      if (text !== '') out.next(textEvent(text));
    };
    const flush = () => {
      const { text } = held;
      held.text = '';
      emit(text);
    };
    const {
      isContent = (type: string) => !notices.includes(type) && type !== 'retract',
      decided = (text: string) => text.length - 1,
      ...handlers
    } = parts(flush, out);
    return {
      next(event: TextEvent) {
        if (event.type === 'text') {
          const all = held.text + (event.text ?? '');
          held.text = all.slice(decided(all));
          emit(all.slice(0, all.length - held.text.length));
          return;
        }
        if (isContent(event.type)) flush();
        if (event.type === 'retract') held.text = '';
        out.next(event);
      },
      error(thrown) {
        flush();
        out.error(thrown);
      },
      complete() {
        flush();
        out.complete();
      },
      ...handlers,
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
  'loses no text that it holds when a stop ends its source': lateText(() => ({
    isContent: (type) => type !== 'finish' && !notices.includes(type) && type !== 'retract',
  })),
  'loses no text that it holds when its source fails': lateText((_flush, out) => ({
    error: (thrown) => out.error(thrown),
  })),
  'loses no text that it holds when its source completes': lateText((_flush, out) => ({
    complete: () => out.complete(),
  })),
  'keeps the order of text and other content': lateText(() => ({ isContent: (type) => type === 'finish' })),
  'reads a text across metadata and retries': createOperator((out) => {
    let type = '';
    return {
      next(event) {
        // A text after a notice begins with a capital letter.
        const { text = '' } = event as TextEvent;
        out.next(notices.includes(type) && event.type === 'text' ? textEvent(text.toUpperCase()) : event);
        ({ type } = event);
      },
    };
  }),
  'emits text before the end of the turn': lateText(() => ({ decided: () => 0 })),
  'ends the output with the finish': lateText(() => ({
    isContent: (type) => type !== 'finish' && !notices.includes(type) && type !== 'retract',
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
  'shares no state with another subscription': lateText(() => ({}), { text: '' }),
  'emits the same again under retry': countedForAll(),
  'tears the source down before what was added downstream': detached,
};

/** The titles of the cases that an operator breaks. */
const failing = <Out>(operator: OperatorFunction<StreamEvent, Out>, passThrough = true): readonly string[] =>
  operatorContract(operator, { source, passThrough }).flatMap(({ title, run }) => {
    try {
      run();
      return [];
    } catch {
      return [title];
    }
  });

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
    expect(failing(types, true)).not.toEqual([]);
    expect(failing(types, false)).toEqual([]);
  });

  it('operatorContract fails an operator that emits nothing', () => {
    const silent = operatorContract(
      createOperator<StreamEvent, StreamEvent>(() => ({ next: () => undefined })),
      { source },
    );
    const emitting = silent.filter(({ title }) => /^emits (in|the same)/.test(title));
    expect(emitting).toHaveLength(3);
    for (const { run } of emitting) expect(run).toThrow('something is emitted');
  });

  it.each(Object.entries(broken))('operatorContract fails an operator that breaks the case "%s"', (title, operator) => {
    const run = operatorContract(operator, { source }).find((one) => one.title === title)?.run;
    expect(run).toThrow('The operator breaks its contract');
  });

  it.each(operatorContract(lateText(), { source }))(
    'operatorContract passes an operator that holds text back: it $title',
    ({ run }) => expect(run).not.toThrow(),
  );

  it.each([
    [
      'loses no text that it holds when a stop ends its source',
      'at a stop, but "o" at a completion',
      '`next`, before the `finish`',
    ],
    [
      'loses no text that it holds when its source fails',
      'at an error, but "o" at a stop',
      '`error`, before the error',
    ],
    ['loses no text that it holds when its source completes', 'at a completion, but "o" at a stop', '`complete`'],
    [
      'keeps the order of text and other content',
      'at an event "source", but "o" at a stop',
      '`next`, before an event with a position in the text',
    ],
  ])(
    'operatorContract says of an operator that breaks "%s" which handler emits too little',
    (title, ending, handler) => {
      const run = operatorContract(broken[title] ?? correct, { source }).find((one) => one.title === title)?.run;
      expect(run).toThrow(
        `after the text "o", the operator emitted "" ${ending}: emit the text that is held in ${handler}.`,
      );
    },
  );

  it('operatorContract has a broken operator in this spec for each of its cases', () => {
    expect(Object.keys(broken).sort()).toEqual(cases.map(({ title }) => title).sort());
  });
});
