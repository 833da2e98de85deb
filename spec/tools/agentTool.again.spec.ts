import { describe, expect, it } from '@jest/globals';
import { map, NEVER, of, retry, Subject, tap, type Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent, type Agent } from '../../lib/agent/createAgent.js';
import type { CallAnswers } from '../../lib/core/approval.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { RunEvent, RunResult } from '../../lib/core/event.js';
import { innermost } from '../../lib/core/nested.js';
import { tool, type Tool } from '../../lib/core/tool.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { deadlineTool } from '../../lib/tools/deadlineTool.js';
import { limitTool } from '../../lib/tools/limitTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { wrapTool } from '../../lib/tools/wrapTool.js';

const described = { name: 'sub', description: '' } as const;
const again = { count: 3, delay: () => of(0) };

/** They execute a call again when it fails. */
const wrappers: Readonly<Record<string, (sub: Tool) => Tool>> = {
  retryTool: (sub) => retryTool(sub, again),
  'limitTool of retryTool': (sub) => limitTool(retryTool(sub, again), { concurrency: 1 }),
  'retryTool of deadlineTool': (sub) => retryTool(deadlineTool(sub, 1000), again),
  'a wrapper of its own': (sub) => wrapTool(sub, (run) => run.pipe(retry(3))),
};

/** A call of the inner agent, what it asks for, and the answer that it gets. */
const kinds: Readonly<
  Record<string, { readonly make: (effect: () => string) => Tool; answer: CallAnswers; id: string }>
> = {
  'a decision': {
    make: (execute) => tool({ name: 'work', description: '', needsApproval: true, execute }),
    answer: { decisions: { w: { approve: true } } },
    id: 'w',
  },
  'a question': {
    make: (effect) =>
      askTool({
        name: 'work',
        description: '',
        execute: (_, { ask }) => ask({ message: '?', schema: z.string() }).pipe(map(effect)),
      }),
    answer: { results: { 'w/1': 'yes' } },
    id: 'w/1',
  },
};

const result: (typeof kinds)[string] = {
  make: () => tool({ name: 'work', description: '' }),
  answer: { results: { w: 'worked' } },
  id: 'w',
};

type Failing = 'before the call' | 'after the call' | 'never';

interface World {
  readonly agent: Agent;
  readonly effects: string[];
  failing: Failing;
}

/** The innermost agent calls `work`, and fails twice, before or after the call. */
function createWorld(levels: number, wrap: (sub: Tool) => Tool, make: (effect: () => string) => Tool): World {
  const effects: string[] = [];
  let failures = 2;
  const failAt = (at: Failing) => {
    if (world.failing === at && failures-- > 0) throw new Error('overloaded');
  };
  const work = make(() => (effects.push('worked'), 'worked'));
  const model = scriptedModel(({ messages }) => {
    if (messages.length === 1) return [toolCall('work', {}, 'w')];
    failAt('after the call');
    return `It ${JSON.stringify(messages.at(-1)?.parts).includes('worked') ? 'has worked' : 'has failed'}.`;
  });
  const prepareTurn = () => (failAt('before the call'), {});
  let agent: Agent = createAgent({ model, tools: [work], prepareTurn });
  for (let level = 0; level < levels; level++) {
    const asks = scriptedModel(({ messages }) =>
      messages.length === 1 ? [toolCall('sub', { prompt: 'Work.' }, 's')] : JSON.stringify(messages.at(-1)?.parts),
    );
    agent = createAgent({ model: asks, tools: [wrap(agentTool(agent, described))] });
  }
  const world: World = { agent, effects, failing: 'never' };
  return world;
}

const inside = (levels: number, { decisions = {}, results = {} }: CallAnswers): CallAnswers => {
  const at = (given: object) =>
    Object.fromEntries(Object.entries(given).map(([id, value]) => [`${'s/'.repeat(levels)}${id}`, value as never]));
  return { decisions: at(decisions), results: at(results) };
};

const askedIn = (events: readonly RunEvent[]) =>
  events.map((event) => innermost(event)).flatMap((event) => (event.type === 'toolWaiting' ? [event.id] : []));

const resultOf = (events: readonly RunEvent[]): RunResult | undefined =>
  events.flatMap((event) => (event.type === 'result' ? [event.result] : [])).at(-1);

const play = (run: Observable<RunEvent>): readonly RunEvent[] =>
  inVirtualTime(() => run).values.map(({ value }) => value);

const stored = (checkpoint: Checkpoint | undefined) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;

const rows = Object.entries(wrappers).flatMap(([wrapper, wrap]) =>
  [1, 2].flatMap((levels) =>
    (['before the call', 'after the call'] as const).map((failing) => ({ wrapper, wrap, levels, failing })),
  ),
);

describe('an inner run whose call is executed again', () => {
  for (const [kind, { make, answer, id }] of Object.entries({ ...kinds, 'a result': result })) {
    const effectsOf = (world: World) => (kind === 'a result' ? [] : world.effects);
    const expected = kind === 'a result' ? [] : ['worked'];

    it.each(rows)(
      `uses ${kind} once, if it is resumed, in $levels levels of $wrapper, and fails $failing`,
      ({ wrap, levels, failing }) => {
        const world = createWorld(levels, wrap, make);
        const first = resultOf(play(world.agent.stream('Go.')));
        expect(first?.waiting?.map((call) => call.id)).toEqual([`${'s/'.repeat(levels)}${id}`]);
        world.failing = failing;
        const values = play(world.agent.resume(stored(first?.checkpoint), inside(levels, answer)));
        expect(resultOf(values)?.text).toContain('It has worked.');
        expect(askedIn(values)).toEqual([]);
        expect(effectsOf(world)).toEqual(expected);
      },
    );
  }

  for (const [kind, { make, answer, id }] of Object.entries(kinds)) {
    it.each(rows)(
      `uses ${kind} once, if it is answered while it runs, in $levels levels of $wrapper, and fails $failing`,
      ({ wrap, levels, failing }) => {
        const world = createWorld(levels, wrap, make);
        world.failing = failing;
        const answers = new Subject<CallAnswers>();
        const answered = tap((event: RunEvent) => {
          if (askedIn([event]).length > 0) answers.next(inside(levels, answer));
        });
        const values = play(world.agent.stream('Go.', { answers }).pipe(answered));
        expect(askedIn(values)).toEqual([`${'s/'.repeat(levels)}${id}`]);
        expect(resultOf(values)?.text).toContain('It has worked.');
        expect(world.effects).toEqual(['worked']);
      },
    );
  }

  it.each(rows)('executes a call that asks nobody once, in $levels levels of $wrapper, and fails $failing', (row) => {
    const world = createWorld(row.levels, row.wrap, (execute) => tool({ name: 'work', description: '', execute }));
    world.failing = row.failing;
    expect(resultOf(play(world.agent.stream('Go.')))?.text).toContain('It has worked.');
    expect(world.effects).toEqual(['worked']);
  });
});

describe('a call of an inner run that is aborted by deadlineTool', () => {
  it.each([1, 2])(
    'asks again in the next execution of retryTool, in %d levels; what has a result is kept',
    (levels) => {
      const begun: string[] = [];
      const endless = (execute: () => unknown) => tool({ name: 'work', description: '', needsApproval: true, execute });
      const work = endless(() => (begun.push('work'), begun.length < 3 ? NEVER : 'worked'));
      const look = tool({ name: 'look', description: '', execute: () => (begun.push('look'), 'seen') });
      const calls = [toolCall('look', {}, 'l'), toolCall('work', {}, 'w')];
      let agent: Agent = createAgent({
        model: scriptedModel(({ messages }) => (messages.length === 1 ? calls : 'Done.')),
        tools: [look, work],
      });
      for (let level = 0; level < levels; level++) {
        const asks = scriptedModel(({ messages }) =>
          messages.length === 1 ? [toolCall('sub', { prompt: 'Work.' }, 's')] : 'Done.',
        );
        const sub = agentTool(agent, described);
        const outermost = level === levels - 1;
        agent = createAgent({ model: asks, tools: [outermost ? retryTool(deadlineTool(sub, 50), again) : sub] });
      }
      const id = `${'s/'.repeat(levels)}w`;
      const decisions = { [id]: { approve: true } } as const;
      const first = resultOf(play(agent.stream('Go.')));
      const second = play(agent.resume(stored(first?.checkpoint), { decisions }));
      expect([askedIn(second), resultOf(second)?.finishReason]).toEqual([[id], 'waiting']);
      const answers = new Subject<CallAnswers>();
      const answered = tap((event: RunEvent) => {
        if (askedIn([event]).length > 0) answers.next({ decisions });
      });
      expect(begun.splice(0)).toEqual(['look', 'work']);
      const live = play(agent.stream('Go.', { answers }).pipe(answered));
      expect(askedIn(live)).toEqual([id, id]);
      expect(begun).toEqual(['look', 'work', 'work']);
      expect(resultOf(live)?.finishReason).toBe('stop');
    },
  );
});

describe('the key of a call whose response is retracted', () => {
  const pay = (keys: string[], name: string) =>
    tool({ name, description: '', execute: (_, { idempotencyKey }) => void keys.push(idempotencyKey) });
  const broken = { error: Object.assign(new Error('broken'), { retryable: true }) };

  it.each([
    ['the same call', { name: 'pay', args: { n: 1, to: 'a' } }, { name: 'pay', args: { to: 'a', n: 1 } }, 1],
    ['a call with other arguments', { name: 'pay', args: { n: 1 } }, { name: 'pay', args: { n: 2 } }, 2],
    ['a call of another tool', { name: 'pay', args: { n: 1 } }, { name: 'refund', args: { n: 1 } }, 2],
  ] as const)(
    '%s with its id: of retryModel with eagerTools, and of retryTool of a sub-agent',
    (_, one, two, count) => {
      const keys: string[] = [];
      const tools = [pay(keys, 'pay'), pay(keys, 'refund')];
      const steps = () => {
        let attempts = 0;
        return scriptedModel(({ messages }) => {
          if (messages.length > 1) return 'Done.';
          return attempts++ === 0
            ? [toolCall(one.name, one.args, 'c'), { delay: 1 }, broken]
            : [toolCall(two.name, two.args, 'c')];
        });
      };
      const eager = createAgent({ model: retryModel(steps(), { count: 3, delay: 1 }), tools, eagerTools: true });
      play(eager.stream('Go.', { runId: 'r' }));
      expect([keys.length, new Set(keys).size]).toEqual([2, count]);
      const sub = agentTool(createAgent({ model: steps(), tools, eagerTools: true }), described);
      const asks = scriptedModel([[toolCall('sub', { prompt: '' }, 's')], 'Done.']);
      keys.length = 0;
      play(createAgent({ model: asks, tools: [retryTool(sub, again)] }).stream('Go.', { runId: 'r' }));
      expect([keys.length, new Set(keys).size]).toEqual([2, count]);
    },
  );
});
