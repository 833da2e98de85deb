import { concat, defer, EMPTY, filter, finalize, map, merge, noop, Observable, ReplaySubject, startWith } from 'rxjs';
import { Subject, take, tap } from 'rxjs';
import { answeredIds, mergeAnswers, pickAnswers, type CallAnswers, type WaitingCall } from '../core/approval.js';
import { ASKED_CALL } from '../core/askingTool.js';
import type { Checkpoint, ResumedRun } from '../core/checkpoint.js';
import type { StreamEvent } from '../core/event.js';
import type { KnownEvent } from '../core/eventGuards.js';
import type { InnerPlace } from '../core/innerPlaces.js';
import type { InnerWork } from '../core/innerWork.js';
import { isSameJson } from '../core/json/equal.js';
import { omitUndefined } from '../core/json/json.js';
import { innermost, laterAnswers, nestedId, withoutWaiting } from '../core/nested.js';
import type { InnerRunControl, OuterRun } from '../core/nested.js';
import { ToolFailure } from '../operators/execute/toolFailure.js';

export function controlOf(outer: OuterRun): AgentControl {
  const control = [...outer.controls].find((one) => one instanceof AgentControl) ?? new AgentControl(outer);
  outer.control(control);
  return control;
}

/** What an agent has done. `retryTool`, or another wrapper, may execute the call again: that execution continues it. */
export class AgentTask {
  /** The inner calls that have begun or ended, or were answered while the run lived. */
  private readonly used = new Set<string>();
  private last: Checkpoint | undefined;
  private inside: InnerWork;
  /** Whether the run has ended, since its calls wait. */
  private isWaiting = false;
  /** The answers to them that the run has not received yet, and those of them that are cancelled. */
  private answersLeft: CallAnswers;
  private cancelled: string[] = [];

  constructor(
    readonly runId: string,
    readonly control: AgentControl,
    private readonly outer: OuterRun,
    private readonly place: InnerPlace,
  ) {
    this.inside = outer;
    this.last = place.resumed?.checkpoint;
    this.answersLeft = place.resumed?.answers ?? {};
  }

  work<T>(inside: InnerWork, run: () => Observable<T>): Observable<T> {
    this.inside = inside;
    const mayBegin = new Observable<never>((out) => inside.goOn(this.place.task.order, () => out.complete()));
    const begun = defer(() => {
      this.isWaiting = false;
      const endWork = inside.begin();
      return run().pipe(
        finalize(() => {
          this.control.leave(this);
          endWork();
        }),
      );
    });
    return concat(mayBegin, begun);
  }

  /** The call waits, unless something else works in it. */
  wait(checkpoint: Checkpoint): void {
    this.isWaiting = true;
    this.used.clear();
    this.cancelled = [];
    this.last = checkpoint;
    this.inside.suspend(this.own(checkpoint));
  }

  /** Emits when the run goes on: a call for which it waits is answered, or cancelled, while something else works. */
  goesOn(): Observable<unknown> {
    if (!this.isWaiting) return EMPTY;
    const { control, outer } = this;
    const answers = laterAnswers(outer.answers).pipe(
      map((given) => pickAnswers(given, (id) => this.waitsFor(id))),
      filter((given) => answeredIds(given).length > 0),
      tap((given) => (this.answersLeft = mergeAnswers(this.answersLeft, given))),
    );
    const cancelled = control.cancelled.pipe(
      filter((id) => this.waitsFor(id)),
      tap((id) => this.cancelled.push(id)),
    );
    return merge(answers, cancelled).pipe(
      take(1),
      tap(() => control.showAll(this.last?.open?.waiting, this)),
    );
  }

  notifiers() {
    const { control, cancelled } = this;
    return { stop: control.stopped, cancel: control.cancelled.pipe(startWith(...cancelled)) };
  }

  answers(): Observable<CallAnswers> {
    const { control, used } = this;
    return defer(() => control.answers()).pipe(tap((given) => answeredIds(given).forEach((id) => used.add(id))));
  }

  observe(event: StreamEvent): void {
    const known = innermost(event);
    if (known.type === 'toolStart' || known.type === 'toolResult') this.used.add(known.id);
    this.control.observe(known, this);
  }

  /** A run that has ended without an answer repeats its last turn, unless this turn has called tools. */
  keep(checkpoint: Checkpoint): void {
    if (!checkpoint.ended || this.last?.open) this.last = checkpoint;
    this.outer.keep(this.own(checkpoint));
  }

  private own(checkpoint: Checkpoint): Checkpoint {
    return { runId: this.runId, ...checkpoint, task: this.place.task };
  }

  /** What has a result keeps it, and an answer that was not used is used now. Any other call asks again. */
  rest(): Partial<ResumedRun> {
    const checkpoint = this.last && withoutWaiting(this.last, this.used);
    return {
      ...omitUndefined({ checkpoint }),
      answers: pickAnswers(this.answersLeft, (id) => waitsIn(checkpoint, id)),
    };
  }

  private waitsFor(id: string): boolean {
    return waitsIn(this.last, id);
  }
}

const waitsIn = (checkpoint: Checkpoint | undefined, id: string): boolean =>
  checkpoint?.open?.waiting.some((call) => call.id === id) ?? false;

/** Passes a stop of the call, and the cancellation of an inner call, on to the inner run. */
export class AgentControl implements InnerRunControl {
  private readonly stops = new ReplaySubject<void>(1);
  readonly stopped = this.stops.asObservable();
  private readonly cancels = new Subject<string>();
  /** The ids of inner calls. */
  readonly cancelled = this.cancels.asObservable();
  /** The inner calls that a person has seen, until they begin or end. */
  private readonly shown = new Map<string, WaitingCall>();
  /** Those of them for which a run waits. */
  private readonly open = new Map<string, AgentTask | undefined>();
  private readonly tasks = new Map<InnerPlace, AgentTask>();
  private isAgain = false;

  constructor(private readonly outer: OuterRun) {
    const runs = (outer.resumed ?? []).filter(({ checkpoint }) => checkpoint.orchestrator !== ASKED_CALL);
    this.showAll(runs.flatMap(({ checkpoint }) => checkpoint.open?.waiting ?? []));
  }

  /** A tool may run several agents, or an agent several times: each is another task, with runs of its own. */
  taskOf(key: string, place: InnerPlace): AgentTask {
    const { order } = place.task;
    const runId = order === 0 ? key : `${key}.${order}`;
    const task = this.tasks.get(place) ?? new AgentTask(runId, this, this.outer, place);
    this.tasks.set(place, task);
    return task;
  }

  /** In another execution, what is answered before its call asks was a call of an earlier one. */
  answers(): Observable<CallAnswers> {
    const { outer, isAgain, shown } = this;
    this.isAgain = true;
    const toShown = (given: CallAnswers) => pickAnswers(given, (id) => shown.has(id));
    return isAgain ? laterAnswers(outer.answers).pipe(map(toShown)) : outer.answers;
  }

  stop(): void {
    this.stops.next();
  }

  cancel(id: string): void {
    const path = nestedId(this.outer.call.id, '');
    if (id.startsWith(path)) this.cancels.next(id.slice(path.length));
  }

  observe(known: KnownEvent, task: AgentTask): void {
    if (known.type === 'toolWaiting') this.show(known, task);
    else if (known.type === 'toolStart' || known.type === 'toolResult') {
      const isEnded = (id: string) => id === known.id || id.startsWith(nestedId(known.id, ''));
      const ended = [...this.shown.keys()].filter(isEnded); // with the questions of a call that was cancelled
      for (const id of ended) this.shown.delete(id);
      this.close(ended);
    }
  }

  /** Nobody waits for a person in a run that has ended, or that the tool has given up. */
  leave(task: AgentTask): void {
    this.close([...this.open].flatMap(([id, owner]) => (owner === task ? [id] : [])));
  }

  showAll(waiting: readonly WaitingCall[] = [], task?: AgentTask): void {
    for (const call of waiting) this.show(call, task);
  }

  /** The deadline of the outer call does not count the time of a person. */
  private show(call: WaitingCall, task?: AgentTask): void {
    const { shown, open, outer } = this;
    shown.set(call.id, sameCall(call, shown.get(call.id)));
    if (open.size === 0 && outer.patience > 0) outer.pause(this);
    open.set(call.id, task);
  }

  private close(ids: readonly string[]): void {
    const { open, outer } = this;
    const closed = ids.filter((id) => open.delete(id));
    const wasLast = closed.length > 0 && open.size === 0;
    if (wasLast && outer.patience > 0) outer.proceed(this, noop); // the call continues by itself
  }
}

/** Two agents in a tool, or one that is not resumed, may repeat an id. An answer to one call is not for the other. */
function sameCall(call: WaitingCall, { name, arguments: args } = call): WaitingCall {
  if (name === call.name && isSameJson(args, call.arguments)) return call;
  throw new ToolFailure('failed', `Another call with the id "${call.id}" waits for a person.`);
}
