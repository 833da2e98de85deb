import { asyncScheduler, catchError, concat, concatMap, defer, filter, ignoreElements, NEVER, of, tap } from 'rxjs';
import { throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import type { CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { ConfigurationError } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { isMessage, isResult } from '../../core/eventGuards.js';
import { asArray, type JsonObject } from '../../core/json/json.js';
import { resultsIn, toolCallsOf, userMessage, type Message, type ToolResultPart } from '../../core/message.js';
import { checkAnswers } from '../runs/checkAnswers.js';
import type { ExecutedRun } from '../runs/executeRun.js';
import { messagesOfLost } from '../runs/runEnd.js';
import { writeFirst } from '../runs/writeFirst.js';
import { rejectForbiddenEdits, requireFileUrls, type FileUrlOptions } from '../http/requestRules.js';
import type { RunRecord, RunStore, StoredRun } from '../ports/runStore.js';
import { later, namedId, RequestError } from '../http/requestError.js';
import { Kernel } from '../kernel.js';
import type { HandledAgent } from '../handledAgent.js';
import type { PlacedClient } from '../client.js';
import { readAnswers } from './answers.js';
import { fromAgUiMessages } from '../../transport/agUi/messages.js';
import { isInterrupt, type OutcomeOptions } from './outcome.js';
import type { AgUiMessage, RunAgentInput } from '../../transport/agUi/protocol.js';
import { AgUiRequestError, historyOf, type HistoryOptions } from './request.js';

export interface AgUiRunOptions
  extends Pick<OutcomeOptions, 'clientTools' | 'allowEdits'>, HistoryOptions, FileUrlOptions {}

export interface RunAgUiOptions<C = unknown> extends AgUiRunOptions {
  /** Where the runs that wait for an approval or a result are stored. Default: no run can be resumed. */
  readonly store?: RunStore | undefined;
  /** The owner of the thread. The client chooses the id of its thread, and may choose another user's. Default: ''. */
  readonly owner?: string | undefined;
  /** The value for tools and `prepareTurn`. Default: undefined. */
  readonly context?: C | undefined;
  /** Stops the run when it emits. Default: never. */
  readonly stop?: Observable<void> | undefined;
}

/**
 * Runs an agent for a request of an AG-UI client: starts a run, or resumes the one that waits in the thread.
 *
 * A run that waits for an approval, or for a tool of the client, is stored with its checkpoint. The next request of the
 * thread that answers it resumes it, once: if several requests answer it, in any process, only one takes the
 * checkpoint. A request without answers starts a run with its messages as history, and the checkpoint of the waiting
 * run is removed. If an approval waits, AG-UI requires an answer, and the run fails.
 *
 * ```ts
 * runAgUi(agent, request, { store }).pipe(toAgUi(request)).subscribe(send);
 * ```
 *
 * @param agent The agent, with the client's tools (`clientTools`).
 * @param request The request, as `readAgUiRequest` returns it.
 * @param options `store` (default: no run can be resumed), `owner` (default: all users are one owner), `clientTools`,
 * `instructions`, `context`, `stop`.
 * @returns The events of the run, with the fragments of its calls. Cold: each subscription is a run. It fails with an
 * AgUiRequestError if the request does not match the run that waits.
 */
export function runAgUi<C>(
  agent: HandledAgent<C>,
  request: RunAgentInput,
  { store, owner = '', context, stop = NEVER, ...options }: RunAgUiOptions<C> = {},
): Observable<StreamEvent> {
  return defer(() => agUiRun(new Kernel<C>({ store }), agent, request, { owner, context: context as C }, options)).pipe(
    concatMap((events) => events({ stop, cancel: NEVER, prompts: NEVER })),
  );
}

export const threadRecordId = (owner: string, threadId: string): string => namedId('thread', owner, threadId);

/** Starts or resumes the run of a request. Emits a function that returns its events, after taking the checkpoint. */
export function agUiRun<C>(
  kernel: Kernel<C>,
  agent: HandledAgent<C>,
  request: RunAgentInput,
  client: PlacedClient<C>,
  options: AgUiRunOptions,
): Observable<ExecutedRun> {
  const { owner, context, place } = client;
  const shown = { fragments: true, context } as const;
  const history = historyOf(request, options);
  requireFileUrls(history, options);
  const id = threadRecordId(owner, request.threadId);
  const clientTools = new Set([...request.tools.map(({ name }) => name), ...(options.clientTools ?? [])]);
  const prompts = request.messages.filter(({ role, id }) => role === 'user' && id !== '');
  const protocolWith = (results: readonly ToolResultPart[]) =>
    ({ clientTools: [...clientTools], prompts: prompts.map(({ id }) => id), results }) as unknown as JsonObject;

  const save = (checkpoint: Checkpoint | undefined) =>
    saveThread(kernel, { id, owner, checkpoint }, (record) => protocolWith(lackingResults(history, record)));
  const begin = (work: Observable<ExecutedRun>) =>
    defer(() => {
      if (history.length === 0) throw new AgUiRequestError('it has no content.');
      return kernel.limits.countPrompt(owner, work);
    });
  const startAfter = (record?: RunRecord): Observable<ExecutedRun> => {
    const whole = withResults(history, lackingResults(history, record));
    const start: ExecutedRun = (controls, failure) =>
      (failure ?? defer(() => agent.stream([], { ...shown, ...controls, history: whole }))).pipe(
        catchError((thrown: unknown) => throwError(() => refusedTools(request, thrown))),
        // The checkpoint is written first: the client may answer as soon as it receives the end of the run.
        writeFirst((event) => (isResult(event) && event.result.checkpoint ? save(event.result.checkpoint) : undefined)),
      );
    return of(start);
  };
  const resume = (stored: StoredRun, checkpoint: Checkpoint) => {
    // The tools of the request whose run waits: a later request could list any tool of the server as its own.
    const ownTools = new Set(asArray(stored.record.protocol?.['clientTools']));
    const answers = readAnswers(request, checkpoint.open?.waiting ?? [], (call) =>
      isInterrupt(call, ownTools, options),
    );
    rejectForbiddenEdits(answers?.decisions, options);
    requireFileUrls(answers?.results, options);
    const free = begin(concat(save(undefined), startAfter(stored.record)));
    if (!answers) return free;
    const prompts = newPrompts(request, new Set(asArray(stored.record.protocol?.['prompts'])));
    const executed = kernel.executor.execute({
      record: { ...stored.record, answers },
      stored,
      resumed: checkpoint,
      checkpoints: false,
      restores: true,
      // The client has it, unless its connection has broken.
      ended: ({ messages }) => ({
        result: undefined,
        protocol: protocolWith([...lackingResults(history, stored.record), ...messages.flatMap(resultsIn)]),
      }),
      events: (controls) =>
        agent
          .resume(checkpoint, { ...shown, ...controls, ...answers, ...(prompts.size > 0 ? { prompts } : {}) })
          .pipe(filter((event) => !(isMessage(event) && prompts.has(event.message)))), // the client has them
    });
    return checkAnswers(kernel, owner, checkpoint, answers, executed, agent).pipe(freeIfDeclined(answers, free));
  };

  const work = () =>
    kernel.access.find(id, owner).pipe(
      concatMap((stored) => {
        const { state, checkpoint } = stored?.record ?? {};
        if (stored && state === 'waiting' && checkpoint) return resume(stored, checkpoint);
        const executed = stored ? kernel.executor.locate(stored.record) : 'nowhere';
        const isAnswer = request.resume !== undefined && request.resume.length > 0;
        if (executed === 'elsewhere' || (executed === 'here' && !isAnswer)) throw threadIsBusy();
        if (!isAnswer) return begin(startAfter(stored?.record));
        throw noRunWaits(request.threadId);
      }),
    );
  return kernel.locked(id, client, work, place);
}

/** Writes that the run of a thread waits, or that none does any more. */
const saveThread = <C>(
  { access, executor }: Kernel<C>,
  { id, owner, checkpoint }: Pick<RunRecord, 'id' | 'owner' | 'checkpoint'>,
  protocolAfter: (record: RunRecord | undefined) => JsonObject,
): Observable<never> =>
  access
    .update(id, owner, (record): RunRecord | undefined => {
      if (record && executor.locate(record) !== 'nowhere') return undefined; // a run that was resumed
      if (checkpoint && record?.state === 'waiting') return undefined; // its answers would be for this run
      const state = checkpoint ? 'waiting' : 'ended';
      const fields = { attempt: record?.attempt ?? 1, input: [], updated: asyncScheduler.now() };
      return { id, owner, state, ...fields, checkpoint, protocol: protocolAfter(record) };
    })
    .pipe(
      tap((isSaved) => {
        if (!isSaved) throw notSaved();
      }),
      ignoreElements(),
    );

/** The results that the thread has, and its client has not: of a run that was lost, or whose connection has broken. */
function lackingResults(history: readonly Message[], record: RunRecord | undefined): readonly ToolResultPart[] {
  const lost = record && record.state !== 'waiting' ? messagesOfLost(record).flatMap(resultsIn) : [];
  const known = [...(asArray(record?.protocol?.['results']) as unknown as readonly ToolResultPart[]), ...lost];
  const calls = new Set(history.flatMap(toolCallsOf).map(({ id }) => id));
  for (const { id } of history.flatMap(resultsIn)) calls.delete(id);
  return known.filter(({ id }) => calls.delete(id));
}

const withResults = (history: readonly Message[], results: readonly ToolResultPart[]): readonly Message[] =>
  history.flatMap((message) => {
    const calls = new Set(toolCallsOf(message).map(({ id }) => id));
    const own = results.filter(({ id }) => calls.has(id));
    return own.length > 0 ? [message, userMessage(own)] : [message];
  });

/** Returns the messages that the user sent after the answers. A client may repeat its prompts without what followed. */
function newPrompts({ messages }: RunAgentInput, known: ReadonlySet<unknown>): ReadonlySet<Message> {
  const end = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool');
  const isNew = ({ role, id }: AgUiMessage) => role === 'user' && !known.has(id);
  return new Set(fromAgUiMessages(messages.slice(end + 1).filter(isNew)));
}

/** No version of the agent is needed to decline: the thread would wait for ever. */
function freeIfDeclined<T>({ decisions = {}, results = {} }: CallAnswers, free: Observable<T>) {
  const isDeclined = Object.keys(results).length === 0 && Object.values(decisions).every(({ approve }) => !approve);
  return catchError<T, Observable<T>>((thrown: unknown) => {
    if (isDeclined && thrown instanceof RequestError && thrown.refusal?.code === 'other_version') return free;
    throw thrown;
  });
}

/** A client may offer a tool whose name the server has. */
const refusedTools = ({ tools }: RunAgentInput, thrown: unknown): unknown =>
  tools.length > 0 && thrown instanceof ConfigurationError && thrown.subject === 'tools'
    ? new AgUiRequestError(thrown.message)
    : thrown;

const threadIsBusy = () => later(503, 'A run of this thread is being executed. Ask again.', 1);

const notSaved = () =>
  new AgUiRequestError(
    'another run of this thread is being executed, or waits, so this one cannot wait for an answer. Ask again.',
  );

const noRunWaits = (threadId: string) =>
  new AgUiRequestError(`no run waits in the thread "${threadId}". It was resumed already, or the server has lost it.`);
