import { catchError, concatMap, defer, EMPTY, filter, map, type Observable } from 'rxjs';
import { ConfigurationError } from '../core/errors.js';
import type { CallAnswers } from '../core/approval.js';
import type { RunResult } from '../core/event.js';
import { messagesOf, type Input } from '../core/input.js';
import { isUnguessable } from '../transport/randomId.js';
import { createDeadLetters, type DeadLetters } from './deadLetters.js';
import { RequestError } from './http/requestError.js';
import { Kernel } from './kernel.js';
import { OWNERS } from './ownerUsage.js';
import type { ListedRecord } from './ports/recordStore.js';
import type { RunRecord } from './ports/runStore.js';
import { allPages } from './runs/allPages.js';
import { answerRun, openRun, type OpenedRun } from './runs/openRun.js';
import { waitingIn } from './runs/liveAnswers.js';
import { hasExpired, withWaiting } from './runs/waitingRuns.js';
import { shareRun } from './runs/shareRun.js';
import type { SharedRun } from './runs/sharedRun.js';
import type { ServedAgent, ServiceOptions } from './serviceOptions.js';
import type { RunQuery, Service, ServiceRunOptions } from './service.js';

/**
 * Creates a service: the runs of an agent, which several protocols may share.
 *
 * <span class="informal">Made once: whatever a page speaks, its runs have the same limits, owners and end.</span>
 *
 * ```ts
 * const service = createService({ agent, store, log, context: (request) => userOf(request), owner: ({ id }) => id });
 * const chat = agentHandler(service); // remoteAgent
 * const uiChat = uiChatHandler(service); // useChat
 * const agUi = agUiHandler(service); // CopilotKit
 * process.once('SIGTERM', () => service.shutdown().subscribe({ complete: () => process.exit() }));
 * ```
 *
 * @param options `agent`: what `createAgent` returns, or a function that creates it with the tools of the client, for
 * AG-UI. `store`, `log` (default: in memory) and `chats` (default: none) are where it keeps what it has. `context` and
 * `owner` say who asks (default: every request is allowed, and all users are one owner). `checkpoints` (default:
 * false), `grace` and `keep` in milliseconds (default: 60000 each) say how long a run lives, and `lease` (default:
 * 30000) when another process resumes one. `limits` are `maxRunsPerOwner` (default: 100), `maxPromptsPerMinute` and
 * `budget` of each owner (default: none), `maxBodyBytes` (default: 20 MiB),
 * `maxHistoryBytes` (default: 32 MiB), `maxWaitingPrompts` (default: 100) and `maxWaitingBytes` (default: 8 MiB) of a
 * run, and `maxOwnerBytes` of the runs of an owner (default: 64 MiB). `browser` has `allowedHosts` and `allowedOrigins`
 * (default: any), `allowFileUrl` (default: https), `allowEdits` (default: true), `exposeToolErrors` (default: false),
 * `exposeMetadata` (default: none) and `describeError`. `observe` receives each run, with the `name` of its agent
 * (default: `agent`), and `onError` each error.
 * @returns The service.
 * @throws ConfigurationError `options` if there is a `context`, but no `owner`.
 */
export function createService<C = undefined>(
  options: ServiceOptions<C> & { readonly agent: ServedAgent<C> },
): Service<C> {
  return new KernelService(options);
}

class KernelService<C> extends Kernel<C> implements Service<C> {
  run(id: string, input: Input, { context, history = [] }: ServiceRunOptions<C>): Observable<SharedRun> {
    return defer(() => {
      if (!isUnguessable(id)) throw idIsGuessable(id);
      const client = this.access.clientOf(context);
      const earlier = history.map((run) => ({ id: run, input: [] }));
      const body = { input: messagesOf(input), history: earlier };
      return openRun(this, { id, client, body, grace: Infinity });
    }).pipe(map(asShared));
  }

  answer(id: string, answers: CallAnswers, { context }: Pick<ServiceRunOptions<C>, 'context'>): Observable<SharedRun> {
    return defer(() => {
      if (!isUnguessable(id)) throw isAnsweredByClient();
      return answerRun(this, id, answers, this.access.clientOf(context));
    }).pipe(map(asShared));
  }

  continueExpired(query: RunQuery, contextOf: (run: ListedRecord<RunRecord>) => C): Observable<SharedRun> {
    const report = (thrown: unknown) => {
      this.onError(thrown); // the next look may work
      return EMPTY;
    };
    return this.runs({ ...query, state: 'waiting' }).pipe(
      catchError((thrown: unknown) => {
        if (thrown instanceof ConfigurationError) throw thrown;
        return report(thrown);
      }),
      filter(({ id, waiting = [] }) => isUnguessable(id) && hasExpired(waiting)),
      concatMap((run) => defer(() => this.answer(run.id, {}, { context: contextOf(run) })).pipe(catchError(report))),
    );
  }

  deadLetters(): DeadLetters {
    return createDeadLetters(this, this.durable);
  }

  runs(query: RunQuery): Observable<ListedRecord<RunRecord> & Pick<RunResult, 'waiting'>> {
    return defer(() => {
      const { owner, everyOwner = false, state } = query as Partial<Record<'owner' | 'everyOwner', unknown>> & RunQuery;
      if (typeof owner !== 'string' && everyOwner !== true) throw queryHasNoOwner();
      return allPages((cursor) => this.store.list({ owner: typeof owner === 'string' ? owner : null, state, cursor }));
    }).pipe(
      concatMap(({ records }) => {
        const runs = records.filter(({ owner }) => owner !== OWNERS); // without what owners have used
        if (query.state !== 'waiting') return runs;
        return withWaiting(this.store, runs).pipe(
          concatMap((found) => found.map(([record, stored]) => ({ ...record, waiting: waitingIn(stored.record) }))),
        );
      }),
    );
  }
}

const asShared = (run: OpenedRun): SharedRun => ('events$' in run ? run : shareRun(run));

const idIsGuessable = (id: string) =>
  new ConfigurationError(
    'options',
    `The id of the run is ${JSON.stringify(id)}: whoever guesses it could ask for the run.`,
    'Pass `crypto.randomUUID()`.',
  );

/** A thread of AG-UI and a message of `useChat` have names: their client continues from its own history. */
const isAnsweredByClient = () =>
  new RequestError(409, 'Only the client of this run answers it, with its next request.', {}, { code: 'not_waiting' });

const queryHasNoOwner = () =>
  new ConfigurationError(
    'options',
    'The query of `runs` has no owner.',
    'Pass `owner`, what the option `owner` of the service returns, or `everyOwner: true` for an administrator.',
  );
