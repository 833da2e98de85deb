import {
  NEVER,
  Observable,
  Subject,
  concat,
  defer,
  finalize,
  from,
  of,
  repeat,
  retry,
  take,
  tap,
  throwError,
} from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import { isSameJson } from '../core/json/equal.js';
import type { StreamEvent } from '../core/event.js';
import { stopOn } from '../operators/stopOn.js';

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
 * - text that is held back is emitted before the `finish`, and before a stop ends the source (`release`);
 * - `retract` starts the turn over;
 * - a subscriber that is already closed subscribes nothing (operators of RxJS do subscribe then: begin with
 *   `createOperator`);
 * - `take(1)` pulls no more of a synchronous source than the first output needs;
 * - an exception inside the operator becomes an error notification, and the source is unsubscribed;
 * - an error of the source is passed on, after everything that was emitted;
 * - an event is emitted in the same call in which it arrives, and unsubscribing unsubscribes the source;
 * - state belongs to one subscription: a second subscription, `repeat` and `retry` emit the same;
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
 * With jest or vitest: `it.each(operatorContract(maxTexts(1), { source }))('maxTexts $title', ({ run }) => run())`.
 *
 * @param operator The operator under test.
 * @param options `source`: the events of one turn; `passThrough`: false for an operator that emits values of its own.
 * @returns The cases. Each is independent of the others.
 */
export function operatorContract<In extends StreamEvent, Out>(
  operator: OperatorFunction<In, Out>,
  { source, passThrough = true }: OperatorContractOptions<In>,
): readonly OperatorContractCase[] {
  const unknown = { type: 'unknownToTheOperator', data: { nested: [1] } } as StreamEvent as In;
  /** Events for which the operator emits something before the source ends. */
  const input: readonly In[] = passThrough ? [unknown] : source;
  const deltas = oneByOne(source);

  const cases: Readonly<Record<string, () => void>> = {
    'subscribes nothing if its subscriber is already closed': () => {
      const { counts, events } = endless(input);
      record(
        new Observable<Out>((closed) => {
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
      if (values.includes(unreadable as unknown as Out)) return; // passed through without being read
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

    'emits in the call in which an event arrives, and unsubscribes its source': () => {
      const events = new Subject<In>();
      const { values, subscription } = record(events.pipe(operator));
      for (const event of input) events.next(event);
      expectSame('something is emitted', values.length > 0, true);
      subscription.unsubscribe();
      expectSame('the source is observed', events.observed, false);
    },

    'emits the same at a second subscription, and under repeat': () => {
      const turn = from(source).pipe(operator);
      const { values } = record(turn);
      expectSame('something is emitted', values.length > 0, true);
      expectSame('values of the second subscription', record(turn).values, values);
      expectSame('values under repeat(2)', record(turn.pipe(repeat(2))).values, [...values, ...values]);
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
  const passing = {
    'passes unknown events through, unchanged and in order': () => {
      const events = [unknown, { type: 'alsoUnknown' } as In, unknown];
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
      const at = values.lastIndexOf(retract as unknown as Out);
      expectSame('the retract passes', at >= 0, true);
      expectSame('values after the retract', values.slice(at + 1), record(from(source).pipe(operator)).values);
    },

    'loses no text that it holds when a stop ends its source': () => {
      for (let length = 1; length <= deltas.length; length++) {
        const received = from(deltas.slice(0, length));
        const stop = new Subject<void>();
        const { values } = record(concat(received, NEVER).pipe(operator as unknown as TextOperator, stopOn(stop)));
        stop.next();
        const completed = record(received.pipe(operator as unknown as TextOperator)).values;
        expectSame(`text of ${length} characters`, textOf(values), textOf(completed));
      }
    },

    'ends the output with the finish': () => {
      const { values } = record(concat(from(deltas), of(finish)).pipe(operator as unknown as TextOperator));
      const at = values.findIndex(({ type }) => type === 'finish');
      if (at >= 0) expectSame('values after the finish', values.slice(at + 1), []);
    },
  };
  return Object.entries(passThrough ? { ...passing, ...cases } : cases).map(([title, run]) => ({ title, run }));
}

type TextOperator = OperatorFunction<StreamEvent, StreamEvent>;

const finish = { type: 'finish', reason: 'stop' } as const;

/** The text of a turn in deltas of one character, so that an operator that holds text back does so; never empty. */
function oneByOne(source: readonly StreamEvent[]): readonly StreamEvent[] {
  return Array.from(textOf(source) || 'one two', (text) => ({ type: 'text', text }) as StreamEvent);
}

const textOf = (events: readonly StreamEvent[]): string =>
  events.map((event) => ('text' in event && typeof event.text === 'string' ? event.text : '')).join('');

/** An endless synchronous source that counts what is done to it. For an operator that never unsubscribes it ends. */
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

/** Subscribes and records what arrives. */
function record<T>(source: Observable<T>) {
  const log = { values: [] as T[], error: undefined as unknown, completed: false };
  const subscription = source.subscribe({
    next: (value) => log.values.push(value),
    error: (error: unknown) => (log.error = error),
    complete: () => (log.completed = true),
  });
  return Object.assign(log, { subscription });
}

function expectSame(what: string, actual: unknown, expected: unknown): void {
  if (isSameJson(actual, expected)) return;
  throw new Error(
    `The operator breaks its contract: ${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}.`,
  );
}
