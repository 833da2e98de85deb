import { catchError, concat, concatMap, defaultIfEmpty, defer, EMPTY, from } from 'rxjs';
import { ignoreElements, map, merge, of, switchMap, take, type Observable } from 'rxjs';
import { messagesOf } from '../../../core/input.js';
import { isResult } from '../../../core/eventGuards.js';
import type { StreamEvent } from '../../../core/event.js';
import type { JsonValue } from '../../../core/json/json.js';
import { handOver, recordOf } from '../../runs/handOver.js';
import type { HandledAgent } from '../../handledAgent.js';
import { remoteRun, watchExecutor } from '../../runs/remoteRun.js';
import type { RunLog } from '../../ports/runLog.js';
import type { RunPlan } from '../../runs/executeRun.js';
import type { RunStore } from '../../ports/runStore.js';
import { randomId } from '../../../transport/randomId.js';
import { requireDatabase } from '../retryUnreachable.js';
import { DEFAULT_QUEUE, DEFAULT_VERSION, WORKFLOW, type DurableNames, type DurableQueue } from './engine.js';

/** Options of `durableAgent`. */
export interface DurableAgentOptions extends DurableNames {
  /** The client of DBOS: what `DBOSClient.create` returns. */
  readonly client: DurableQueue;
  /** The store of the workers. */
  readonly store: RunStore;
  /** The log of the workers: one that the processes share. */
  readonly log: RunLog;
}

/**
 * An agent whose runs are executed by workers, and survive the process that executes them.
 *
 * <span class="informal">The counterpart of `durableWorker` in a front: enqueues runs, and reads their events.</span>
 *
 * Pass it to `agentHandler`, with the same store and log: any front then starts, joins, stops and answers any run. It
 * has no model and no tools; those are the workers'. A run that waits for an approval has ended for DBOS, and its
 * answer is another workflow, so a person may answer a week later.
 *
 * ```ts
 * const client = await DBOSClient.create({ systemDatabaseUrl });
 * const handler = agentHandler(durableAgent({ client, store, log }), { store, log, context, owner });
 * ```
 *
 * @param options `client`, `store`, `log`; `queue` (default: `rivulet`), `version` (default: `1`).
 * @returns An agent. The option `context` of its runs is stored as JSON. Leaving a run does not stop it; `stop` does.
 */
export function durableAgent<C extends JsonValue | undefined = undefined>(
  options: DurableAgentOptions,
): HandledAgent<C> {
  const { client, store, log, queue = DEFAULT_QUEUE, version = DEFAULT_VERSION } = options;
  const names = { queue, version };
  const enqueue = (id: string, context: C, priority = 0): Observable<never> =>
    defer(() => {
      const workflow = { workflowName: WORKFLOW, queueName: queue, workflowID: id, appVersion: version, priority };
      return from(client.enqueue(workflow, ...([id, context ?? null] as never[])));
    }).pipe(requireDatabase(), explainMissing, ignoreElements());

  const runRemotely = (
    record: RunPlan['record'],
    context: C,
    stop: Observable<void> = EMPTY,
  ): Observable<StreamEvent> => {
    const { id } = record;
    const start = recordOf(store, id).pipe(
      defaultIfEmpty(undefined),
      concatMap((stored) => {
        const plan = { stored, record: { ...record, durable: names }, events: () => EMPTY }; // a worker has the events
        return handOver({ store, log }, plan, enqueue(id, context));
      }),
    );
    // DBOS keeps leases of its own: a record that says `running` has an executor.
    const lost = watchExecutor(store, id, ({ state }) => state === 'running');
    const stopping = stop.pipe(
      take(1),
      switchMap(() => log.send(id, { type: 'stop' })),
      ignoreElements(),
    );
    const events = remoteRun(log, id, lost).events$.pipe(concatMap((event) => withCheckpoint(id, event)));
    return concat(start, merge(stopping, events));
  };
  /** The log has no checkpoint, which is not meant for a browser: the record has it. */
  const withCheckpoint = (id: string, event: StreamEvent): Observable<StreamEvent> => {
    if (!isResult(event) || event.result.finishReason !== 'waiting') return of(event);
    return recordOf(store, id).pipe(
      map(({ record: { checkpoint } }) => ({
        ...event,
        result: { ...event.result, ...(checkpoint ? { checkpoint } : {}) },
      })),
    );
  };

  return {
    durable: {
      names,
      enqueue,
      resume: ({ id, durable = names }) =>
        defer(() => from(client.resumeWorkflows?.([id], { queueName: durable.queue }) ?? [])).pipe(ignoreElements()),
      cancel: (id) => defer(() => from(client.cancelWorkflows?.([id]) ?? [])).pipe(ignoreElements()),
    },
    stream: (input, { history, runId: id = randomId(), context, stop }) =>
      runRemotely({ id, owner: '', input: messagesOf(input), history: [{ id: '', input: history }] }, context, stop),
    resume: (checkpoint, { runId: id = randomId(), context, stop, decisions, results, errors }) =>
      runRemotely({ id, owner: '', input: [], checkpoint, answers: { decisions, results, errors } }, context, stop),
  };
}

/** A code of PostgreSQL (appendix "Error Codes"). */
const UNDEFINED_TABLE = '42P01';

/** A front may start before the first worker, which creates the tables of DBOS. */
const explainMissing = /* @__PURE__ */ catchError((thrown: unknown) => {
  const isMissing = thrown instanceof Error && (thrown as { readonly code?: unknown }).code === UNDEFINED_TABLE;
  if (!isMissing) throw thrown;
  throw new Error('The tables of DBOS are missing. Start a worker: the first one creates them.', { cause: thrown });
});
