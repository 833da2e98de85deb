import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import type { Message } from '../../lib/core/message.js';
import type { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandlerOptions } from '../../lib/service/http/agentHandler.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { createService } from '../../lib/service/createService.js';
import { durableAgent, durableWorker } from '../../lib/service/stores/dbos/index.js';
import type { DurableWorker } from '../../lib/service/stores/dbos/index.js';
import { scriptedModel } from '../../lib/testing/index.js';
import type { ScriptedTurn } from '../../lib/testing/index.js';
import { createDurableDatabase } from './durableEngine.js';
import { shutDown } from './services.js';

export interface Supervised {
  deaths: number;
  worker: DurableWorker | undefined;
  readonly errors: unknown[];
  die(): void;
  /** Ends the process for ever. */
  stop(): void;
}
export interface WorkerOptions extends Partial<Parameters<typeof durableWorker>[1]> {
  /** The answer to a request, by its messages. */
  readonly script?: (messages: readonly Message[], supervised: Supervised) => ScriptedTurn;
  readonly tools?: readonly ReturnType<typeof tool>[];
  /** More options of the agent. */
  readonly agent?: Pick<AgentOptions, 'orchestrator' | 'output'>;
}

/**
 * A database, and fronts and workers on it. A worker that has died starts again 500 ms later.
 *
 * @param cleanups Receives what ends them.
 */
export function openDurableService<S extends RunStore>(
  cleanups: (() => void)[],
  { store, log }: { readonly store: S; readonly log: RunLog },
) {
  const database = createDurableDatabase();
  const front = (options: AgentHandlerOptions<string> = {}, names: { queue?: string; version?: string } = {}) => {
    const agent = durableAgent<string>({ client: database.client, store, log, ...names });
    const service = createService<string>({ agent, store, log, ...options });
    const handler = agentHandler(service);
    cleanups.push(() => shutDown(handler));
    return Object.assign(handler, { deadLetters: () => service.deadLetters() });
  };
  const supervise = ({ script, tools = [], agent: more = {}, ...options }: WorkerOptions = {}) => {
    let isOver = false;
    const supervised: Supervised = { deaths: 0, worker: undefined, errors: [], die: () => undefined, stop };
    const answer = script ?? (() => ['one ', { delay: 4000 }, 'two'] as ScriptedTurn);
    const model = scriptedModel(({ messages }) => answer(messages, supervised), { keep: 0 });
    function start() {
      const process = database.createProcess();
      const agent = createAgent({ model, tools, ...more });
      const worker = durableWorker(agent as never, {
        ...{ dbos: process.dbos, connect: process.connect, databaseUrl: 'memory' },
        onError: (thrown) => supervised.errors.push(thrown),
        ...options,
        ...{ store: process.guard(options.store ?? store), log: process.guard(options.log ?? log) },
      });
      const running = worker.run.subscribe({ error: (thrown: unknown) => supervised.errors.push(thrown) });
      supervised.worker = worker;
      let isAlive = true;
      supervised.die = () => {
        if (!isAlive) return;
        isAlive = false;
        process.kill();
        running.unsubscribe();
        supervised.deaths += 1;
        if (!isOver) setTimeout(start, 500);
      };
    }
    function stop() {
      isOver = true;
      supervised.die();
    }
    start();
    cleanups.push(stop);
    return supervised;
  };
  const statusOf = (id: string) => database.workflows.get(id)?.status;
  return { ...database, store, log, front, supervise, statusOf };
}
