import { catchError, concat, defaultIfEmpty, defer, EMPTY, filter, finalize, from, ignoreElements } from 'rxjs';
import { map, mergeMap, of, take, takeUntil, tap, type Observable, type Observer, type Subscriber } from 'rxjs';
import { isDecision, type Approve, type CallAnswers, type Decision, type WaitingCall } from '../../core/approval.js';
import type { ResumedTurn } from '../../core/checkpoint.js';
import { errorText } from '../../core/errors.js';
import type { ToolResultEvent, ToolWaitingEvent } from '../../core/event.js';
import { isolateTeardown, subscribeIsolated } from '../../core/ignoreTeardownErrors.js';
import type { JsonObject } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import { denialText, type Message, type ToolCallPart } from '../../core/message.js';
import { reportErrorsOf } from '../../core/reportUnhandled.js';
import { after } from '../../core/timeLimit.js';
import type { ApprovalContext, Tool } from '../../core/tool.js';
import { cancellation, failedResult, ToolFailure } from './toolFailure.js';
import { validateArguments, validValue } from './validArguments.js';

export interface ApprovalOptions {
  readonly messages: readonly Message[];
  readonly context?: unknown;
  readonly approve?: Approve | undefined;
  /** Milliseconds in memory, if there is no `approve`. */
  readonly patience: number;
  /** Called when they are over. A decision may still come, as long as other calls run. */
  readonly onLate: () => void;
  readonly answers: Observable<CallAnswers>;
  /** Completes when another execution would continue this very call: nobody is asked by one that may be lost. */
  readonly written: Observable<never>;
  readonly resumed?: ResumedTurn | undefined;
}

interface ApprovedCall {
  readonly type: 'approvedCall';
  /** The arguments that a person has given. */
  readonly edited?: JsonObject;
}

export interface DecisionObserver {
  emit(event: ToolWaitingEvent | ToolResultEvent): void;
  approved(call: ToolCallPart, edited: JsonObject | undefined): void;
  decisionEnded(id: string): void;
}

type DecisionEvent = ToolWaitingEvent | ToolResultEvent | ApprovedCall;

/** Other calls need no decision. */
export const mayWait = (tool: Tool, { id }: ToolCallPart, resumed: ResumedTurn | undefined): boolean =>
  !tool.execute || Boolean(tool.needsApproval) || announced(id, resumed) !== undefined;

const announced = (id: string, resumed: ResumedTurn | undefined): WaitingCall | undefined =>
  resumed?.open.waiting.find((waiting) => waiting.id === id);

/** A call without `approvedCall` or a result after `toolWaiting` waits for an answer from outside. */
export class OpenDecision implements Observer<DecisionEvent> {
  private subscriber: Subscriber<DecisionEvent> | undefined;

  constructor(
    private readonly call: ToolCallPart,
    private readonly observer: DecisionObserver,
  ) {}

  start(tool: Tool, options: ApprovalOptions): void {
    const { call, observer } = this;
    const events = decide(call, tool, options).pipe(finalize(() => observer.decisionEnded(call.id)));
    subscribeIsolated(events, this, (subscriber) => (this.subscriber = subscriber));
  }

  cancel(): void {
    this.subscriber?.error(cancellation());
  }

  /** Nothing more is emitted, not even by `approve`. */
  unsubscribe(): void {
    reportErrorsOf(() => this.subscriber?.unsubscribe());
  }

  next(event: DecisionEvent): void {
    if (event.type === 'approvedCall') this.observer.approved(this.call, event.edited);
    else this.observer.emit(event);
  }

  error(thrown: unknown): void {
    this.observer.emit(failedResult(this.call, thrown));
    this.unsubscribe();
  }

  complete(): void {
    this.unsubscribe();
  }
}

function decide(call: ToolCallPart, tool: Tool, options: ApprovalOptions): Observable<DecisionEvent> {
  const { id, name } = call;
  const { messages, context } = options;
  const known = announced(id, options.resumed);
  const waitingCall = (needed: true | JsonObject): WaitingCall => ({
    id,
    name,
    arguments: call.arguments,
    ...(needed === true ? {} : { details: toJson(needed) as JsonObject }),
  });
  const isNeeded = (args: unknown) =>
    known ? of(known.details ?? true) : waits(tool, args, { call, messages, context });
  return defer(() => validArguments(tool, call)).pipe(
    mergeMap(isNeeded),
    mergeMap((needed) => {
      if (needed === false) return of(approvedCall(undefined));
      const waiting = waitingCall(needed);
      return concat(
        known ? EMPTY : concat(options.written, of<ToolWaitingEvent>({ type: 'toolWaiting', ...waiting })),
        defer(() => answer(call, waiting, tool, options)),
      );
    }),
  );
}

function validArguments(tool: Tool, call: ToolCallPart): Observable<unknown> {
  const validation = validateArguments(tool, call);
  return (validation instanceof Promise ? from(validation) : of(validation)).pipe(map(validValue));
}

/** True, or the details of the approval. Synchronous if `needsApproval` is. */
function waits(tool: Tool, args: unknown, context: ApprovalContext): Observable<boolean | JsonObject> {
  if (!tool.execute) return of(true);
  const { needsApproval = false } = tool;
  if (typeof needsApproval === 'boolean') return of(needsApproval);
  const needed = needsApproval(args, context);
  // Without a value, nobody has said that no approval is needed.
  return typeof needed === 'boolean' ? of(needed) : isolateTeardown(() => needed).pipe(take(1), defaultIfEmpty(true));
}

function answer(
  call: ToolCallPart,
  waiting: WaitingCall,
  tool: Tool,
  options: ApprovalOptions,
): Observable<ToolResultEvent | ApprovedCall> {
  const { id, name } = call;
  // A tool that only this turn has was not there when the answers were checked: it executes itself.
  const given = tool.execute ? undefined : options.resumed;
  const result = given?.results.get(id);
  const error = given?.errors.get(id);
  if (error !== undefined) throw new ToolFailure('failed', error);
  if (result !== undefined) return of<ToolResultEvent>({ type: 'toolResult', id, name, result });
  return decision(waiting, tool, options).pipe(
    mergeMap((decided) => {
      if (!decided.approve) throw denial(decided.reason);
      return tool.execute ? of(approvedCall(decided.arguments)) : EMPTY; // it still waits for its result
    }),
  );
}

function decision(waiting: WaitingCall, tool: Tool, options: ApprovalOptions): Observable<Decision> {
  const { approve, messages, context, resumed, answers, patience, onLate } = options;
  const made = resumed?.decisions.get(waiting.id);
  if (made) return of(made);
  if (!tool.execute) return EMPTY;
  if (!approve) {
    if (patience === 0) return EMPTY;
    const decided = answers.pipe(
      map(({ decisions }) => decisions?.[waiting.id]),
      filter(isDecision),
    );
    return decided.pipe(take(1), takeUntil(after(patience).pipe(tap(onLate), ignoreElements())));
  }
  return isolateTeardown(() => approve({ ...waiting, messages, context })).pipe(
    take(1),
    defaultIfEmpty<Decision, Decision>({ approve: false }),
    map(requireDecision),
    catchError((thrown: unknown) => {
      throw new ToolFailure('failed', `The call was not approved, because the approval failed: ${errorText(thrown)}`);
    }),
  );
}

function requireDecision(value: unknown): Decision {
  if (isDecision(value)) return value;
  throw new TypeError('approve() must return { approve: true } or { approve: false }.');
}

const denial = (reason: string | undefined) => new ToolFailure('denied', denialText(reason), undefined, reason);

const approvedCall = (edited: JsonObject | undefined): ApprovedCall =>
  edited ? { type: 'approvedCall', edited: toJson(edited) as JsonObject } : { type: 'approvedCall' };
