import { describe, expect, it } from '@jest/globals';
import {
  concat,
  concatMap,
  delay,
  filter,
  finalize,
  ignoreElements,
  map,
  merge,
  NEVER,
  of,
  take,
  takeUntil,
  throwError,
  timer,
} from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions, RunOptions } from '../../lib/agent/createAgent.js';
import { backgroundTool } from '../../lib/agent/backgroundTool.js';
import { turnCount } from '../../lib/agent/stopWhen.js';
import { typed } from '../../lib/agent/typed.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import { ConfigurationError } from '../../lib/core/errors.js';
import type { CallAnswers } from '../../lib/core/approval.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { RunEvent, StreamEvent } from '../../lib/core/event.js';
import { messageText, modelMessage, resultsIn, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { progress } from '../../lib/core/progress.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool } from '../../lib/core/tool.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { toView } from '../../lib/operators/toView.js';
import { callsOf, emptyView, viewOf } from '../../lib/operators/view/view.js';
import type { View } from '../../lib/operators/view/view.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { TimedValue } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { deadlineTool } from '../../lib/tools/deadlineTool.js';
import { limitTool } from '../../lib/tools/limitTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { wrapTool } from '../../lib/tools/wrapTool.js';
import { faultsOf, refusalsOf } from '../support/acceptedHistory.js';
import { diagram } from '../support/diagram.js';
import { anyTool } from '../support/toolCalls.js';

const isJoined = (message: Message) => message.metadata?.['background'] !== undefined;

/** What a run did, line by line: `time what`. */
const label = (event: RunEvent): string | undefined => {
  switch (event.type) {
    case 'toolStart':
      return `start ${event.id}`;
    case 'toolProgress':
      return `progress ${event.id} ${JSON.stringify(event.value)}`;
    case 'toolWaiting':
      return `waiting ${event.id}`;
    case 'nested': {
      const inner = label(event.event);
      return inner && `${event.id}/${inner}`;
    }
    case 'toolResult':
      return `result ${event.id} ${short(event)}`;
    case 'message': {
      const { message } = event;
      if (isJoined(message)) return `joined ${resultsIn(message).map(short).join()}`;
      return message.role === 'model' && messageText(message) !== '' ? `says ${messageText(message)}` : undefined;
    }
    case 'turn':
      return `turn ${event.turn} ${event.finishReason}`;
    case 'result':
      return `end ${event.result.finishReason}`;
    default:
      return undefined;
  }
};

const short = ({ result, error, code }: { result?: unknown; error?: string; code?: string }): string => {
  if ((result as { status?: string } | undefined)?.status === 'running') return 'running';
  return error === undefined ? JSON.stringify(result) : (code ?? error);
};

/** An agent that calls the tools in its first turn, and then says how many results have joined. */
const agentOf = (tools: readonly Tool[], options: Partial<AgentOptions> = {}) =>
  createAgent({
    model: scriptedModel(({ messages }) =>
      messages.length === 1
        ? tools.map(({ name }, index) => toolCall(name, { prompt: 'Go.' }, `c${index + 1}`))
        : `${messages.filter(isJoined).length} joined.`,
    ),
    tools,
    ...options,
  });

const linesOf = (values: readonly TimedValue<unknown>[]): readonly string[] =>
  values.flatMap(({ at: time, value }) => {
    const line = label(value as RunEvent);
    return line === undefined ? [] : [`${time} ${line}`];
  });

function run(tools: readonly Tool[], options: Partial<AgentOptions> = {}, more: () => RunOptions = () => ({})) {
  const { values, end } = inVirtualTime(() => agentOf(tools, options).stream('Hi', { runId: 'r1', ...more() }));
  const events = values.map(({ value }) => value as RunEvent);
  const lines = linesOf(values);
  const last = events.at(-1);
  const result = last?.type === 'result' ? last.result : undefined;
  return { lines, events, result, end };
}

const finish: Chunk = { type: 'finish', reason: 'stop' };
const anything = { type: 'object' };
const after = (time: number, name = 'slow', value: unknown = `${name} done`): Tool =>
  tool({ name, description: name, parameters: anything, execute: () => timer(time).pipe(map(() => value)) });

const research = (time = 100, name = 'research') =>
  agentTool(
    createAgent({ model: scriptedModel([[toolCall('step', {}, 's1')], 'Found.']), tools: [after(time, 'step')] }),
    {
      name,
      description: name,
    },
  );

const pay = (name = 'pay') =>
  askTool({
    name,
    description: name,
    parameters: anything,
    execute: (_, { ask, once }) =>
      once('look', () => 40).pipe(
        concatMap(() => ask({ message: 'Which account?', schema: z.object({ account: z.string() }) })),
        map(({ account }) => `paid from ${account}`),
      ),
  });

interface Row {
  readonly title: string;
  readonly tools: () => readonly Tool[];
  readonly options?: Partial<AgentOptions>;
  readonly more?: () => RunOptions;
  readonly lines: readonly string[];
}

const at = <T>(time: number, value: T): Observable<T> => timer(time).pipe(map(() => value));

const rows: readonly Row[] = [
  {
    title: 'answers at once, and joins the result when it is there',
    tools: () => [backgroundTool(after(50))],
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '50 joined "slow done"',
      '50 turn 2 stop',
      '50 says 1 joined.',
      '50 turn 3 stop',
      '50 end stop',
    ],
  },
  {
    title: 'runs calls at the same time, whatever toolConcurrency and toolDeadline say',
    tools: () => [backgroundTool(after(50, 'a')), backgroundTool(after(30, 'b'))],
    options: { toolConcurrency: 1, toolDeadline: 10 },
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 start c2',
      '0 result c2 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '30 joined "b done"',
      '30 turn 2 stop',
      '30 says 1 joined.',
      '50 joined "a done"',
      '50 turn 3 stop',
      '50 says 2 joined.',
      '50 turn 4 stop',
      '50 end stop',
    ],
  },
  {
    title: 'joins at the end of the turn in which it is there, after the results of other calls',
    tools: () => [backgroundTool(after(10, 'a')), after(50, 'b')],
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 start c2',
      '50 result c2 "b done"',
      '50 joined "a done"',
      '50 turn 1 toolCalls',
      '50 says 1 joined.',
      '50 turn 2 stop',
      '50 end stop',
    ],
  },
  {
    title: 'joins a synchronous result, and an error, in the same turn',
    tools: () => [
      backgroundTool(tool({ name: 'a', description: '', parameters: anything, execute: () => 'at once' })),
      backgroundTool(
        tool({ name: 'b', description: '', parameters: anything, execute: () => throwError(() => new Error('No.')) }),
      ),
    ],
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 start c2',
      '0 result c2 running',
      '0 joined "at once"',
      '0 joined failed',
      '0 turn 1 toolCalls',
      '0 says 2 joined.',
      '0 turn 2 stop',
      '0 end stop',
    ],
  },
  {
    title: 'emits progress with the id of the call',
    tools: () => [
      backgroundTool(
        tool({
          name: 'a',
          description: '',
          parameters: anything,
          execute: () => merge(at(10, progress('half')), at(20, 'done')),
        }),
      ),
    ],
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '10 progress c1 "half"',
      '20 joined "done"',
      '20 turn 2 stop',
      '20 says 1 joined.',
      '20 turn 3 stop',
      '20 end stop',
    ],
  },
  {
    title: 'runs an agent, whose events are nested',
    tools: () => [backgroundTool(research())],
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 c1/start s1',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '100 c1/result s1 "step done"',
      '100 c1/turn 1 toolCalls',
      '100 c1/says Found.',
      '100 c1/turn 2 stop',
      '100 c1/end stop',
      '100 joined "Found."',
      '100 turn 2 stop',
      '100 says 1 joined.',
      '100 turn 3 stop',
      '100 end stop',
    ],
  },
  {
    title: 'does not wait for what is not awaited',
    tools: () => [backgroundTool(after(50), { awaited: false })],
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '0 joined cancelled',
      '0 turn 2 stop',
      '0 end stop',
    ],
  },
  {
    title: 'is cancelled by the id of the call',
    tools: () => [backgroundTool(after(50, 'a')), backgroundTool(after(70, 'b'))],
    more: () => ({ cancel: at(20, 'c1') }),
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 start c2',
      '0 result c2 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '20 joined cancelled',
      '20 turn 2 stop',
      '20 says 1 joined.',
      '70 joined "b done"',
      '70 turn 3 stop',
      '70 says 2 joined.',
      '70 turn 4 stop',
      '70 end stop',
    ],
  },
  {
    title: 'cancels a call of an agent in the background',
    tools: () => [backgroundTool(research())],
    more: () => ({ cancel: at(20, 'c1/s1') }),
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 c1/start s1',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '20 c1/result s1 cancelled',
      '20 c1/turn 1 toolCalls',
      '20 c1/says Found.',
      '20 c1/turn 2 stop',
      '20 c1/end stop',
      '20 joined "Found."',
      '20 turn 2 stop',
      '20 says 1 joined.',
      '20 turn 3 stop',
      '20 end stop',
    ],
  },
  {
    title: 'ends with a stop while the run waits for it',
    tools: () => [backgroundTool(after(50, 'a')), backgroundTool(research(60))],
    more: () => ({ stop: at(20, true) }),
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 start c2',
      '0 result c2 running',
      '0 c2/start s1',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '20 c2/result s1 cancelled',
      '20 c2/turn 1 stopped',
      '20 c2/end stopped',
      '20 joined cancelled',
      '20 joined cancelled',
      '20 turn 2 stopped',
      '20 end stopped',
    ],
  },
  {
    title: 'ends with a stop while another call runs',
    tools: () => [backgroundTool(after(50, 'a')), after(60, 'b')],
    more: () => ({ stop: at(20, true) }),
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 start c2',
      '20 result c2 cancelled',
      '20 joined cancelled',
      '20 turn 1 stopped',
      '20 end stopped',
    ],
  },
  {
    title: 'is cancelled at maxTurns, without a wait',
    tools: () => [backgroundTool(after(50))],
    options: { maxTurns: 2 },
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '0 joined cancelled',
      '0 turn 2 stop',
      '0 end stop',
    ],
  },
  {
    title: 'is cancelled at another limit',
    tools: () => [backgroundTool(after(50))],
    options: { stopWhen: turnCount(1) },
    lines: ['0 start c1', '0 result c1 running', '0 joined cancelled', '0 turn 1 limit', '0 end limit'],
  },
  {
    title: 'does not count for the time of a turn, but for that of the run',
    tools: () => [backgroundTool(after(50))],
    options: { timeout: { turn: 10, run: 60 } },
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '50 joined "slow done"',
      '50 turn 2 stop',
      '50 says 1 joined.',
      '50 turn 3 stop',
      '50 end stop',
    ],
  },
  {
    title: 'continues with a prompt of the user meanwhile',
    tools: () => [backgroundTool(after(50))],
    more: () => ({ prompts: at(20, 'Still there?') }),
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '20 turn 2 stop',
      '20 says 0 joined.',
      '50 joined "slow done"',
      '50 turn 3 stop',
      '50 says 1 joined.',
      '50 turn 4 stop',
      '50 end stop',
    ],
  },
  {
    title: 'is approved before it begins',
    tools: () => [backgroundTool({ ...after(50), needsApproval: true })],
    options: { approve: () => at(10, { approve: true }) },
    lines: [
      '0 waiting c1',
      '10 start c1',
      '10 result c1 running',
      '10 turn 1 toolCalls',
      '10 says 0 joined.',
      '60 joined "slow done"',
      '60 turn 2 stop',
      '60 says 1 joined.',
      '60 turn 3 stop',
      '60 end stop',
    ],
  },
  {
    title: 'does not begin if it is denied',
    tools: () => [backgroundTool({ ...after(50), needsApproval: true })],
    options: { approve: () => of({ approve: false }) },
    lines: [
      '0 waiting c1',
      '0 result c1 denied',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '0 turn 2 stop',
      '0 end stop',
    ],
  },
  {
    title: 'does not begin if its arguments are not valid',
    tools: () => [
      backgroundTool(tool({ name: 'a', description: '', parameters: z.object({ n: z.number() }), execute: () => 1 })),
    ],
    lines: ['0 result c1 invalid_arguments', '0 turn 1 toolCalls', '0 says 0 joined.', '0 turn 2 stop', '0 end stop'],
  },
  {
    title: 'waits in memory for an answer of a person',
    tools: () => [backgroundTool(pay())],
    more: () => ({ answers: at<CallAnswers>(30, { results: { 'c1/1': { account: 'A' } } }) }),
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 c1/waiting 1',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '30 c1/start 1',
      '30 c1/result 1 {"account":"A"}',
      '30 joined "paid from A"',
      '30 turn 2 stop',
      '30 says 1 joined.',
      '30 turn 3 stop',
      '30 end stop',
    ],
  },
  {
    title: 'ends the run as waiting if only a person can continue it, after what else runs',
    tools: () => [backgroundTool(pay()), backgroundTool(after(50))],
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 c1/waiting 1',
      '0 start c2',
      '0 result c2 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '50 joined "slow done"',
      '50 turn 2 stop',
      '50 says 1 joined.',
      '50 end waiting',
    ],
  },
  {
    title: 'begins with the model that still streams, if tools are eager',
    tools: () => [backgroundTool(after(50))],
    options: { eagerTools: true },
    lines: [
      '0 start c1',
      '0 result c1 running',
      '0 turn 1 toolCalls',
      '0 says 0 joined.',
      '50 joined "slow done"',
      '50 turn 2 stop',
      '50 says 1 joined.',
      '50 turn 3 stop',
      '50 end stop',
    ],
  },
];

describe('backgroundTool', () => {
  it('answers with a handle, and joins the result later, as in its diagram', () =>
    diagram('backgroundTool', ({ turn1, turn2, turn3 }: Streams<'turn1' | 'turn2' | 'turn3', Chunk>) => {
      const look = tool({ name: 'look', description: '', execute: () => of('rain').pipe(delay(19)) });
      const agent = createAgent({ model: scriptedModel([turn1, turn2, turn3]), tools: [backgroundTool(look)] });
      return agent.stream('Hi').pipe(
        map((event) => label(event as RunEvent)),
        filter((line) => line !== undefined),
      );
    }));

  it.each(rows)('$title', ({ tools, options, more, lines }) => {
    const made = run(tools(), options, more);
    expect(made.lines).toEqual(lines);
    const { messages = [] } = made.result ?? {};
    const history = [userMessage('Hi'), ...messages];
    if (made.result?.finishReason !== 'waiting') {
      expect(faultsOf(history)).toEqual([]);
      expect(refusalsOf(history, tools())).toEqual([]);
    }
  });

  it('has a handle in the view until its result joins, also in the view of the history', () => {
    const views = inVirtualTime(() =>
      agentOf([backgroundTool(after(50)), backgroundTool(research())])
        .stream('Hi')
        .pipe(toView(viewOf([userMessage('Hi')]))),
    ).values.map(({ value }) => value);
    const stateOf = (view: View) => callsOf(view).map(({ id, status, result }) => ({ id, status, result }));
    const states = views.map((view) => JSON.stringify(stateOf(view)));
    expect([...new Set(states)].map((state) => JSON.parse(state) as unknown).slice(-4)).toMatchObject([
      [{ status: 'running' }, { status: 'running' }, { id: 'c2/s1', status: 'running' }],
      [{ status: 'completed', result: 'slow done' }, { status: 'running' }, { status: 'running' }],
      [{ status: 'completed' }, { status: 'running' }, { status: 'completed', result: 'step done' }],
      [{ status: 'completed' }, { status: 'completed', result: 'Found.' }, { status: 'completed' }],
    ]);
    const last = views.at(-1) ?? emptyView;
    expect(last.messages.map(({ role }) => role)).toEqual(['user', 'model']);
    const { result } = run([backgroundTool(after(50)), backgroundTool(research())]);
    const reloaded = viewOf([userMessage('Hi'), ...(result?.messages ?? [])]);
    expect(stateOf(reloaded)).toEqual(stateOf(last).filter(({ id }) => !id.includes('/')));
    expect(reloaded.messages).toHaveLength(2);
  });

  it('runs in the foreground outside of an agent that has it among its tools', () => {
    const outside = tool({ name: 'later', description: '', parameters: anything, execute: () => 'now' });
    const { lines } = run([after(1, 'later')], { prepareTurn: () => ({ tools: [backgroundTool(outside)] }) });
    expect(lines.slice(0, 2)).toEqual(['0 start c1', '0 result c1 "now"']);
    const call = { type: 'toolCall', id: 'c1', name: 'later', arguments: {} } as const;
    const executed = inVirtualTime(() =>
      of<StreamEvent[]>({ type: 'message', message: modelMessage([call]) } as StreamEvent, finish).pipe(
        executeTools([backgroundTool(outside)]),
      ),
    );
    expect(executed.values.map(({ value }) => value)).toContainEqual({
      type: 'toolResult',
      id: 'c1',
      name: 'later',
      result: 'now',
    });
  });

  it('refuses a tool without execute, and options that it does not know', () => {
    expect(() => backgroundTool(tool({ name: 'place', description: '' }))).toThrow(ConfigurationError);
    expect(() => backgroundTool(after(1), { await: true } as never)).toThrow(ConfigurationError);
  });

  const wrappers: readonly (readonly [string, (tool: Tool) => Tool, string])[] = [
    ['deadlineTool', deadlineTool(20), '20 joined timeout'],
    ['limitTool', limitTool({ concurrency: 1 }), '50 joined "slow done"'],
    ['retryTool', retryTool({ count: 1 }), '50 joined "slow done"'],
    ['cacheTool', cacheTool(), '50 joined "slow done"'],
    [
      'wrapTool',
      wrapTool((work) => work.pipe(map((value) => ({ wrapped: value })))),
      '50 joined {"wrapped":"slow done"}',
    ],
  ];
  it.each(wrappers)('%s applies to the work, inside and outside', (_, wrap, line) => {
    const inside = run([backgroundTool(wrap(after(50)))]).lines;
    const outside = run([wrap(backgroundTool(after(50)))]).lines;
    expect(outside).toEqual(inside);
    expect(inside).toContain(line);
    expect(inside).toContain('0 result c1 running');
  });

  it('waits no longer when its answers fail: the run fails with their error, as in the foreground', () => {
    const agent = createAgent({
      model: scriptedModel([[toolCall('pay', {}, 'c1')], 'Later.']),
      tools: [backgroundTool(pay())],
    });
    const failed = new Error('no answers');
    const answers = concat(
      timer(30).pipe(ignoreElements()),
      throwError(() => failed),
    );
    expect(inVirtualTime(() => agent.stream('Hi', { answers }))).toMatchObject({
      end: 'failed',
      error: failed,
      at: 30,
    });
  });

  it('does not begin after its run was unsubscribed, by the handler of any event', () => {
    const begun: boolean[] = [];
    let isOver = false;
    const work = anyTool('work', () => (begun.push(isOver), timer(1)));
    const look = anyTool('look', () => timer(1));
    const play = (count: number) => {
      isOver = false;
      const model = scriptedModel([[toolCall('look', {}, 'c1')], [toolCall('work', {}, 'c2')], 'Waits.', 'Done.']);
      const agent = createAgent({ model, tools: [look, backgroundTool(work)] });
      return inVirtualTime(() =>
        agent.stream('Go.', { checkpoints: true }).pipe(
          take(count),
          finalize(() => (isOver = true)),
        ),
      );
    };
    const { length } = play(Infinity).values;
    expect(begun).toEqual([false]);
    for (let count = 1; count < length; count++) play(count);
    expect(begun).not.toContain(true);
    expect(length).toBeGreaterThan(10);
  });

  it('is unsubscribed with the run, and with a run that fails', () => {
    const open = new Set<string>();
    const work = (name: string) =>
      backgroundTool(
        tool({
          name,
          description: '',
          parameters: anything,
          execute: (_, { signal }) => {
            open.add(name);
            signal.addEventListener('abort', () => open.delete(name));
            return NEVER;
          },
        }),
      );
    const tools = [work('a'), work('b')];
    const left = inVirtualTime(() =>
      merge(
        agentOf(tools)
          .stream('Hi')
          .pipe(ignoreElements(), takeUntil(timer(30))),
        timer(29).pipe(map(() => open.size)),
      ),
    );
    expect(left.values).toEqual([{ at: 29, value: 2 }]);
    expect(open.size).toBe(0);
    expect(run(tools, { timeout: { run: 30 } }).end).toBe('failed');
    expect(open.size).toBe(0);
  });

  it('counts the usage of an agent in the background once, whenever its turns end', () => {
    const counted = (time: number) => {
      const answer: Chunk[] = [
        { type: 'text', text: 'Found.' },
        { type: 'finish', reason: 'stop', usage: { total: 5 } },
      ];
      const inner = createAgent({ model: scriptedModel([timer(time).pipe(concatMap(() => answer))]) });
      return run([backgroundTool(agentTool(inner, { name: 'research', description: '' })), after(20)]).result?.usage;
    };
    expect([counted(10), counted(20), counted(40)]).toEqual([{ total: 5 }, { total: 5 }, { total: 5 }]);
  });

  it('continues the work of a run that waited for a person, with what it has recorded', () => {
    const agent = agentOf([backgroundTool(pay()), backgroundTool(after(50))]);
    const { value } = inVirtualTime(() => agent.run('Hi', { runId: 'r1' })).values[0] ?? {};
    expect(value?.waiting).toMatchObject([{ id: 'c1/1', path: ['c1', '1'], question: { message: 'Which account?' } }]);
    const stored = JSON.parse(JSON.stringify(value?.checkpoint)) as Checkpoint;
    const answered = { results: { 'c1/1': { account: 'A' } } };
    const { values } = inVirtualTime(() => agent.resume(stored, answered));
    expect(linesOf(values)).toEqual([
      '0 c1/start 1',
      '0 c1/result 1 {"account":"A"}',
      '0 joined "paid from A"',
      '0 turn 3 stop',
      '0 says 2 joined.',
      '0 turn 4 stop',
      '0 end stop',
    ]);
    const wrong = inVirtualTime(() => agent.resume(stored, { results: { 'c9/1': {} } }));
    expect(wrong).toMatchObject({ error: { subject: 'results' } });
    const again = inVirtualTime(() => agent.resumeRun(stored)).values[0]?.value; // nobody has answered
    expect(again?.waiting).toEqual(value?.waiting);
    expect(again?.messages).toEqual(value?.messages);
  });

  it('asks a model for its typed output again when a result has joined', () => {
    const model = scriptedModel(({ messages }) =>
      messages.length === 1
        ? [toolCall('slow', {}, 'c1')]
        : JSON.stringify({ joined: messages.filter(isJoined).length }),
    );
    const output = typed(z.object({ joined: z.number() }));
    const agent = createAgent({ model, tools: [backgroundTool(after(50))], output });
    expect(inVirtualTime(() => agent.run('Hi')).values[0]?.value.output).toEqual({ joined: 1 });
    const events = inVirtualTime(() => agent.stream('Hi', { checkpoints: true })).values;
    const checkpoints = events.flatMap(({ value }) =>
      value.type === 'turn' || value.type === 'checkpoint' ? (value.checkpoint ?? []) : [],
    );
    for (const checkpoint of checkpoints)
      expect(inVirtualTime(() => agent.resumeRun(checkpoint)).values[0]?.value.output).toEqual({ joined: 1 });
  });

  const guarded = (): readonly Tool[] => [backgroundTool(after(50)), { ...after(5, 'pay'), needsApproval: true }];

  it('has ended before the run waits for an approval, and its result joins once', () => {
    const agent = agentOf(guarded());
    const { values } = inVirtualTime(() => agent.stream('Hi', { runId: 'r1' }));
    expect(linesOf(values)).toEqual(['0 start c1', '0 result c1 running', '0 waiting c2', '50 end waiting']);
    const last = values.at(-1)?.value;
    const { checkpoint, waiting } = last?.type === 'result' ? last.result : {};
    expect(waiting).toMatchObject([{ id: 'c2' }]);
    const stored = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;
    const rest = inVirtualTime(() => agent.resume(stored, { decisions: { c2: { approve: true } } }));
    expect(linesOf(rest.values)).toEqual([
      '0 start c2',
      '5 result c2 "pay done"',
      '5 joined "slow done"',
      '5 turn 1 toolCalls',
      '5 says 1 joined.',
      '5 turn 2 stop',
      '5 end stop',
    ]);
    const end = rest.values.at(-1)?.value;
    const messages = end?.type === 'result' ? end.result.messages : [];
    expect(faultsOf([userMessage('Hi'), ...messages])).toEqual([]);
  });

  it('is stopped while another call of the run waits for an approval', () => {
    const { lines, result } = run(guarded(), {}, () => ({ stop: at(20, true) }));
    expect(lines.slice(3)).toEqual([
      '20 result c2 not_executed',
      '20 joined cancelled',
      '20 turn 1 stopped',
      '20 end stopped',
    ]);
    expect(faultsOf([userMessage('Hi'), ...(result?.messages ?? [])])).toEqual([]);
  });

  it('begins once if the model starts its response over', () => {
    let begun = 0;
    const work = tool({
      name: 'work',
      description: '',
      execute: () => {
        begun += 1;
        return timer(50).pipe(map(() => 'done'));
      },
    });
    const retract: Chunk = { type: 'retract' };
    const call: Chunk[] = [toolCall('work', {}, 'c1'), { type: 'finish', reason: 'toolCalls' }];
    const model = scriptedModel([
      timer(0).pipe(concatMap(() => [toolCall('work', {}, 'c0'), retract, ...call])),
      'Wait.',
      'Done.',
    ]);
    const agent = createAgent({ model, tools: [backgroundTool(work)], eagerTools: true });
    const { values } = inVirtualTime(() => agent.stream('Hi'));
    expect(linesOf(values).slice(-6)).toEqual([
      '0 says Wait.',
      '50 joined "done"',
      '50 turn 2 stop',
      '50 says Done.',
      '50 turn 3 stop',
      '50 end stop',
    ]);
    expect(begun).toBe(1);
  });
});
