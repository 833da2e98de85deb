import { NEVER, Observable, Subject, concat, defer, finalize, from, repeat, retry, take, tap, throwError } from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import { expectSame, record } from './operatorContract/record.js';
import { oneByOne, textCases } from './operatorContract/textCases.js';
import type { Plain } from '../core/typesOf.js';

/** One check of the operator contract, for any test runner. */
export interface OperatorContractCase {
  /** A sentence without its subject: `passes unknown events through`. */
  readonly title: string;
  /** Synchronous. Throws an Error that says what was expected and what happened. */
  readonly run: () => void;
}

export interface OperatorContractOptions<In extends StreamEvent> {
  /** The events of one ordinary turn. The operator must emit something for them, and the same at each subscription. */
  readonly source: readonly In[];
  /**
   * Whether the operator passes events through that it does not know. `false` for an operator that emits values of its
   * own. Default: true.
   */
  readonly passThrough?: boolean;
}

/**
 * Returns the checks that every operator over chunks or events must pass, one test case each.
 *
 * <span class="informal">Run them in the spec of your own operator. `createOperator` fulfils most of them.</span>
 *
 * The cases cover what a spec of the operator's function tends to miss:
 * - unknown events pass through, unchanged and in order;
 * - text that is held back is emitted before an event that has a position in the text, such as a tool call or the
 *   `finish` (which a stop is, too), and before an error and the completion;
 * - metadata and retries do not cut that text, and not all of it waits for the end of the turn;
 * - `retract` starts the turn over;
 * - a subscriber that is already closed subscribes nothing (operators of RxJS do subscribe then: begin with
 *   `createOperator`);
 * - `take(1)` pulls no more of a synchronous source than the first output needs;
 * - an exception inside the operator becomes an error notification, and the source is unsubscribed;
 * - an error of the source is passed on, after everything that was emitted;
 * - an event is emitted in the same call in which it arrives, and unsubscribing unsubscribes the source;
 * - state belongs to one subscription: a second subscription, one at the same time, one after another has left within
 *   a turn, `repeat` and `retry` emit the same;
 * - the source is torn down before what was added downstream.
 *
 * All cases use the same operator, so state that is shared between subscriptions is found. They need no test framework
 * of a particular kind:
 *
 * ```ts
 * import { test } from 'node:test';
 * import { createOperator } from 'rivulet';
 * import type { StreamEvent } from 'rivulet';
 * import { operatorContract } from 'rivulet/testing';
 *
 * const maxTexts = (limit: number) =>
 *   createOperator<StreamEvent, StreamEvent>((out) => {
 *     let texts = 0;
 *     return {
 *       next(event) {
 *         if (event.type === 'retract') texts = 0; // the turn starts over
 *         if (event.type !== 'text' || ++texts <= limit) out.next(event);
 *       },
 *     };
 *   });
 *
 * const source = [{ type: 'text' }, { type: 'text' }, { type: 'finish' }];
 * for (const { title, run } of operatorContract(maxTexts(1), { source })) test(`maxTexts ${title}`, run);
 * ```
 *
 * With jest or vitest, use their `it` instead of `test`.
 *
 * @param operator The operator under test.
 * @param options `source`: the events of one turn; `passThrough`: false for an operator that emits values of its own.
 * @returns The cases. Each is independent of the others.
 */
export function operatorContract<In extends StreamEvent, Out>(
  operator: OperatorFunction<In, Out>,
  { source, passThrough = true }: OperatorContractOptions<In>,
): readonly Plain<OperatorContractCase>[] {
  const input = passThrough ? [unknown as StreamEvent as In] : source;
  const tested = { operator, source, input, passThrough };
  const all = {
    ...(passThrough ? { ...eventCases(tested), ...textCases(operator as unknown as TextOperator, source) } : {}),
    ...subscriptionCases(tested),
    ...errorCases(tested),
    ...repetitionCases(tested),
  };
  return Object.entries(all).map(([title, run]) => ({ title, run }));
}

type Cases = Readonly<Record<string, () => void>>;

interface UnderTest<In extends StreamEvent> extends Required<OperatorContractOptions<In>> {
  readonly operator: OperatorFunction<In, unknown>;
  readonly input: readonly In[];
}

const unknown = { type: 'unknownToTheOperator', data: { nested: [1] } };

function subscriptionCases<In extends StreamEvent>({ operator, input, passThrough }: UnderTest<In>): Cases {
  return {
    'subscribes nothing if its subscriber is already closed': () => {
      const { counts, events } = endless(input);
      record(
        new Observable((closed) => {
          closed.complete();
          events.pipe(operator).subscribe(closed);
        }),
      );
      expectSame('subscriptions to the source', counts.subscribed, 0);
    },

    'pulls no more than it needs under take(1), and tears the source down': () => {
      const { counts, events } = endless(input);
      let pulledForFirst = 0;
      const { values } = record(
        events.pipe(
          operator,
          tap(() => (pulledForFirst = counts.pulled)),
          take(1),
        ),
      );
      expectSame('number of values', values.length, 1);
      expectSame('counts of the source', counts, { subscribed: 1, pulled: pulledForFirst, tornDown: 1 });
      if (passThrough) expectSame('events pulled for the first value', pulledForFirst, 1);
    },

    'emits in the call in which an event arrives, and unsubscribes its source': () => {
      const events = new Subject<In>();
      const { values, subscription } = record(events.pipe(operator));
      for (const event of input) events.next(event);
      expectSame('something is emitted', values.length > 0, true);
      subscription.unsubscribe();
      expectSame('the source is observed', events.observed, false);
    },

    'tears the source down before what was added downstream': () => {
      for (const end of ['complete', 'error', 'unsubscribe'] as const) {
        const order: string[] = [];
        const events = new Subject<In>();
        const { subscription } = record(
          events.pipe(
            finalize(() => order.push('source')),
            operator,
            finalize(() => order.push('downstream')),
          ),
        );
        if (end === 'complete') events.complete();
        else if (end === 'error') events.error(new Error('connection reset'));
        else subscription.unsubscribe();
        expectSame(`order of teardown on ${end}`, order, ['source', 'downstream']);
      }
    },
  };
}

function errorCases<In extends StreamEvent>({ operator, input }: UnderTest<In>): Cases {
  return {
    'reports an exception as an error notification, and unsubscribes the source': () => {
      const failure = new Error('the getter of `type` threw');
      const unreadable = {
        get type(): string {
          throw failure;
        },
      } as In;
      let unsubscribed = false;
      const events = concat(from([...input, unreadable]), NEVER).pipe(finalize(() => (unsubscribed = true)));
      const { values, error } = record(events.pipe(operator));
      if (values.includes(unreadable)) return; // passed through without being read
      expectSame('the error is notified', error === failure, true);
      expectSame('the source is unsubscribed', unsubscribed, true);
    },

    'passes an error of the source on, after everything that was emitted': () => {
      const failure = new Error('connection reset');
      const failing = concat(
        from(input),
        throwError(() => failure),
      );
      const { values, error } = record(failing.pipe(operator));
      expectSame('the error is passed on', error === failure, true);
      expectSame('values before the error', values, record(concat(from(input), NEVER).pipe(operator)).values);
    },
  };
}

function repetitionCases<In extends StreamEvent>({ operator, source, passThrough }: UnderTest<In>): Cases {
  return {
    'emits the same at a second subscription, and under repeat': () => {
      const turn = from(source).pipe(operator);
      const { values } = record(turn);
      expectSame('something is emitted', values.length > 0, true);
      expectSame('values of the second subscription', record(turn).values, values);
      expectSame('values under repeat(2)', record(turn.pipe(repeat(2))).values, [...values, ...values]);
    },

    'shares no state with another subscription': () => {
      const turns = passThrough ? [source, oneByOne(source) as unknown as readonly In[]] : [source];
      for (const events of turns) {
        const { values } = record(from(events).pipe(operator));
        const subjects = Array.from({ length: 3 }, () => new Subject<In>());
        const [first, second, left] = subjects.map((subject) => record(subject.pipe(operator)));
        events.forEach((event, index) => {
          for (const subject of subjects) subject.next(event);
          if (index === Math.floor((events.length - 1) / 2)) left?.subscription.unsubscribe();
        });
        for (const subject of subjects) subject.complete();
        expectSame('values of the first of two subscriptions at the same time', first?.values, values);
        expectSame('values of the second of two subscriptions at the same time', second?.values, values);
        leaveWithin(events, operator);
        expectSame(
          'values after another subscription has left a turn',
          record(from(events).pipe(operator)).values,
          values,
        );
      }
    },

    'emits the same again under retry': () => {
      const { values } = record(from(source).pipe(operator));
      expectSame('something is emitted', values.length > 0, true);
      let attempts = 0;
      const failingOnce = defer(() => {
        attempts += 1;
        return attempts === 1
          ? concat(
              from(source.slice(0, -1)),
              throwError(() => new Error('first attempt')),
            )
          : from(source);
      });
      const retried = record(failingOnce.pipe(operator, retry(1)));
      expectSame('values of the second attempt', retried.values.slice(-values.length), values);
    },
  };
}

function eventCases<In extends StreamEvent>({ operator, source }: UnderTest<In>): Cases {
  return {
    'passes unknown events through, unchanged and in order': () => {
      const events = [unknown, { type: 'alsoUnknown' }, unknown] as readonly StreamEvent[] as readonly In[];
      const { values, completed } = record(from(events).pipe(operator));
      expectSame('values', values, events);
      expectSame(
        'the objects are the same',
        values.every((value, at) => Object.is(value, events[at])),
        true,
      );
      expectSame('the output completes', completed, true);
    },

    'starts the turn over on retract': () => {
      const retract = { type: 'retract' } as StreamEvent as In;
      const { values } = record(from([...source.slice(0, -1), retract, ...source]).pipe(operator));
      const at = values.lastIndexOf(retract);
      expectSame('the retract passes', at >= 0, true);
      expectSame('values after the retract', values.slice(at + 1), record(from(source).pipe(operator)).values);
    },
  };
}

type TextOperator = OperatorFunction<StreamEvent, StreamEvent>;

function leaveWithin<In>(events: readonly In[], operator: OperatorFunction<In, unknown>): void {
  events.forEach((_, count) => {
    record(concat(from(events.slice(0, count)), NEVER).pipe(operator)).subscription.unsubscribe();
  });
}

/** It counts what is done to it, and ends for an operator that never unsubscribes. */
function endless<In>(events: readonly In[]) {
  const counts = { subscribed: 0, pulled: 0, tornDown: 0 };
  const source = new Observable<In>((out) => {
    counts.subscribed += 1;
    while (!out.closed && counts.pulled < 100_000) {
      const event = events[counts.pulled % events.length];
      counts.pulled += 1;
      if (event !== undefined) out.next(event);
    }
    return () => (counts.tornDown += 1);
  });
  return { counts, events: source };
}
