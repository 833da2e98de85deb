import { filter, ReplaySubject, type Observable } from 'rxjs';
import { MAX_ANSWERS, mapAnswers, type Approve, type CallAnswers, type WaitingCall } from './approval.js';
import type { Checkpoint, InnerTask, OpenCalls, ResumedRun } from './checkpoint.js';
import type { StreamEvent } from './event.js';
import { asKnownEvent, type KnownEvent } from './eventGuards.js';
import type { CallScope } from './callScope.js';
import type { InnerPlaces } from './innerPlaces.js';
import type { InnerWork } from './innerWork.js';
import type { ToolCallPart } from './message.js';

/** A limit of time that does not count the time of a person. */
export interface Clock {
  pause(): void;
  proceed(): void;
}

/** A call that may wait for a person, or for a place that a person holds up. */
export interface PausableCall {
  /** The deadlines of the call stop, and another call may begin. */
  pause(waiting: object): void;
  /** Continues by calling a function: as soon as `concurrency` allows, or at once if something else still waits. */
  proceed(waiting: object, work: () => void): void;
}

export interface InnerRunControl {
  /** Stops the inner run: it ends with what it has. */
  stop(): void;
  /** Cancels a call of the inner run, while the run continues. `id` is the id of the call in the outer run. */
  cancel(id: string): void;
}

/** What `agentTool` reads as `outer`. The inner run reports to it directly: tools made of tools need no support. */
export interface OuterRun extends InnerWork, PausableCall {
  readonly call: ToolCallPart;
  /** Whether the outer run has checkpoints, so that the inner one needs them too. */
  readonly checkpoints: boolean;
  /** The inner runs that are resumed. Undefined for a new call. */
  readonly resumed: readonly ResumedRun[] | undefined;
  /** What else an earlier process has begun, without a checkpoint. */
  readonly begun: readonly InnerTask[] | undefined;
  /** Added by the tools: where each inner run stands (`placesOf`), and the execution of the call (`scopeOf`). */
  places?: InnerPlaces;
  scope?: CallScope;
  /** Whether the call has asked a person, or is resumed and may have: its result is for nobody else. */
  readonly hasAsked: boolean;
  /** The outer run's own `approve`, which decides about inner calls if the agent has none. Undefined: they wait. */
  readonly approve: Approve | undefined;
  /** Milliseconds for which the call waits in memory before it suspends. 0: nobody answers while the run lives. */
  readonly patience: number;
  /** The answers to calls of the inner run, the earlier ones first. Completed: nobody answers any more. */
  readonly answers: Observable<CallAnswers>;
  /** Completes when everything that the run has emitted is stored. */
  readonly written: Observable<never>;
  /** Replaces the agent before it runs, for a bridge that observes inner runs. Default: the agent runs as it is. */
  wrapAgent?: (<A extends object>(agent: A) => A) | undefined;
  /** Emits when the call runs an agent or asks: nobody else may share it. */
  readonly becomesPrivate: Observable<void>;
  /** How the inner runs are stopped. All executions of the call share them (`retryTool`). */
  readonly controls: ReadonlySet<InnerRunControl>;
  control(inner: InnerRunControl): void;
  emit(event: StreamEvent): void;
  /** Keeps an inner run so far, for the checkpoints of the outer run. Its `task` tells it from others of the call. */
  keep(checkpoint: Checkpoint): void;
  readonly clocks: Set<Clock>;
}

/** The id of an inner call in the outer run. Inner and outer runs choose their ids independently. */
export const nestedId = (outer: string, inner: string): string => `${outer}/${inner}`;

export function innermost(event: StreamEvent, outer?: string): KnownEvent {
  const own = asKnownEvent(event);
  const known = outer !== undefined && 'id' in own ? { ...own, id: nestedId(outer, own.id) } : own;
  return known.type === 'nested' ? innermost(known.event, known.id) : known;
}

/** Agents are nested in fewer levels. The limit keeps the search in an id from elsewhere cheap. */
const MAX_LEVELS = 16;

/** The ids that the outer calls of an inner call may have: all parts of its id before a `/`. */
export function outerIds(id: string): readonly string[] {
  const outer: string[] = [];
  for (let at = id.indexOf('/'); at >= 0 && outer.length < MAX_LEVELS; at = id.indexOf('/', at + 1))
    outer.push(id.slice(0, at));
  return outer;
}

export const asOuterCall = <Call extends WaitingCall>(outer: string, call: Call): Call => ({
  ...call,
  id: nestedId(outer, call.id),
  path: [outer, ...(call.path ?? [call.id])],
});

/** The inner runs of a call, by the checkpoint that it has: the last one that has changed, and those beside it. */
export const innerRuns = ({ beside = [], begun: _, ...last }: Checkpoint): readonly Checkpoint[] => [...beside, last];

export const callRuns = (nested: Iterable<readonly [id: string, checkpoint: Checkpoint]>) =>
  [...nested].flatMap(([id, checkpoint]) => innerRuns(checkpoint).map((run) => [id, run] as const));

export function waitingInside(nested: Iterable<readonly [id: string, checkpoint: Checkpoint]>): readonly WaitingCall[] {
  return callRuns(nested).flatMap(([id, { open }]) => (open?.waiting ?? []).map((call) => asOuterCall(id, call)));
}

/** As if these calls, of all depths, had not been announced, nor approved: they ask again. */
export function withoutWaiting(checkpoint: Checkpoint, ids: ReadonlySet<string>, path = ''): Checkpoint {
  const without = ({ waiting, approved, nested, ...turn }: OpenCalls): OpenCalls => ({
    ...turn,
    waiting: waiting.filter(({ id }) => !ids.has(path + id)),
    // What is inside of an approved call continues.
    ...(approved && { approved: approved.filter((id) => !ids.has(path + id) || Object.hasOwn(nested ?? {}, id)) }),
    ...(nested && {
      nested: Object.fromEntries(
        Object.entries(nested).map(([id, run]) => [id, withoutWaiting(run, ids, nestedId(path + id, ''))]),
      ),
    }),
  });
  const { open, background, beside } = checkpoint;
  return {
    ...checkpoint,
    ...(beside && { beside: beside.map((run) => withoutWaiting(run, ids, path)) }),
    ...(open && { open: without(open) }),
    ...(background?.turn && { background: { ...background, turn: without(background.turn) } }),
  };
}

/** The answers to the calls of an inner run, by the ids that they have there. */
export function answersInside(outer: string, answers: CallAnswers): CallAnswers {
  const path = nestedId(outer, '');
  return mapAnswers(answers, (id) => (id.startsWith(path) ? id.slice(path.length) : undefined));
}

/** What is answered from now on. Calls that start over may have the ids of others, which were answered before. */
export function laterAnswers<T>(answers: Observable<T>): Observable<T> {
  const later = new ReplaySubject<T>(MAX_ANSWERS);
  let isLater = false;
  answers.pipe(filter(() => isLater)).subscribe(later);
  isLater = true;
  return later;
}
