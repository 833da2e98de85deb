import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  asyncScheduler,
  concat,
  defer,
  forkJoin,
  NEVER,
  map,
  merge,
  ReplaySubject,
  Subject,
  take,
  tap,
  timer,
  toArray,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Agent, AgentOptions } from '../../lib/agent/createAgent.js';
import type { CallAnswers, WaitingCall } from '../../lib/core/approval.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { RunResult, StreamEvent } from '../../lib/core/event.js';
import type { Tool } from '../../lib/core/tool.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import type { AskContext } from '../../lib/tools/ask/askOptions.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { virtual } from '../support/toolCalls.js';

/** What a tool does: questions and steps in sequence, or several at once. */
type Work = 'ask' | 'step' | 'slow step' | readonly Work[];

interface Plan {
  readonly tools: readonly {
    readonly work: readonly Work[];
    readonly isInner: boolean;
    readonly needsApproval: boolean;
  }[];
  readonly toolConcurrency: number;
}

interface Disturbances {
  /** After how many events the process ends, one after the other; then no more. */
  readonly kills: readonly number[];
  /** Whether somebody answers while the run lives. */
  readonly live: readonly boolean[];
  /** Whether only one answer is given at a time. */
  readonly oneByOne: boolean;
  /** After how many events of which attempt the run is stopped. Default: it is not. */
  readonly stop?: { readonly attempt: number; readonly event: number } | undefined;
}

const work = fc.letrec<{ leaf: Work; work: Work }>((tie) => ({
  leaf: fc.constantFrom('ask', 'step', 'slow step'),
  work: fc.oneof({ weight: 3, arbitrary: tie('leaf') }, fc.array(tie('leaf'), { minLength: 2, maxLength: 3 })),
})).work;

const plans: fc.Arbitrary<Plan> = fc.record({
  tools: fc.array(
    fc.record({
      work: fc.array(work, { minLength: 1, maxLength: 4 }),
      isInner: fc.boolean(),
      needsApproval: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  toolConcurrency: fc.constantFrom(1, 2, Infinity),
});

const disturbances: fc.Arbitrary<Disturbances> = fc.record({
  kills: fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 12 }),
  live: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
  oneByOne: fc.boolean(),
});

const stops = fc.record({ attempt: fc.integer({ min: 0, max: 5 }), event: fc.integer({ min: 1, max: 25 }) });

type Effect = (idempotencyKey: string) => void;

/** The tool that does this work. Each effect is written into the ledger. */
function workingTool(name: string, plan: Plan['tools'][number], effect: Effect): Tool {
  const doWork = (task: Work, key: string, { ask, once }: AskContext): Observable<unknown> => {
    if (task === 'ask') return ask({ message: `${name} ${key}?`, schema: { type: 'object' }, key });
    if (typeof task === 'string')
      return once(key, (idempotencyKey) => {
        effect(idempotencyKey);
        return task === 'step' ? `${name} ${key}` : timer(3).pipe(map(() => `${name} ${key}`));
      });
    return forkJoin(task.map((part, index) => doWork(part, `${key}-${index}`, { ask, once })));
  };
  return askTool({
    name,
    description: name,
    parameters: { type: 'object' },
    needsApproval: plan.needsApproval,
    execute: (_, context) =>
      concat(...plan.work.map((task, index) => doWork(task, String(index), context))).pipe(toArray()),
  });
}

/** An agent that calls all tools at once, the inner ones through agents of their own. */
function agentOf(plan: Plan, effect: Effect): Agent {
  const callsOnce = (fragments: readonly ReturnType<typeof toolCall>[], answer: string) =>
    scriptedModel(({ messages }) => (messages.at(-1)?.parts[0]?.type === 'toolResult' ? answer : [...fragments]));
  const tools = plan.tools.map((each, index): Tool => {
    const name = `tool${index}`;
    if (!each.isInner) return workingTool(name, each, effect);
    const model = callsOnce([toolCall('inner', {}, 'i1')], `Inner ${index}.`);
    const inner = createAgent({ model, tools: [workingTool('inner', each, effect)] });
    return agentTool(inner, { name, description: name });
  });
  const fragments = tools.map(({ name }, index) => toolCall(name, { prompt: 'Go.' }, `c${index}`));
  const { toolConcurrency } = plan;
  const options: AgentOptions = { model: callsOnce(fragments, 'Done.'), tools, toolConcurrency };
  return createAgent(options);
}

const answersTo = (waiting: readonly WaitingCall[]): CallAnswers => ({
  results: Object.fromEntries(
    waiting.flatMap(({ id, question }) => (question ? [[id, { said: question.message }]] : [])),
  ),
  decisions: Object.fromEntries(waiting.flatMap(({ id, question }) => (question ? [] : [[id, { approve: true }]]))),
});

/** The call that an event announces as waiting, with its id in the outer run. */
function announced(event: StreamEvent, path = ''): WaitingCall | undefined {
  const { type, id, event: inner } = event as StreamEvent & { readonly id: string; readonly event: StreamEvent };
  if (type === 'nested') return announced(inner, `${path}${id}/`);
  return type === 'toolWaiting' ? { ...(event as StreamEvent & WaitingCall), id: path + id } : undefined;
}

/** The keys of the steps that a checkpoint has recorded. */
const recordedIn = ({ state, open, runId = '' }: Checkpoint): readonly string[] =>
  Object.entries(open?.nested ?? {}).flatMap(([id, inner]) => {
    const key = `${runId}.${state.turn}.${id}`;
    if (inner.orchestrator !== 'askTool') return recordedIn({ ...inner, runId: key });
    return Object.keys((inner.state.memo?.['steps'] as object | undefined) ?? {}).map((step) => `${key}.${step}`);
  });

interface Outcome {
  readonly result: RunResult;
  readonly ledger: readonly string[];
  readonly questions: ReadonlySet<string>;
}

/** Runs an agent to its end. The process ends as often as `kills` says, and continues from what was stored. */
function runDisturbed(plan: Plan, { kills, live, oneByOne, stop }: Disturbances): Outcome {
  const [ledger, questions, recorded] = [[] as string[], new Set<string>(), new Set<string>()];
  let stored: { readonly checkpoint: Checkpoint; readonly answers: CallAnswers } | undefined;
  const results: RunResult[] = [];
  let isStopped = false;
  const agent = agentOf(plan, (key) => {
    if (recorded.has(key)) throw new Error(`The step ${key} was recorded, and runs again.`);
    ledger.push(key);
  });
  const store = (checkpoint: Checkpoint, answers: CallAnswers = {}) => {
    stored = JSON.parse(JSON.stringify({ checkpoint, answers })) as typeof stored;
    for (const key of recordedIn(checkpoint)) recorded.add(key);
  };
  const attempt = (number: number): void => {
    const given = new Subject<CallAnswers>();
    const isLive = live[number % live.length] === true;
    const stopped = new ReplaySubject<void>(1);
    if (isStopped) stopped.next(); // whoever resumes the run learns that it was stopped
    let events = 0;
    const answers = isLive ? { answers: merge(given, NEVER) } : {};
    const options = { checkpoints: true, runId: 'r', stop: stopped, ...answers } as const;
    const isKilled = number < kills.length;
    const known = stored?.checkpoint.open?.waiting ?? []; // a resumed run does not announce them again
    asyncScheduler.schedule(() => given.next(answersTo(known)), 1);
    defer(() =>
      stored ? agent.resume(stored.checkpoint, { ...options, ...stored.answers }) : agent.stream('Go.', options),
    )
      .pipe(
        tap((event) => {
          if (stop?.attempt === number && ++events === stop.event) {
            isStopped = true;
            stopped.next();
          }
          const waiting = announced(event);
          if (waiting) {
            questions.add(waiting.id);
            asyncScheduler.schedule(() => given.next(answersTo([waiting])), 1);
          }
          if (event.type === 'checkpoint') store(event.checkpoint);
          if (event.type === 'turn' && event.checkpoint) store(event.checkpoint);
          if (event.type === 'result') results.push(event.result);
        }),
        isKilled ? take(kills[number] ?? 1) : take(Infinity),
      )
      .subscribe();
  };
  for (let number = 0; number < 300 && !hasEnded(results.at(-1)); number++) {
    const before = results.length;
    virtual(({ flush }) => {
      attempt(number);
      flush();
    });
    const { waiting = [], checkpoint } = results[before] ?? {};
    if (checkpoint) store(checkpoint, answersTo(oneByOne ? waiting.slice(0, 1) : waiting));
  }
  const result = results.at(-1);
  if (!result || !hasEnded(result)) throw new Error('The run has not ended.');
  return { result, ledger, questions };
}

const hasEnded = (result: RunResult | undefined): boolean => ['stop', 'stopped'].includes(result?.finishReason ?? '');

const undisturbed: Disturbances = { kills: [], live: [true], oneByOne: false };

const settings = { numRuns: Number(process.env['ASK_RUNS'] ?? 150) };

describe('a run whose tools ask', () => {
  it('ends as the undisturbed run, whenever its process ends and its people answer', () => {
    fc.assert(
      fc.property(plans, disturbances, (plan, given) => {
        const [expected, actual] = [runDisturbed(plan, undisturbed), runDisturbed(plan, given)];
        expect(actual.result.messages).toEqual(expected.result.messages);
        expect(actual.result.text).toBe(expected.result.text);
        expect(new Set(actual.ledger)).toEqual(new Set(expected.ledger));
        expect(new Set(expected.ledger).size).toBe(expected.ledger.length);
        expect(actual.questions).toEqual(expected.questions);
      }),
      settings,
    );
  });

  it('keeps a valid history when it is stopped at any event, and does no step that the undisturbed run does not', () => {
    fc.assert(
      fc.property(plans, disturbances, stops, (plan, given, stop) => {
        const [expected, actual] = [runDisturbed(plan, undisturbed), runDisturbed(plan, { ...given, stop })];
        const { messages, finishReason } = actual.result;
        if (finishReason === 'stop') expect(messages).toEqual(expected.result.messages);
        const parts = messages.flatMap((message) => message.parts);
        const ids = (type: 'toolCall' | 'toolResult') => parts.flatMap((part) => (part.type === type ? [part.id] : []));
        expect(ids('toolResult')).toEqual(ids('toolCall'));
        // A result of the undisturbed run, or an error that says what has happened to the call.
        const known = new Map(
          expected.result.messages.flatMap((message) =>
            message.parts.map((part) => [part.type + String(Reflect.get(part, 'id')), part]),
          ),
        );
        for (const part of parts) {
          if (part.type !== 'toolResult') continue;
          if (part.error === undefined) expect(part).toEqual(known.get(`toolResult${part.id}`));
          else expect(['cancelled', 'not_executed']).toContain(part.code);
        }
        for (const key of actual.ledger) expect(expected.ledger).toContain(key);
        for (const id of actual.questions) expect(expected.questions).toContain(id);
      }),
      settings,
    );
  });
});
