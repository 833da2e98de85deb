import { concat, concatMap, defer, EMPTY, filter, isObservable, map, of, tap, throwError } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { ServiceChats } from '../chats/chatStore.js';
import type { StreamEvent } from '../../core/event.js';
import { HISTORY_LOST_EVENT } from '../../core/connectionEvents.js';
import type { EarlierRun } from '../../transport/earlierRun.js';
import { RUN_ID_HEADER } from '../../transport/fromServerSentEvents.js';
import { isUnguessable } from '../../transport/randomId.js';
import type { ServerSentEventsOptions } from '../../transport/serverSentEvents.js';
import { isForChats, readRequest, toRunMessage } from './agentRequest.js';
import type { AgentRequest, ResumeRequest, StartRequest } from './agentRequest.js';
import { completeLog, isOpen, stateAtEnd } from '../runs/continueLog.js';
import type { Runs } from '../runs/createRuns.js';
import type { RunPlan } from '../runs/executeRun.js';
import { messagesOfRecord, replayCheckpoint, replayRecord, seenBefore } from '../runs/replayRecord.js';
import type { OwnerData } from '../ownerData.js';
import { RunNotFoundError } from '../ports/runLog.js';
import { publicEvents } from '../publicEvents.js';
import { createResponse, serverSentEvents } from './runResponse.js';
import type { StoredRun } from '../ports/runStore.js';
import { RequestError } from './requestError.js';
import { createService } from '../service.js';
import { notWaiting, returnCheckpoint, takeCheckpoint } from '../runs/takeCheckpoint.js';
import { rejectForbiddenEdits } from './argumentEdits.js';
import { requireFileUrls } from './fileUrls.js';
import { continueRun, handOver, recordOf } from '../runs/handOver.js';
import type { HandledAgent } from '../handledAgent.js';
import { sizeOfHistory } from '../runs/runAccess.js';
import type { Client } from '../runs/runAccess.js';
import type { ServiceOptions } from '../serviceOptions.js';
import type { SharedRun } from '../runs/sharedRun.js';

/** Options of `agentHandler`. `C` is the type of the user's own value for tools. */
export interface AgentHandlerOptions<C = unknown> extends ServiceOptions<C>, ServerSentEventsOptions {
  /**
   * Whether the store receives a checkpoint after each turn and each tool result. A run whose process ended is then
   * resumed when its page comes back: no turn is repeated, and no tool whose result is stored. A call that had begun
   * is executed again with the same `idempotencyKey`, unless its tool is `atMostOnce`: then it is answered with
   * `outcome_unknown`. Default: false, such a run is lost.
   */
  readonly checkpoints?: boolean | undefined;
  /**
   * Identifies the client: returns the option `context` of the run. If it throws, the request is answered with 403.
   * Default: every request is allowed, and the context is undefined.
   */
  readonly context?: ((request: Request) => C | ObservableInput<C>) | undefined;
  /**
   * Keeps the chats of each user, so that another device can list and open them: `keepChats` of `rivulet/service`.
   * Default: none, and only the browser keeps them.
   */
  readonly chats?: ServiceChats<NoInfer<C>> | undefined;
}

/** Answers the requests of `remoteAgent`. */
export interface AgentHandler extends OwnerData {
  (request: Request): Promise<Response>;
  /** Ends the service, for `SIGTERM`: see `Runs.shutdown`. */
  shutdown: Runs['shutdown'];
}

/** A handler that executes the runs that others have enqueued: a worker's. */
export interface RunExecutor<C> extends AgentHandler {
  /**
   * Executes a run whose record is in the store, from its start or its checkpoint, whoever executed it before. It
   * completes at the end of the run, also if that is an error, and fails if this process cannot execute it.
   */
  execute(id: string, context: C): Observable<never>;
}

/**
 * Creates the service of a chat: a function from a web `Request` to a `Response` (Hono, Next, Deno, Bun, edge). For
 * Node, Express and Nest, `nodeListener` converts it.
 *
 * <span class="informal">The other end of `remoteAgent`: runs, reconnection, stop and approvals in one function.</span>
 *
 * A run belongs to the service, not to the connection: a reloaded page joins it again, and closing the page does not
 * stop it before the grace time is over. The service stores the messages of each run with their provider data, and the
 * checkpoint of a run that waits; a browser only sends ids. A checkpoint is used once, even if two processes share the
 * store.
 *
 * All requests go to one URL. The header `x-run-id` identifies the run: the client creates an unguessable id.
 *
 * - `POST` with `input` (a text, or messages of the user) and `history` (the `id` and the `input` of at most 1000
 *   earlier runs) starts a run, and sends its events. The same request again joins it, from `Last-Event-ID`. Only the
 *   texts and files of the messages are used, no `metadata` and no `providerOptions`.
 * - `POST` with `resume` (the id of a run that waits), `decisions`, `results` and `errors` resumes it, as another run.
 *   If it was answered already, the request must have the id of the run that resumed it, and joins that; if not: 409.
 * - `POST` with neither joins the run from its start. A run that has ended is sent again from the store.
 * - `DELETE` stops the run: 204, or 404 if it has been forgotten (`keep` after its end). With `?call=ID`, it cancels
 *   one call, and the run continues.
 * - `PATCH` with `input` sends a prompt to a run that has not ended: 204, or 404. It joins the run at the end of the
 *   turn, as a message of the user. One that arrives after the last turn has no effect. 429 if too many prompts wait.
 * - With `chats`, `GET` lists and opens the chats of a user, and `PUT`, `PATCH` and `DELETE` with `?chat=ID` change
 *   one.
 * - A browser receives what is allowed: no error text of a tool or a provider, no unknown metadata, no signatures.
 * - A run that another process executes is answered with 503 and `Retry-After`, unless the processes share a `log`.
 *
 * ```ts
 * const handler = agentHandler(agent, { context: (request) => userOf(request), owner: ({ id }) => id });
 * createServer(nodeListener(handler)).listen(3000);
 * process.once('SIGTERM', () => handler.shutdown().subscribe({ complete: () => process.exit() }));
 * ```
 *
 * @param agent The agent that `createAgent` returns.
 * @param options `context` and `owner` (default: every request is allowed, and all users are one owner), `store` and
 * `log` (default: in memory), `checkpoints` (default: false), `grace` and `keep` in milliseconds (default: 60000 each),
 * `maxBodyBytes` (default: 1000000), `heartbeat` in milliseconds (default: 15000), `exposeToolErrors` (default: false),
 * `exposeMetadata`, `allowFileUrl` (default: https), `allowedHosts` and `allowedOrigins` (default: any),
 * `maxHistoryBytes` (default: 4194304), `maxRunsPerOwner` (default: 100), `budget` of each owner (default: none),
 * `chats` (default: none), `describeError`, `onError`.
 * @returns The handler. It answers 400 to any other request, and 403, 405, 408, 409, 413, 421, 429 or 503; the Promise
 * does not reject.
 */
export function agentHandler<C = undefined>(
  agent: HandledAgent<C>,
  options: AgentHandlerOptions<C> = {},
): AgentHandler {
  return createAgentHandler(agent, options);
}

/** `agentHandler`, and the function that executes runs. */
export function createAgentHandler<C>(agent: HandledAgent<C>, options: AgentHandlerOptions<C>): RunExecutor<C> {
  const { durable } = agent;
  const isDurable = durable !== undefined;
  const service = createService<C>({ ...options, isDurable }, 1_000_000);
  const checkpoints = !isDurable && (options.checkpoints ?? false);
  const isResumable = checkpoints || isDurable;
  const { store, log } = service;
  const comesBack = isResumable || log.isShared;
  const { chats } = options;

  const send = (run: SharedRun | Observable<StreamEvent>, after?: string): Response => {
    const { onError } = service;
    const responseOptions = {
      ...options,
      onError,
      after,
      describeError: (thrown: unknown) => service.describe(thrown),
    };
    const format = serverSentEvents(responseOptions, isObservable(run));
    // Another process, or the record, has the rest of a run that was left: the page connects again.
    const failure = (thrown: unknown) => (comesBack && service.hasLeft(thrown) ? '' : format.failure(thrown));
    const events = isObservable(run) ? run.pipe(publicEvents(options)) : run; // those of a shared run are public
    return createResponse(events, { ...format, failure }, responseOptions);
  };
  const fail = (thrown: unknown): Response => {
    if (thrown instanceof RequestError)
      return Response.json({ error: { message: thrown.message } }, { status: thrown.status, headers: thrown.headers });
    return send(throwError(() => thrown));
  };
  const launch = (plan: RunPlan, after?: string): Observable<Response> => {
    const { id } = plan.record;
    const run = durable?.enqueue
      ? concat(
          handOver(service, plan, durable.enqueue(id, plan.context as C)),
          defer(() => of(service.runElsewhere(id))),
        )
      : service.launch(plan);
    return run.pipe(map((shared) => send(shared, after)));
  };

  const authorize = (request: Request) => service.authorize(options.context && (() => options.context?.(request) as C));
  const answerChats = (kept: ServiceChats<C>, request: Request): Observable<Response> =>
    authorize(request).pipe(
      concatMap((client) =>
        service.locked(`chat:${new URL(request.url).searchParams.get('chat')}`, client, () =>
          kept.answer(request, client, service),
        ),
      ),
    );
  const answer = (request: Request): Observable<Response> => {
    const { method, headers } = request;
    const id = headers.get(RUN_ID_HEADER) ?? '';
    // A client that has received nothing but the start may start again, in another process too.
    const lastId = headers.get('last-event-id') ?? '';
    const after = ['', '0'].includes(lastId) ? undefined : lastId;
    if (chats && isForChats(request)) return answerChats(chats, request);
    if (!['POST', 'PATCH', 'DELETE'].includes(method))
      throw new RequestError(405, 'Send POST, PATCH or DELETE.', { allow: 'POST, PATCH, DELETE' });
    if (!isUnguessable(id)) throw new RequestError(400, `Send a random UUID as the header ${RUN_ID_HEADER}.`);
    return authorize(request).pipe(
      concatMap((client) =>
        (method === 'DELETE' ? of('') : service.readBody(request)).pipe(
          map(readRequest),
          tap((body) => {
            requireFileUrls(body, options);
            if (body.resume !== undefined) rejectForbiddenEdits(body.answers.decisions, options);
          }),
          concatMap((body) =>
            method === 'POST'
              ? service.locked(id, client, () =>
                  service
                    .joinable(id, client.owner)
                    .pipe(concatMap((run) => (run ? of(send(run, after)) : answerStored(id, client, after, body)))),
                )
              : service
                  .tell(id, client.owner, toRunMessage(request, body))
                  .pipe(map((isKnown) => new Response(null, { status: isKnown ? 204 : 404 }))),
          ),
        ),
      ),
    );
  };

  /** Answers a request for a run that this process does not execute. */
  const answerStored = (
    id: string,
    client: Client<C>,
    after: string | undefined,
    body: AgentRequest,
  ): Observable<Response> =>
    service.find(id, client.owner).pipe(
      concatMap((run) => {
        if (run && !isDurable && service.executor.locate(run.record) === 'elsewhere')
          return of(send(service.runElsewhere(id), after));
        if (run) return recover(run, client, after);
        if (after !== undefined) throw new RunNotFoundError();
        if (body.resume !== undefined) return resume(id, body, client);
        if (body.input !== undefined) return planStart(id, body, client).pipe(concatMap((plan) => launch(plan)));
        throw new RunNotFoundError();
      }),
    );

  const planStart = (
    id: string,
    { input, history }: Pick<StartRequest, 'input' | 'history'>,
    { owner, context }: Client<C>,
    before?: StoredRun,
  ): Observable<RunPlan> =>
    service
      .findAll(
        history.map((run) => run.id),
        owner,
      )
      .pipe(
        map((runs) => {
          // An unknown run contributes only its prompt: the page shows it, but its request never arrived.
          const findRecord = (run: EarlierRun) => runs.get(run.id)?.record ?? run;
          const messages = history.map(findRecord).flatMap(messagesOfRecord);
          const kept = history.map((run) => (runs.has(run.id) ? { id: run.id, input: [] } : run));
          const lost = history.filter((run) => run.hasBegun && !runs.has(run.id)).map((run) => run.id);
          const options = { context, fragments: true, checkpoints, runId: id, history: messages } as const;
          return {
            record: { id, owner, input, history: kept, begun: before?.record.begun },
            stored: before,
            context,
            bytes: [...runs.values()].reduce((sum, run) => sum + sizeOfHistory(run.record), 0),
            events: (controls, wrapTurn) =>
              concat(
                lost.length > 0 ? of({ type: HISTORY_LOST_EVENT, runs: lost }) : EMPTY,
                continued(before, agent.stream(input, { ...options, ...controls, wrapTurn })),
              ),
          };
        }),
      );

  /** Resumes a run that waits, as another run. */
  const resume = (id: string, request: ResumeRequest, client: Client<C>): Observable<Response> =>
    service.find(request.resume, client.owner).pipe(
      concatMap((waiting) => {
        if (!waiting) throw new RunNotFoundError();
        const { state, checkpoint, input, result } = waiting.record;
        if (state !== 'waiting' || !checkpoint) throw notWaiting();
        const { owner } = client;
        const shown = { shown: result?.messages.length, shownUsage: checkpoint.state.usage };
        const { resume: resumes, answers } = request;
        return launch(resumption({ id, owner, input, ...shown, checkpoint, answers, resumes }, client));
      }),
    );

  /** Plans a run that resumes a checkpoint. Its record has the checkpoint before that of the waiting run loses it. */
  const resumption = (record: RunPlan['record'], { context }: Client<C>, before?: StoredRun): RunPlan => {
    const { id, resumes, checkpoint, answers } = record;
    const options = { ...answers, context, fragments: true, checkpoints, runId: id } as const;
    const resumesOther = resumes !== undefined && answers !== undefined;
    return {
      record,
      stored: before,
      context,
      clientErrors: answers?.errors,
      events: (controls, wrapTurn) => {
        if (!checkpoint) throw new RunNotFoundError();
        const rest = agent.resume(checkpoint, { ...options, ...controls, wrapTurn });
        if (log.isShared) return continued(before, rest, checkpoint);
        return concat(resumesOther ? EMPTY : replayCheckpoint(checkpoint, seenBefore(record)), rest);
      },
      ...(resumesOther
        ? { begin: takeCheckpoint(service, resumes, record), undo: returnCheckpoint(service, resumes, record) }
        : {}),
    };
  };

  const continued = (before: StoredRun | undefined, rest: Observable<StreamEvent>, checkpoint?: Checkpoint) =>
    before && log.isShared ? continueRun(log, before.record, rest, checkpoint, isDurable) : rest;

  /** Replays a run that has ended, and resumes one whose process ended. */
  const recover = (run: StoredRun, client: Client<C>, after: string | undefined): Observable<Response> => {
    const { record } = run;
    const { id, state, checkpoint, input, history } = record;
    if (after !== undefined && !log.isShared) throw new RunNotFoundError(); // its events were removed
    if (state !== 'running') return replay(run, after);
    if (!isResumable) return service.settleLost(run).pipe(concatMap((settled) => replay(settled, after)));
    if (checkpoint) return launch(resumption(record, client, run), after);
    // The first checkpoint comes before the first tool, so nothing was executed.
    if (!history) return of(send(replayRecord(record)));
    return planStart(id, { input, history }, client, run).pipe(concatMap((plan) => launch(plan, after)));
  };

  /** Replays a run that has ended: from a shared log, which has all of it; or from its record. */
  const replay = (run: StoredRun, after: string | undefined): Observable<Response> => {
    const { id } = run.record;
    if (!log.isShared) return of(send(replayRecord(run.record)));
    return stateAtEnd(log, id).pipe(
      concatMap((state) => {
        // Its process has ended between the last write of the record and that of the log.
        if (isOpen(state)) return launch(completeLog(log, run), after);
        const isLogged = after !== undefined || state?.hasEvents === true;
        return of(send(isLogged ? service.runElsewhere(id) : replayRecord(run.record), after));
      }),
    );
  };

  /** Plans the execution of a stored run. Emits nothing if there is nothing left to do. */
  const planExecution = (run: StoredRun, client: Client<C>): Observable<RunPlan> => {
    const { record } = run;
    const { id, state, checkpoint, input, history = [] } = record;
    if (state !== 'running')
      return stateAtEnd(log, id).pipe(
        filter(isOpen),
        map(() => completeLog(log, run)),
      );
    return checkpoint ? of(resumption(record, client, run)) : planStart(id, { input, history }, client, run);
  };

  const execute = (id: string, context: C): Observable<never> =>
    recordOf(store, id).pipe(
      concatMap((run) => planExecution(run, { owner: run.record.owner, context })),
      concatMap((plan) => service.launch(plan)),
      concatMap(({ settled }) => settled),
    );

  return Object.assign(service.handler(answer, fail), { shutdown: service.shutdown, execute, ...service.ownerData });
}
