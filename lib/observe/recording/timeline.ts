import { asyncScheduler, concatMap, defer, from, timer } from 'rxjs';
import type { Observable, SchedulerLike } from 'rxjs';
import { requireNumber } from '../../core/options.js';
import type { RecordedStep } from './readRecording.js';

/** How a recording is replayed. */
export interface ReplayOptions {
  /** Which run of the recording, from 1. Default: 1. */
  readonly run?: number | undefined;
  /** How much faster than it was recorded: 2 halves all times, Infinity does not wait. Default: 1. */
  readonly speed?: number | undefined;
  /** Provides the time. Default: RxJS's `asyncScheduler`, which is virtual in a TestScheduler's `run`. */
  readonly scheduler?: SchedulerLike | undefined;
}

export interface Moment<T> {
  readonly step: Step;
  readonly value: T;
}

type Step = Pick<RecordedStep, 'at' | 'position'>;

/**
 * How much later a step is than its predecessor of the same millisecond. It keeps the order of what was recorded, and a
 * recording of 100,000 steps within one millisecond still fits into it.
 */
const tick = 1e-6;

const distance = (from: Step, to: Step): number => to.at - from.at + (to.position - from.position) * tick;

/**
 * The longest times by which a replay may be early or late, and still follow the recording, in
 * milliseconds of the recording. In virtual time, what took computing time happens earlier; on a busy machine, by more
 * than a moment.
 */
const TOLERANCE = { ahead: 1000, behind: 100 };

/**
 * Converts the times of a recording into those of its replay. As long as the replay is in step with the recording, the
 * times are those of the recording, so that the order of everything stays the same. Otherwise they are counted from
 * what caused the step.
 */
export class ReplayClock {
  readonly speed: number;
  readonly scheduler: SchedulerLike;
  private start: number | undefined;

  constructor(
    private readonly origin: Step,
    { speed = 1, scheduler = asyncScheduler }: ReplayOptions,
  ) {
    requireNumber('speed', speed, Number.MIN_VALUE);
    this.speed = speed;
    this.scheduler = scheduler;
  }

  /** How long to wait for a step, after its `cause`, which happens at this moment. */
  waitFrom(cause: Step): (step: Step) => number {
    const { scheduler, speed, origin } = this;
    const now = scheduler.now();
    const time = (step: Step) => distance(origin, step) / speed;
    const start = (this.start ??= now - time(cause));
    const ahead = (start + time(cause) - now) * speed;
    const isInStep = ahead <= TOLERANCE.ahead && ahead >= -TOLERANCE.behind;
    const base = isInStep ? start : now - time(cause);
    return (step) => base + time(step) - scheduler.now();
  }
}

/** Emits values at the times at which they were recorded. Consecutive values of the same time are emitted together. */
export function playMoments<T>(cause: Step, moments: readonly Moment<T>[], clock: ReplayClock): Observable<T> {
  return defer(() => {
    const { speed, scheduler } = clock;
    if (speed === Infinity) return from(moments.map(({ value }) => value));
    const waitFor = clock.waitFrom(cause);
    return from(groupMoments(moments)).pipe(
      concatMap(({ first, values }) => {
        const wait = waitFor(first);
        return wait <= 0 ? from(values) : timer(wait, scheduler).pipe(concatMap(() => from(values)));
      }),
    );
  });
}

export const playMoment = <T>(cause: Step, step: Step, value: T, clock: ReplayClock): Observable<T> =>
  playMoments(cause, [{ step, value }], clock);

interface Group<T> {
  readonly first: Step;
  readonly values: T[];
}

function groupMoments<T>(moments: readonly Moment<T>[]): readonly Group<T>[] {
  const groups: Group<T>[] = [];
  let last: Step | undefined;
  for (const { step, value } of moments) {
    const group = groups.at(-1);
    if (group && step.at === last?.at && step.position === last.position + 1) group.values.push(value);
    else groups.push({ first: step, values: [value] });
    last = step;
  }
  return groups;
}
