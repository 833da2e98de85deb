import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { concat, delay, map, of, take, throwError, timer } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions, RunOptions } from '../../lib/agent/createAgent.js';
import type { Approve, Decision } from '../../lib/core/approval.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { RunEvent, RunResult } from '../../lib/core/event.js';
import type { JsonValue } from '../../lib/core/json/json.js';
import { userMessage } from '../../lib/core/message.js';
import type { ModelRequest } from '../../lib/core/model.js';
import { progress } from '../../lib/core/progress.js';
import { tool } from '../../lib/core/tool.js';
import type { Orchestrator } from '../../lib/agent/orchestrator.js';
import { toolLoop } from '../../lib/agent/toolLoop.js';
import { twoPhase } from '../../lib/agent/twoPhase.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Step } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';
import { research } from '../../examples/research/research.js';
import { faultsOf, refusalsOf } from '../support/acceptedHistory.js';

/** What the model does before its last words. The numbers of its calls are part of their ids. */
const piece = fc.constantFrom<(id: string) => Step>(
  () => 'I look. ',
  () => ({ type: 'thinking', text: 'Hm.' }),
  () => ({ type: 'metadata', metadata: { cost: 1 } }),
  () => ({ delay: 1 }),
  (id) => toolCall('quick', {}, id),
  (id) => toolCall('slow', {}, id),
  (id) => toolCall('pay', { amount: 5 }, id),
  (id) => toolCall('pay', { amount: 500 }, id),
  (id) => toolCall('rm', {}, id),
  (id) => toolCall('failing', {}, id),
  (id) => toolCall('missing', {}, id),
);
type Kind = 'text' | 'native' | 'tool' | 'twoPhase' | 'research';
interface Scenario {
  readonly turns: readonly (readonly ((id: string) => Step)[])[];
  readonly kind: Kind;
  readonly eager: boolean;
  readonly concurrency: number;
}
const scenario: fc.Arbitrary<Scenario> = fc.record({
  turns: fc.array(fc.array(piece, { minLength: 1, maxLength: 5 }), { maxLength: 2 }),
  kind: fc.constantFrom<Kind[]>('text', 'text', 'native', 'tool', 'twoPhase', 'research'),
  eager: fc.boolean(),
  concurrency: fc.constantFrom(1, 2, Infinity),
});

const usage = { input: 7, output: 2 };
const finish: Step = { type: 'finish', reason: 'stop', usage };
const isCall = (step: Step) => typeof step === 'object' && 'type' in step && step.type === 'toolCallFragment';

/** What the model answers depends on the conversation alone, so that a resumed run receives the same answers. */
function answer({ turns, kind }: Scenario, request: ModelRequest): readonly Step[] {
  const own = request.messages.filter(({ role }) => role === 'model').length;
  const invalid = !request.messages.some((message) => /not valid|Invalid result/.test(JSON.stringify(message)));
  const steps = turns[own]?.map((make, index) => make(`c${own}-${index}`)) ?? [];
  const withCalls = (request.tools?.length ?? 0) > 0 && steps.some(isCall);
  // A result beside other calls: it is validated again when the turn is resumed.
  const early = kind === 'tool' && own === 1 ? [toolCall('return_result', { n: 1 }, 'early')] : [];
  if (withCalls) return [...steps, ...early, finish];
  if (kind === 'tool') return ['Here. ', toolCall('return_result', { n: invalid ? 'one' : 1 }, `r${own}`), finish];
  if (kind === 'native' || (kind === 'twoPhase' && request.output))
    return [invalid ? '{"n":"one"}' : '{"n":1}', finish];
  return [{ type: 'thinking', text: 'So.' }, 'Done', `${own}.`, finish];
}

const orchestrators: Partial<Record<Kind, Orchestrator>> = { twoPhase, research };

/** The decisions: small amounts are approved, others are denied, and a removal is approved with other arguments. */
const decide = (name: string, args: object): Decision => {
  if (name === 'rm') return { approve: true, arguments: { path: '/tmp' } };
  return (args as { amount: number }).amount < 100 ? { approve: true } : { approve: false, reason: 'Too much.' };
};
const approve: Approve = ({ name, arguments: args }) => of(decide(name, args)).pipe(delay(3));

/** An agent of a process of its own. `executed` collects the ids of the calls that it executes. */
function makeAgent(played: Scenario, executed: string[], options: Partial<AgentOptions>) {
  const { kind } = played;
  const log = (id: string) => void executed.push(id);
  const run = (name: string, needsApproval: boolean, output: () => unknown) =>
    tool({ name, description: '', needsApproval, execute: (_, { call }) => (log(call.id), output()) });
  const tools = [
    run('quick', false, () => 'done'),
    run('slow', false, () => concat(of(progress('half')), timer(2).pipe(map(() => 'late')))),
    run('pay', true, () => timer(1).pipe(map(() => 'paid'))),
    run('rm', true, () => 'removed'),
    run('failing', false, () => throwError(() => new Error('No.'))),
  ];
  const model = scriptedModel((request) => answer(played, request), {
    capabilities: { tools: true, typedOutput: kind !== 'tool' },
  });
  const orchestrator = orchestrators[kind];
  return createAgent({
    model,
    tools,
    eagerTools: played.eager,
    toolConcurrency: played.concurrency,
    ...(kind === 'text' || kind === 'research' ? {} : { output: typed(z.object({ n: z.number() })) }),
    ...(orchestrator ? { orchestrator } : {}),
    ...options,
  });
}

interface Played {
  readonly events: readonly RunEvent[];
  readonly executed: readonly string[];
}

type Start = (agent: ReturnType<typeof makeAgent>, options: RunOptions) => ReturnType<typeof agent.stream>;

/** Plays a run in virtual time, up to `count` events. */
function play(played: Scenario, start: Start, options: Partial<AgentOptions>, count = Infinity): Played {
  const scheduler = new TestScheduler(() => undefined);
  return scheduler.run(({ flush }) => {
    const executed: string[] = [];
    const events: RunEvent[] = [];
    let failure: unknown;
    start(makeAgent(played, executed, options), { checkpoints: true })
      .pipe(take(count))
      .subscribe({ next: (event) => events.push(event as RunEvent), error: (error: unknown) => (failure = error) });
    flush();
    expect(failure).toBeUndefined();
    return { events, executed };
  });
}

const stream: Start = (agent, options) => agent.stream('Hi', options);
const resultOf = ({ events }: Played): RunResult => {
  const last = events.at(-1);
  if (last?.type !== 'result') throw new Error('The run has no result.');
  return last.result;
};
const checkpointOf = (event: RunEvent): Checkpoint | undefined =>
  'checkpoint' in event ? event.checkpoint : undefined;
const idsOf = (checkpoint: Checkpoint | undefined) => checkpoint?.open?.results.map(({ id }) => id) ?? [];

/** What comes out of a database that reorders keys. */
function stored<T>(value: T): T {
  const reverse = (_: string, field: JsonValue) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).reverse())
      : field;
  return JSON.parse(JSON.stringify(value, reverse as (key: string, value: unknown) => unknown)) as T;
}

const resuming =
  (checkpoint: Checkpoint, answers: object = {}): Start =>
  (agent, options) =>
    agent.resume(stored(checkpoint), { ...options, ...answers });

const accepted = new Set<string>();
const tools = [tool({ name: 'quick', description: '' })];
function requireAccepted({ messages }: RunResult): void {
  const history = [userMessage('Hi'), ...messages];
  const key = JSON.stringify(history);
  if (accepted.has(key)) return;
  accepted.add(key);
  expect(faultsOf(history)).toEqual([]);
  expect(refusalsOf(history, tools)).toEqual([]);
}

/** Events that a resumed run may emit again: those of calls that were running when the process ended. */
const contentOf = (events: readonly RunEvent[]) =>
  events
    .filter(({ type }) => type !== 'checkpoint')
    .map((event) => {
      if (event.type !== 'turn') return event;
      const { checkpoint: _, ...turn } = event;
      return turn;
    });

describe('a run that is resumed', () => {
  it('ends like an undisturbed run after a kill at every event, and executes no call with a result again', () => {
    fc.assert(
      fc.property(scenario, (played) => {
        const undisturbed = play(played, stream, { approve });
        const result = resultOf(undisturbed);
        requireAccepted(result);
        for (let count = 1; count <= undisturbed.events.length; count++) {
          const { events } = play(played, stream, { approve }, count);
          const checkpoint = events.map(checkpointOf).findLast(Boolean);
          if (!checkpoint) continue; // nothing is lost before the first turn
          const resumed = play(played, resuming(checkpoint), { approve });
          expect(resultOf(resumed)).toEqual(result);
          const recorded = events.flatMap((event) => idsOf(checkpointOf(event)));
          expect(resumed.executed.filter((id) => recorded.includes(id))).toEqual([]);
          const turns = (all: readonly RunEvent[]) =>
            all.flatMap((event) => (event.type === 'turn' ? [event.turn] : []));
          expect([...turns(events), ...turns(resumed.events)]).toEqual(turns(undisturbed.events));
        }
      }),
      { numRuns: 8 },
    );
  });

  it('emits, with the run that waited, the events of an undisturbed run', () => {
    fc.assert(
      fc.property(scenario, (played) => {
        // Decisions that take longer than all other calls: the order of a run that waits.
        const slow: Approve = (request) => of(decide(request.name, request.arguments)).pipe(delay(1000));
        const undisturbed = play(played, stream, { approve: slow });
        const events: RunEvent[] = [];
        const executed: string[] = [];
        let part = play(played, stream, {});
        for (let rounds = 0; resultOf(part).finishReason === 'waiting'; rounds++) {
          expect(rounds).toBeLessThan(5);
          const { waiting = [], checkpoint } = resultOf(part);
          if (!checkpoint) throw new Error('There is no checkpoint.');
          events.push(...part.events.slice(0, -1));
          executed.push(...part.executed);
          const decisions = Object.fromEntries(waiting.map((call) => [call.id, decide(call.name, call.arguments)]));
          part = play(played, resuming(checkpoint, { decisions }), {});
        }
        expect(contentOf([...events, ...part.events])).toEqual(contentOf(undisturbed.events));
        expect([...executed, ...part.executed]).toEqual(undisturbed.executed);
      }),
      { numRuns: 30 },
    );
  });

  it('fails if its orchestrator asks the model again instead of going on with the open calls', () => {
    const played: Scenario = {
      turns: [[(id) => toolCall('pay', { amount: 5 }, id)]],
      kind: 'text',
      eager: false,
      concurrency: 1,
    };
    const own = (pass: boolean): Orchestrator => ({
      name: 'own',
      turn: (state, { resumed, ...context }) => toolLoop.turn(state, pass ? { ...context, resumed } : context),
    });
    const { checkpoint } = resultOf(play(played, stream, { orchestrator: own(true) }));
    if (!checkpoint) throw new Error('There is no checkpoint.');
    let failure: unknown;
    makeAgent(played, [], { orchestrator: own(false) })
      .resume(checkpoint)
      .subscribe({ error: (error: unknown) => (failure = error) });
    expect(failure).toMatchObject({ code: 'configuration', message: expect.stringContaining('"own" did not resume') });
  });
});
