import fc from 'fast-check';
import {
  concat,
  concatMap,
  defer,
  EMPTY,
  filter,
  firstValueFrom,
  forkJoin,
  ignoreElements,
  map,
  merge,
  NEVER,
  noop,
  of,
  race,
  timer,
} from 'rxjs';
import { tap, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { Conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunStore, StoredRun } from '../../lib/service/ports/runStore.js';
import type { ToolCallView } from '../../lib/operators/view/view.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import type { AskContext } from '../../lib/tools/ask/askOptions.js';
import { mapStore } from './stores.js';
import { inVirtualTime } from './virtualTime.js';

/** What a tool does, one after the other; what is in a list is done at once. */
type Op = 'once' | 'ask';
type Program = readonly (Op | readonly Op[])[];
/** A call of a turn: with questions, with an approval, without either, or of an inner agent that makes such calls. */
type Call =
  | { readonly kind: 'work'; readonly program: Program }
  | { readonly kind: 'pay' | 'look' }
  | { readonly kind: 'delegate'; readonly calls: readonly Call[] };
/** The calls of each turn of the run. */
export type Script = readonly (readonly Call[])[];

const ops = fc.constantFrom<Op>('once', 'ask');
const program = fc.array(fc.oneof({ weight: 3, arbitrary: ops }, fc.array(ops, { minLength: 2, maxLength: 2 })), {
  minLength: 1,
  maxLength: 2,
});
const leaf = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('work' as const), program }) },
  fc.record({ kind: fc.constantFrom('pay' as const, 'look' as const) }),
);
const inner = fc.record({
  kind: fc.constant('delegate' as const),
  calls: fc.array(leaf, { minLength: 1, maxLength: 2 }),
});
export const scripts: fc.Arbitrary<Script> = fc.array(
  fc.array(fc.oneof({ weight: 3, arbitrary: leaf }, inner), { minLength: 1, maxLength: 2 }),
  { minLength: 1, maxLength: 2 },
);

/** When a process ends: it is killed before or after the n-th write of a record or the log, or it shuts down then. */
interface Kill {
  readonly write: number;
  readonly when: 'before' | 'after' | 'shutdown';
}

interface WorldOptions {
  readonly kill?: Kill | undefined;
  /** Whether the log outlives its process. */
  readonly hasSharedLog?: boolean;
  /** Whether the page is loaded again whenever it shows calls that wait. */
  readonly reloads?: boolean;
  /** Whether calls begin before the model's message is complete. */
  readonly eagerTools?: boolean;
  /** How long a run waits in memory. */
  readonly patience?: number | undefined;
  /** After how many views the person stops the answer. Default: never. */
  readonly stopAfter?: number | undefined;
}

/** What is the same however often the process is killed. */
interface Outcome {
  readonly view: unknown;
  readonly history: unknown;
  /** The steps that were done: each has one idempotency key. */
  readonly steps: readonly string[];
  readonly asked: readonly string[];
}

/** How the last run of a script has ended. */
interface Ending {
  readonly finishReason: string | undefined;
  /** The calls of the history that have no result. */
  readonly open: readonly string[];
}

/** Plays a script in a service, until the answer is complete. Fails if a recorded step runs again. */
export const playScript = (script: Script, options: WorldOptions = {}) =>
  inVirtualTime(async () => {
    const world = createWorld(script, options);
    const chat = await world.visit();
    const { views, writes, kills } = world.counts;
    return { outcome: world.outcomeOf(chat), ending: world.ending(), views, writes, kills };
  });

interface Process {
  readonly handler: (request: Request) => Promise<Response>;
  readonly cut: AbortController;
  /** Rejects when the process was killed. */
  readonly gone: Promise<never>;
  isDead: boolean;
  /** Leaves the runs of the process to another one. */
  end: () => void;
}

function createWorld(
  script: Script,
  { kill, hasSharedLog = false, reloads = false, eagerTools = false, patience, stopAfter }: WorldOptions,
) {
  const records = mapStore();
  const sharedLog = memoryLog();
  const ledger = new Map<string, string>();
  const asked = new Set<string>();
  const problems = new Set<string>();
  const counts = { views: 0, writes: 0, kills: 0 };
  let attempts = 0;
  let current = startProcess();

  function startProcess(): Process {
    const cut = new AbortController();
    const gone = new Promise<never>((_, reject) =>
      cut.signal.addEventListener('abort', () => reject(new TypeError('The process was killed.'))),
    );
    gone.catch(() => undefined);
    const process: Process = { handler: (request) => handler(request), cut, gone, isDead: false, end: noop };
    const log = hasSharedLog ? { ...dying(sharedLog, ['append', 'end'], process), isShared: true } : memoryLog();
    const handler = agentHandler(agentOf(process), {
      store: dying<RunStore>(records, ['put', 'delete'], process),
      log,
      checkpoints: true,
      patience,
      onError: (thrown) => process.isDead || problems.add(String(thrown)),
    });
    process.end = () =>
      void handler.shutdown('abandon').subscribe({ error: (thrown: unknown) => problems.add(String(thrown)) });
    return process;
  }

  /** A port whose process may be killed by a write. Nothing of a dead process is answered. */
  function dying<P extends RunLog | RunStore>(port: P, writing: readonly string[], process: Process): P {
    const calls = Object.entries(port).flatMap(([name, call]: [string, unknown]) => {
      if (typeof call !== 'function') return [];
      const work = call as (...args: readonly unknown[]) => Observable<unknown>;
      const guarded = (...args: readonly unknown[]) =>
        defer(() => {
          if (process.isDead) return NEVER;
          if (!writing.includes(name)) return work(...args);
          counts.writes += 1;
          if (!kill || counts.kills > 0 || counts.writes !== kill.write) return work(...args);
          counts.kills += 1;
          if (kill.when === 'shutdown') return merge(work(...args), shutDown(process));
          if (kill.when === 'before') {
            die(process);
            return NEVER;
          }
          return concat(work(...args).pipe(ignoreElements()), dead(process));
        });
      return [[name, guarded] as const];
    });
    return { ...port, ...Object.fromEntries(calls) };
  }

  /** Another process begins while this one leaves its runs to it. */
  const shutDown = (process: Process) =>
    defer(() => {
      current = startProcess();
      process.end();
      return EMPTY;
    });

  const dead = (process: Process) =>
    defer(() => {
      die(process);
      return NEVER;
    });

  function die(process: Process): void {
    process.isDead = true;
    for (const [id, { record, version }] of records.records)
      records.records.set(id, { version, record: { ...record, executor: undefined } });
    current = startProcess();
    setImmediate(() => process.cut.abort());
  }

  function step(process: Process, name: string, key: string): Observable<string> {
    if (process.isDead) return NEVER;
    if (isRecorded(records.records, name)) problems.add(`The step ${name} is recorded, and runs again.`);
    for (const [other, step] of ledger)
      if ((other === key) !== (step === name)) problems.add(`${name} has the key ${key}, and ${step} has ${other}.`);
    ledger.set(key, name);
    return timer(1).pipe(concatMap(() => (process.isDead ? NEVER : of(`${name} done`))));
  }

  function received(name: string): void {
    if (!isRecorded(records.records, name)) problems.add(`The tool has received ${name} before it is recorded.`);
  }

  /** The agent of a process, and the one that it delegates to. */
  function agentOf(process: Process, isInner = false): ReturnType<typeof createAgent> {
    const parameters = z.object({ name: z.string() });
    const work = askTool({
      name: 'work',
      description: 'Works.',
      parameters,
      execute: ({ name }, context) => run(programOf(script, name), name, context, process),
    });
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      parameters,
      needsApproval: true,
      atMostOnce: false,
      execute: ({ name }, { idempotencyKey }) => {
        if (process.isDead) return NEVER;
        ledger.set(idempotencyKey, name);
        return of(`${name} paid`);
      },
    });
    const look = tool({ name: 'look', description: 'Looks.', parameters, execute: ({ name }) => `${name} seen` });
    const model = scriptedModel(({ messages }) => {
      const results = messages.filter(({ parts }) => parts.some(({ type }) => type === 'toolResult')).length;
      const [prompt] = messages[0]?.parts ?? [];
      const path = isInner && prompt?.type === 'text' ? prompt.text : '';
      const calls = callsOf(script, path)[results];
      const attempt = (attempts += 1); // a provider chooses other ids if it is asked again
      return calls
        ? ['I work. ', ...calls.map(([call, name]) => callOf(call, name, attempt)), { delay: 5 }]
        : [`Done ${path}.`];
    });
    const tools = [work, pay, look] as const;
    if (isInner) return createAgent({ model, tools, toolConcurrency: 2, eagerTools });
    const delegate = agentTool(agentOf(process, true), { name: 'delegate', description: 'Delegates.' });
    return createAgent({ model, tools: [...tools, delegate], toolConcurrency: 2, eagerTools });
  }

  /** Does what a program says. Its result has all that it has received. */
  const run = (ops: Program, name: string, context: AskContext, process: Process): Observable<string> => {
    const one = (op: Op, key: string): Observable<string> =>
      op === 'once'
        ? context.once(key, (idempotencyKey) => step(process, key, idempotencyKey)).pipe(tap(() => received(key)))
        : context.ask({ message: `${key}?`, schema: z.object({ text: z.string() }), key }).pipe(
            tap(() => received(key)),
            map(({ text }) => text),
          );
    const each = ops.map((op, index) =>
      typeof op === 'string'
        ? one(op, `${name}.${index}`)
        : forkJoin(op.map((part, place) => one(part, `${name}.${index}.${place}`))).pipe(map((all) => all.join())),
    );
    return concat(...each).pipe(
      toArray(),
      map((all) => all.join('; ')),
    );
  };

  const open = (saved?: string) => {
    const agent = remoteAgent('http://service.test/', {
      retryDelay: 5,
      retries: 50,
      fetch: async (url, init) => {
        const { handler, cut, gone } = current;
        const response = await Promise.race([handler(new Request(url, init)), gone]);
        const body = response.body?.pipeThrough(new TransformStream(), { signal: cut.signal }) ?? null;
        return new Response(body, { status: response.status, headers: response.headers });
      },
    });
    const chat = conversation(agent, { saved });
    const view = chat.view$.subscribe(() => {
      counts.views += 1;
      if (counts.views === stopAfter) chat.stop();
    });
    return { chat, view };
  };

  const answer = (chat: Conversation, call: ToolCallView) => {
    asked.add(call.id.replaceAll(/~\d+/g, ''));
    if (call.question) chat.answer(call.id, { text: `answer to ${call.question.message}` });
    else chat.decide(call.id, { approve: true });
  };

  return {
    counts,
    async visit(): Promise<Conversation> {
      let page = open();
      page.chat.send('Work.');
      for (let rounds = 0; rounds < 40; rounds += 1) {
        const settled$ = page.chat.view$.pipe(
          filter((view) => view.waiting.length > 0 || ['idle', 'stopped', 'failed'].includes(view.status)),
        );
        const hour = timer(3_600_000).pipe(map(() => page.chat.view));
        const { status, waiting } = await firstValueFrom(race(settled$, hour));
        if (status === 'stopped') await firstValueFrom(timer(120_000)); // the page tells the service
        if (status === 'idle' || status === 'stopped') return page.chat;
        if (waiting.length === 0) throw new Error([...problems, JSON.stringify(page.chat.view)].join('\n'));
        const [call] = waiting;
        if (call) answer(page.chat, call);
        if (!reloads) continue;
        const saved = JSON.stringify(page.chat.save());
        page.view.unsubscribe();
        page = open(saved);
      }
      throw new Error('The run does not end.');
    },
    ending(): Ending {
      const last = [...records.records.values()].find(({ record: { resumedBy } }) => resumedBy === undefined);
      const { finishReason, messages = [] } = last?.record.result ?? {};
      const parts = messages.flatMap((message) => message.parts);
      const results = new Set(parts.flatMap((part) => (part.type === 'toolResult' ? [part.id] : [])));
      const open = parts.flatMap((part) => (part.type === 'toolCall' && !results.has(part.id) ? [part.id] : []));
      return { finishReason, open };
    },
    outcomeOf(chat: Conversation): Outcome {
      if (problems.size > 0) throw new Error([...problems].join('\n'));
      const [exchange] = chat.view.exchanges;
      const last = [...records.records.values()].find(({ record: { resumedBy } }) => resumedBy === undefined);
      return {
        view: withoutAttempts(exchange?.messages),
        history: withoutAttempts(last?.record.result?.messages),
        steps: [...ledger.values()].sort(),
        asked: [...asked].sort(),
      };
    },
  };
}

type NamedCall = readonly [call: Call, name: string];

/** The calls of each turn of the run, or of the inner run of a call, with their names. */
function callsOf(script: Script, path: string): readonly (readonly NamedCall[])[] {
  const outer = path === '' ? undefined : findCall(script, path);
  const turns = outer?.kind === 'delegate' ? [outer.calls] : path === '' ? script : [];
  return turns.map((calls, turn) =>
    calls.map((call, index) => [call, `${path}${path && '-'}${turn}${index}`] as const),
  );
}

function findCall(script: Script, name: string): Call | undefined {
  const outer = name.includes('-') ? name.slice(0, name.indexOf('-')) : '';
  return callsOf(script, outer)
    .flat()
    .find(([, known]) => known === name)?.[0];
}

function programOf(script: Script, name: string): Program {
  const call = findCall(script, name);
  return call?.kind === 'work' ? call.program : [];
}

const callOf = (call: Call, name: string, attempt: number) =>
  toolCall(call.kind, call.kind === 'delegate' ? { prompt: name } : { name }, `c${name}~${attempt}`);

/** A value without the numbers of the requests in the ids of calls. */
const withoutAttempts = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null).replaceAll(/~\d+/g, ''));

/** Whether the checkpoint of a record has the result of a step, or the answer to a question. */
const isRecorded = (records: ReadonlyMap<string, StoredRun>, name: string): boolean =>
  [...records.values()].some(({ record }) => {
    const checkpoint = JSON.stringify(record.checkpoint ?? {});
    return checkpoint.includes(`"${name}":"${name} done"`) || checkpoint.includes(`"text":"answer to ${name}?"`);
  });
