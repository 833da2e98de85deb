import { asyncScheduler, concatMap, defer, from, timer, type Observable, type SchedulerLike } from 'rxjs';
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

/** The distance of steps within one millisecond: 100,000 of them still fit into it. */
const tick = 1e-6;

const distance = (from: Step, to: Step): number => to.at - from.at + (to.position - from.position) * tick;

/** Milliseconds. In virtual time, what took computing time happens earlier; on a busy machine, much. */
const TOLERANCE = { ahead: 1000, behind: 100 };

/** In step, the times are those of the recording; otherwise they are counted from what caused the step. */
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

  /** The `cause` of the step happens at this moment. */
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

export function playMoments<T>(cause: Step, moments: readonly Moment<T>[], clock: ReplayClock): Observable<T> {
  return defer(() => {
    const { speed, scheduler } = clock;
    if (speed === Infinity) return from(moments.map(({ value }) => value));
    const waitFor = clock.waitFrom(cause);
    return from(groupMoments(cause, moments)).pipe(
      concatMap(({ first, values }) => {
        const wait = first === cause ? 0 : waitFor(first);
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

/** What directly follows is emitted together: nothing can happen in between. The clock may have advanced by one. */
function groupMoments<T>(cause: Step, moments: readonly Moment<T>[]): readonly Group<T>[] {
  let group: Group<T> = { first: cause, values: [] };
  const groups = [group];
  let last = cause;
  for (const { step, value } of moments) {
    const latest = group.first === cause ? cause.at + 1 : last.at;
    if (step.at <= latest && step.position <= last.position + 1) group.values.push(value);
    else groups.push((group = { first: step, values: [value] }));
    last = step;
  }
  return groups;
}
