import {
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  endWith,
  finalize,
  forkJoin,
  map,
  mergeMap,
  of,
  Subject,
  take,
  tap,
} from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { RunResult, StreamEvent } from '../core/event.js';
import { isCheckpoint, isResult, isTurn } from '../core/eventGuards.js';
import { runOf } from '../core/failedRun.js';
import type { AgentHandlerOptions, HandledAgent } from './agentHandlerOptions.js';
import { errorResponse, readRequest, refused, RequestError } from './agentRequest.js';
import type { ResumeRequest, StartRequest } from './agentRequest.js';
import type { EarlierRun } from './conversationAgent.js';
import { RunNotFoundError } from './createRuns.js';
import type { Runs } from './createRuns.js';
import { RUN_ID_HEADER } from './fromServerSentEvents.js';
import { isUnguessable } from './joinRun.js';
import {
  messagesOfRecord,
  RecordedFailure,
  readRecord,
  replayCheckpoint,
  replayRecord,
  writeRecord,
} from './runStore.js';
import type { RunRecord, RunStore } from './runStore.js';
import { runResponse } from './sendRun.js';
import { describeError } from './serverSentEvents.js';
import { settled } from './settled.js';
import type { SharedRun } from './shareRun.js';
import { messagesOfFailed } from './viewChanges.js';

/** Answers the requests of `remoteAgent`: see `agentHandler`. */
export class AgentService<C> {
  private readonly store: RunStore;
  /** The runs whose checkpoints are being used. */
  private readonly resuming = new Map<string, Observable<never>>();

  constructor(
    private readonly agent: HandledAgent<C>,
    private readonly runs: Runs,
    private readonly options: AgentHandlerOptions<C>,
  ) {
    this.store = options.store ?? new Map<string, RunRecord>();
  }

  respond(request: Request): Observable<Response> {
    return this.authorize(request).pipe(
      mergeMap((context) => this.answer(request, context)),
      catchError((thrown: unknown) =>
        of(thrown instanceof RequestError ? errorResponse(thrown) : this.send(failWith(thrown))),
      ),
    );
  }

  private authorize(request: Request): Observable<C> {
    return defer(() => settled(this.options.context?.(request) as C | ObservableInput<C>)).pipe(
      take(1),
      catchError((thrown: unknown) => {
        this.options.onError?.(thrown);
        throw refused();
      }),
    );
  }

  private answer(request: Request, context: C): Observable<Response> {
    const { method, headers } = request;
    const id = headers.get(RUN_ID_HEADER) ?? '';
    if (method !== 'POST' && method !== 'DELETE') throw new RequestError(405, 'Send POST or DELETE.');
    if (!isUnguessable(id)) throw new RequestError(400, `Send a random UUID as the header ${RUN_ID_HEADER}.`);
    if (method === 'DELETE') return of(new Response(null, { status: this.runs.stop(id) ? 204 : 404 }));
    const after = headers.get('last-event-id') ?? undefined;
    const known = this.runs.get(id);
    if (known) return of(this.send(known, after));
    if (after !== undefined) throw new RunNotFoundError(); // its events are not kept any more
    return forkJoin([readRequest(request, this.options.maxBodyBytes), readRecord(this.store, id)]).pipe(
      mergeMap(([body, record]) => {
        if (record) return this.recover(id, record, context);
        if (body.resume !== undefined) return this.resume(id, body, context);
        if (body.input !== undefined) return this.start(id, body, context);
        throw new RunNotFoundError();
      }),
    );
  }

  private start(id: string, { input, history }: StartRequest, context: C): Observable<Response> {
    const records = history.length > 0 ? forkJoin(history.map((run) => this.earlierRecord(run))) : of([]);
    return records.pipe(
      map((earlier) => {
        const options = { ...this.runOptions(context), history: earlier.flatMap(messagesOfRecord) };
        const record = { input, history };
        return this.launch(id, record, (stop) => this.agent.stream(input, { ...options, stop }));
      }),
    );
  }

  /**
   * Goes on with a run that waits. Its checkpoint is removed first, so that no call is executed twice. If two tabs send
   * the same request, with the same id, the second one joins the run.
   */
  private resume(id: string, { resume, answers }: ResumeRequest, context: C): Observable<Response> {
    return readRecord(this.store, resume).pipe(
      mergeMap((record) => {
        if (!record) throw new RunNotFoundError();
        const { checkpoint, ...result } = record.result ?? {};
        const other = this.resuming.get(resume);
        if (other || !checkpoint)
          return concat(
            other ?? EMPTY,
            defer(() => this.joinResumed(id)),
          );
        const resumed = new Subject<never>();
        this.resuming.set(resume, resumed);
        const options = { ...this.runOptions(context), ...answers };
        const restore = () => writeRecord(this.store, resume, record);
        return writeRecord(this.store, resume, { ...record, result: result as RunResult }).pipe(
          endWith(undefined),
          map(() =>
            this.launch(
              id,
              { input: record.input, shown: record.result?.messages.length },
              (stop) => this.agent.resume(checkpoint, { ...options, stop }),
              restore,
            ),
          ),
          finalize(() => {
            this.resuming.delete(resume);
            resumed.complete();
          }),
        );
      }),
    );
  }

  private joinResumed(id: string): Observable<Response> {
    const run = this.runs.get(id);
    if (!run) throw notWaiting();
    return of(this.send(run));
  }

  /** Sends a run that has ended again, and goes on with one whose process ended. */
  private recover(id: string, record: RunRecord, context: C): Observable<Response> {
    const { result, failure, checkpoint, input, history } = record;
    if (result || failure || !this.options.checkpoints) return of(this.send(replayRecord(record)));
    if (checkpoint)
      return of(
        this.launch(id, record, (stop) =>
          concat(
            replayCheckpoint(checkpoint, record.shown),
            this.agent.resume(checkpoint, { ...this.runOptions(context), stop }),
          ),
        ),
      );
    // The first checkpoint comes before the first tool, so nothing was executed.
    return history ? this.start(id, { input, history }, context) : of(this.send(replayRecord(record)));
  }

  private runOptions(context: C) {
    return { context, fragments: true, checkpoints: this.options.checkpoints ?? false } as const;
  }

  /** The record of an earlier run. If there is none, its prompt alone: the page shows it, and could not send it. */
  private earlierRecord({ id, input }: EarlierRun): Observable<RunRecord> {
    return readRecord(this.store, id).pipe(map((record) => record ?? { input }));
  }

  /** @param restore Called if the run fails before it begins, so that no call was executed. Default: nothing. */
  private launch(
    id: string,
    record: RunRecord,
    events: (stop: Observable<void>) => Observable<StreamEvent>,
    restore = (): Observable<never> => EMPTY,
  ): Response {
    const write = (end: Partial<RunRecord>) => writeRecord(this.store, id, { ...record, ...end });
    let hasBegun = false;
    const fail = (thrown: unknown) => {
      const failure = { messages: messagesOfFailed(thrown) ?? [], error: this.describe(thrown) };
      return concat(
        hasBegun || runOf(thrown) ? EMPTY : restore(),
        write({ failure, checkpoint: undefined }),
        failWith(thrown),
      );
    };
    // What the store keeps is written before the reader learns of it: the reader's next request may need it.
    const record$ = (event: StreamEvent) => {
      if (isResult(event)) return concat(write({ result: event.result, checkpoint: undefined }), of(event));
      const checkpoint = isCheckpoint(event) || isTurn(event) ? event.checkpoint : undefined;
      return checkpoint ? concat(write({ checkpoint }), of(event)) : of(event);
    };
    const run = (stop: Observable<void>) =>
      concat(write({}), defer(() => events(stop)).pipe(tap(() => (hasBegun = true)))).pipe(
        concatMap(record$),
        catchError(fail),
      );
    return this.send(this.runs.start(run, id).run);
  }

  private send(run: SharedRun | Observable<StreamEvent>, after?: string): Response {
    return runResponse(run, { ...this.options, after, describeError: (thrown) => this.describe(thrown) });
  }

  private describe(thrown: unknown) {
    const { describeError: describe = describeError } = this.options;
    return thrown instanceof RecordedFailure ? thrown.error : describe(thrown);
  }
}

const notWaiting = () => new RequestError(409, 'This run does not wait for an answer, or was answered already.');

const failWith = (thrown: unknown): Observable<never> =>
  defer(() => {
    throw thrown;
  });
