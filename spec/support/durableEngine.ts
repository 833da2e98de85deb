import { defer, NEVER } from 'rxjs';
import type { Observable } from 'rxjs';
import type { DurableEngine, DurableQueue } from '../../lib/service/stores/dbos/engine.js';
import type { LockClient } from '../../lib/service/stores/dbos/workerLock.js';

export interface Workflow {
  readonly workflowID: string;
  readonly applicationVersion: string;
  readonly priority: number;
  readonly args: readonly [string, unknown];
  readonly createdAt: number;
  status: 'ENQUEUED' | 'PENDING' | 'SUCCESS' | 'ERROR' | 'CANCELLED';
  queueName: string;
  executorId?: string;
  completedAt?: number;
  /** The execution that may write the outcome. */
  owner?: object | undefined;
}

/** What all processes share, as DBOS keeps it in PostgreSQL: queues, workflows and session locks. */
export function createDurableDatabase() {
  const workflows = new Map<string, Workflow>();
  const queues = new Map<string, { readonly workerConcurrency: number }>();
  const locks = new Map<string, object>();
  const ofIds = (ids: readonly string[]) => ids.flatMap((id) => workflows.get(id) ?? []);
  const isOpen = ({ status }: Workflow) => status !== 'SUCCESS' && status !== 'ERROR';
  const resumeWorkflows = (ids: string[], { queueName }: { queueName: string }) => {
    for (const workflow of ofIds(ids).filter(isOpen))
      Object.assign(workflow, { status: 'ENQUEUED', queueName, owner: undefined });
    return Promise.resolve();
  };
  const cancelWorkflows = (ids: string[]) => {
    for (const workflow of ofIds(ids).filter(isOpen))
      Object.assign(workflow, { status: 'CANCELLED', owner: undefined, completedAt: Date.now() });
    return Promise.resolve();
  };
  const listWorkflows: DurableEngine['listWorkflows'] = ({ status, queueName, executorId, completedBefore }) =>
    Promise.resolve(
      [...workflows.values()].filter(
        (each) =>
          (status as string[]).includes(each.status) &&
          (queueName === undefined || each.queueName === queueName) &&
          (completedBefore === undefined || (each.completedAt ?? Infinity) < Date.parse(completedBefore)) &&
          (executorId === undefined || each.executorId === executorId),
      ),
    );
  /** The client of a front. */
  const client: DurableQueue & Pick<DurableEngine, 'listWorkflows'> = {
    listWorkflows,
    resumeWorkflows,
    cancelWorkflows,
    enqueue({ queueName, workflowID, appVersion, priority }, ...args) {
      if (!workflows.has(workflowID))
        workflows.set(workflowID, {
          ...{ workflowID, queueName, applicationVersion: appVersion, priority, createdAt: Date.now() },
          args: args as unknown as readonly [string, unknown],
          status: 'ENQUEUED',
        });
      return Promise.resolve();
    },
  };

  /** A process with DBOS. After `kill`, it does nothing more, and its locks are free. */
  const createProcess = () => {
    let isDead = false;
    let running = 0;
    let config: Parameters<DurableEngine['setConfig']>[0] | undefined;
    let work: Parameters<DurableEngine['registerWorkflow']>[0] = () => Promise.resolve();
    let dispatching: NodeJS.Timeout | undefined;
    const own = {};
    const execute = (workflow: Workflow) => {
      const owner = {};
      Object.assign(workflow, { status: 'PENDING', executorId: config?.executorID, owner });
      running += 1;
      const end = (status: Workflow['status']) => () => {
        running -= 1;
        if (!isDead && workflow.owner === owner) Object.assign(workflow, { status, completedAt: Date.now() });
      };
      work(...workflow.args).then(end('SUCCESS'), end('ERROR'));
    };
    const dispatch = () => {
      for (const [name, { workerConcurrency }] of queues) {
        if (!config?.listenQueues.includes(name)) continue;
        const waiting = [...workflows.values()].filter(
          ({ status, queueName, applicationVersion }) =>
            status === 'ENQUEUED' && queueName === name && applicationVersion === config?.applicationVersion,
        );
        for (const workflow of waiting.sort((a, b) => a.priority - b.priority))
          if (running < workerConcurrency) execute(workflow);
      }
    };
    const dbos: DurableEngine = {
      listWorkflows,
      cancelWorkflows: (ids) => (isDead ? new Promise(() => undefined) : cancelWorkflows(ids)),
      resumeWorkflows: (ids, options) => (isDead ? new Promise(() => undefined) : resumeWorkflows(ids, options)),
      deleteWorkflows: (ids) => Promise.resolve(ids.map((id) => workflows.delete(id))),
      setConfig: (given) => (config = given),
      registerWorkflow: (given) => (work = given),
      registerQueue: (name, options) => Promise.resolve(queues.set(name, options)),
      launch() {
        dispatching = setInterval(dispatch, 100);
        return Promise.resolve();
      },
      async shutdown() {
        clearInterval(dispatching);
        const end = Date.now() + 60_000;
        while (running > 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 100));
      },
    };
    const free = () => {
      for (const [name, holder] of locks) if (holder === own) locks.delete(name);
    };
    const connect = (): LockClient => ({
      connect: () => Promise.resolve(),
      on: () => undefined,
      end() {
        free();
        return Promise.resolve();
      },
      query(text, [, name] = []) {
        const key = String(name);
        const isFree = !locks.has(key) || locks.get(key) === own;
        if (text.includes('unlock')) locks.delete(key);
        else if (isFree) locks.set(key, own);
        return Promise.resolve({ rows: [{ done: isFree }] });
      },
    });
    /** A port that a dead process does not reach. */
    const guard = <P extends object>(port: P): P =>
      new Proxy(port, {
        get(target, name, receiver): unknown {
          const value: unknown = Reflect.get(target, name, receiver);
          if (typeof value !== 'function') return value;
          const call = value as (...args: unknown[]) => Observable<unknown>;
          return (...args: unknown[]) => defer(() => (isDead ? NEVER : call.apply(target, args)));
        },
      });
    return {
      dbos,
      connect,
      guard,
      kill() {
        isDead = true;
        clearInterval(dispatching);
        free();
      },
    };
  };
  return { workflows, client, createProcess };
}
