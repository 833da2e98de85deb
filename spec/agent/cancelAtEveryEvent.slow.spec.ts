import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Subject, concat, defer, finalize, map, of, takeUntil, tap, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { RunOptions } from '../../lib/agent/createAgent.js';
import { ProviderError } from '../../lib/core/errors.js';
import type { RunEvent, RunResult } from '../../lib/core/event.js';
import { isToolCall, isToolResult } from '../../lib/core/eventGuards.js';
import { failedRunOf } from '../../lib/core/failedRun.js';
import { repairHistory } from '../../lib/core/history.js';
import { messageText, modelMessage, toolCallsOf, unfinishedResult, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { progress } from '../../lib/core/progress.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Step } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';
import { faultsOf, refusalsOf } from '../support/acceptedHistory.js';

/** Counts what is open: requests, tools, notifiers and the listeners of signals. */
class Open {
  count = 0;
  /** Counts an Observable while it is subscribed. */
  readonly track = <T>(source: Observable<T>): Observable<T> =>
    defer(() => {
      this.count++;
      return source.pipe(finalize(() => this.count--));
    });
}

const toolsOf = (open: Open) => [
  tool({ name: 'quick', description: '', execute: () => 'done' }),
  tool({
    name: 'slow',
    description: '',
    execute: () =>
      open.track(concat(of(progress('half')), timer(2).pipe(map(() => 'held')), timer(2).pipe(map(() => 'done')))),
  }),
  tool({
    name: 'strict',
    description: '',
    parameters: z.object({ city: z.string() }),
    execute: ({ city }) => city,
  }),
  tool({ name: 'guarded', description: '', needsApproval: true, execute: () => 'done' }),
  tool({ name: 'failing', description: '', execute: () => open.track(throwError(() => new Error('No.'))) }),
];

const delay = { delay: 1 } as const;
const failure = () => new ProviderError('scripted', 'Busy.', { retryable: true });

/** The steps of a turn before its last text. */
const step = fc.constantFrom<readonly Step[]>(
  ['I ', 'look.'],
  [{ type: 'thinking', text: 'Hm.' }],
  [toolCall('quick')],
  [toolCall('slow'), delay],
  [toolCall('slow')],
  [toolCall('strict', { city: 'Oslo' })],
  [toolCall('strict')],
  [toolCall('failing')],
  [toolCall('guarded')],
  [toolCall('missing')],
  [delay],
  [
    { type: 'toolCallFragment', index: 7, name: 'quick', arguments: '{' },
    delay,
    { type: 'toolCallFragment', index: 7, arguments: '}' },
  ],
  ['void', delay, { type: 'retract' }],
);
const turn = fc.array(step, { minLength: 1, maxLength: 5 }).map((steps) => steps.flat());

interface Scenario {
  readonly turns: readonly (readonly Step[])[];
  readonly eager: boolean;
  readonly concurrency: number;
  readonly output: 'none' | 'text' | 'tool';
  readonly fails: boolean;
}
const scenario: fc.Arbitrary<Scenario> = fc.record({
  turns: fc.array(turn, { maxLength: 3 }),
  eager: fc.boolean(),
  concurrency: fc.constantFrom(1, 2, Infinity),
  output: fc.constantFrom('none', 'none', 'text', 'tool'),
  fails: fc.boolean(),
});

/** The last turns: a typed output that has to be repaired, an error, or a text. */
function endOf({ output, fails }: Scenario): readonly (readonly Step[])[] {
  const last: Readonly<Record<Scenario['output'], readonly (readonly Step[])[]>> = {
    none: [['It ', delay, 'rains.']],
    text: [
      ['{"a":', delay, '"1"}'],
      ['{"a":', delay, '1}'],
    ],
    tool: [[toolCall('return_result', { a: '1' })], [delay, toolCall('return_result', { a: 1 })]],
  };
  return fails ? [['It ra', delay, { error: failure() }]] : last[output];
}

/** A model that follows the script, and repeats its last turn. It has no delay of its own between two requests. */
function modelOf(played: Scenario, open: Open): { readonly model: Model; readonly requests: readonly unknown[] } {
  const turns = [...played.turns, ...endOf(played)];
  const capabilities = { typedOutput: played.output !== 'tool', tools: true };
  const model = scriptedModel(({ turn: number }) => turns[Math.min(number, turns.length) - 1] ?? '', { capabilities });
  return { model: { ...model, stream: (request) => open.track(model.stream(request)) }, requests: model.requests };
}

const actions = ['leave', 'abort', 'stop', 'prompt', 'interrupt'] as const;
type Action = (typeof actions)[number];

/** When the action happens: in the handler of an event, by its number, or from outside, at a virtual time. */
type Moment = { readonly event: number } | { readonly time: number };

interface Outcome {
  readonly events: readonly RunEvent[];
  readonly end: 'complete' | 'error' | 'left' | 'none';
  readonly error: unknown;
  /** The virtual time at the end. */
  readonly duration: number;
  /** What is still subscribed when everything has run. */
  readonly open: number;
  /** How long timers went on after the end of the run. */
  readonly overtime: number;
  /** The requests that were sent after the action. */
  readonly lateRequests: number;
}

/** Plays a scenario in virtual time, and acts once. */
function play(played: Scenario, action?: Action, moment?: Moment): Outcome {
  const scheduler = new TestScheduler(() => undefined);
  return scheduler.run(({ flush }) => {
    const open = new Open();
    const events: RunEvent[] = [];
    const log = { end: 'none' as Outcome['end'], error: undefined as unknown, ended: 0 };
    const [leave, stop, prompts, controller] = [
      new Subject(),
      new Subject(),
      new Subject<string>(),
      new AbortController(),
    ];
    const model = modelOf(played, open);
    let requestsAtAction = Infinity;
    const actionsOf: Readonly<Record<Action, () => void>> = {
      leave: () => leave.next(true),
      abort: () => controller.abort(),
      stop: () => stop.next(true),
      prompt: () => prompts.next(prompt),
      interrupt: () => prompts.next(prompt),
    };
    const act = () => {
      if (action === undefined) return;
      requestsAtAction = model.requests.length;
      actionsOf[action]();
    };
    const options: Readonly<Record<Action, RunOptions>> = {
      leave: {},
      abort: { signal: controller.signal },
      stop: { stop: open.track(stop) },
      prompt: { prompts: open.track(prompts) },
      interrupt: { prompts: open.track(prompts), whenPrompted: 'interrupt' },
    };
    const agent = createAgent({
      model: model.model,
      tools: toolsOf(open),
      eagerTools: played.eager,
      toolConcurrency: played.concurrency,
      maxTurns: 9,
      approve: () => open.track(timer(1).pipe(map(() => ({ approve: true }) as const))),
      ...(played.output === 'none' ? {} : { output: typed(z.object({ a: z.number() })) }),
    });
    agent
      .stream('Hi', { ...(action === undefined ? {} : options[action]), fragments: false })
      .pipe(
        takeUntil(leave.pipe(tap(() => (log.end = 'left')))),
        finalize(() => (log.ended = scheduler.frame)),
      )
      .subscribe({
        next(event) {
          if (log.end === 'left') throw new Error(`A ${event.type} event arrived after the subscriber had left.`);
          events.push(event);
          if (moment && 'event' in moment && events.length === moment.event) act();
        },
        error(thrown: unknown) {
          log.end = 'error';
          log.error = thrown;
        },
        complete() {
          if (log.end === 'none') log.end = 'complete';
        },
      });
    if (moment && 'time' in moment) timer(moment.time).subscribe(act);
    flush();
    const listeners = getEventListeners(controller.signal, 'abort').length;
    const lateRequests = Math.max(0, model.requests.length - requestsAtAction);
    const last = Math.max(log.ended, moment && 'time' in moment ? moment.time : 0);
    const overtime = scheduler.frame - last;
    return { ...log, overtime, events, duration: scheduler.frame, open: open.count + listeners, lateRequests };
  });
}

const prompt = 'And you?';
const isPrompt = (message: Message) => message.role === 'user' && messageText(message) === prompt;
const messagesOf = (events: readonly RunEvent[]) =>
  events.flatMap((one) => (one.type === 'message' ? [one.message] : []));
const textOf = (events: readonly RunEvent[]) => events.map((one) => (one.type === 'text' ? one.text : '')).join('');

/** The result, or what `failedRunOf` knows of a run that failed. */
function summaryOf({ events, end, error }: Outcome): Pick<RunResult, 'messages' | 'prompts'> | undefined {
  const last = events.at(-1);
  if (end === 'complete') return last?.type === 'result' ? last.result : undefined;
  return end === 'error' ? failedRunOf(error) : { messages: messagesOf(events) };
}

/** The answers to the last message's calls, which no message has yet. */
function resultsAfter(message: Message | undefined, events: readonly RunEvent[]): readonly Message[] {
  const results = new Map(events.filter(isToolResult).map((result) => [result.id, result]));
  const calls = message ? toolCallsOf(message) : [];
  const parts = calls.map((call) => results.get(call.id) ?? unfinishedResult(call, 'cancelled'));
  return parts.length > 0 ? [userMessage(parts)] : [];
}

/** The calls of a response that has not ended, which `eagerTools` had begun. */
function begunEarly(events: readonly RunEvent[]): readonly Message[] {
  const open = events.slice(events.findLastIndex(({ type }) => type === 'message') + 1);
  const started = new Set(open.flatMap((event) => (event.type === 'toolStart' ? [event.id] : [])));
  const calls = open.filter(isToolCall).filter(({ id }) => started.has(id));
  return calls.length > 0 ? [modelMessage(calls)] : [];
}

/** Histories that all providers have accepted already. */
const accepted = new Set<string>();

function requireAccepted(history: readonly Message[], tools: ReturnType<typeof toolsOf>): void {
  const key = JSON.stringify(history);
  if (accepted.has(key)) return;
  expect(refusalsOf(history, tools)).toEqual([]);
  accepted.add(key);
}

/** Checks what holds after any action. */
function check(played: Scenario, action: Action, moment: Moment, duration: number): void {
  const outcome = play(played, action, moment);
  const { events, end, open, overtime, lateRequests, error } = outcome;
  const tools = toolsOf(new Open());
  expect({ open, overtime }).toEqual({ open: 0, overtime: 0 });
  const summary = summaryOf(outcome);
  if (!summary) throw new Error(`The run ended with ${end} and without a result.`);
  const history = [userMessage('Hi'), ...summary.messages];
  const retracts = events.some(({ type }) => type === 'retract');
  const messages = [...messagesOf(events), ...(end === 'error' ? begunEarly(events) : [])];
  const ended = end === 'error' ? resultsAfter(messages.at(-1), events) : [];
  if (!retracts) expect(summary.messages).toEqual([...messages, ...ended]);
  requireAccepted(history, tools);
  expect(faultsOf(repairHistory(history))).toEqual([]);
  switch (action) {
    case 'leave':
      expect(lateRequests).toBe(0);
      break;
    case 'abort':
      expect(lateRequests).toBe(0);
      if (end === 'error' && !played.fails) expect(error).toHaveProperty('name', 'AbortError');
      break;
    case 'stop': {
      expect(lateRequests).toBe(0);
      if (end !== 'complete') break; // the run failed before the stop
      expect(faultsOf(history)).toEqual([]); // without any repair
      const last = events.at(-1);
      if (last?.type !== 'result') throw new Error('The result is not the last event.');
      const { result } = last;
      expect(events.filter(({ type }) => type === 'result')).toHaveLength(1);
      if (result.finishReason === 'stopped') expect(result.output).toBeUndefined();
      else expect(result.finishReason).toBe('stop');
      if (!retracts) expect(result.text).toBe(textOf(events));
      break;
    }
    default: {
      const joined = [...summary.messages, ...(summary.prompts ?? [])].filter(isPrompt);
      const hasArrived = 'event' in moment ? events.length >= moment.event : moment.time <= duration;
      if (hasArrived && !isLast(outcome, moment)) expect(joined).toHaveLength(1);
      else expect(joined.length).toBeLessThanOrEqual(1);
    }
  }
}

/** Whether the action happened in the handler of the result, when the run had ended. */
const isLast = ({ events }: Outcome, moment: Moment) =>
  'event' in moment ? events[moment.event - 1]?.type === 'result' : true;

describe('a run', () => {
  it.each(actions)('leaves nothing open and a valid history at every event: %s', (action) => {
    fc.assert(
      fc.property(scenario, (played) => {
        const { events, duration } = play(played);
        for (let event = 1; event <= events.length; event++) check(played, action, { event }, duration);
        for (let time = 0; time <= duration; time++) check(played, action, { time }, duration);
      }),
      { numRuns: 6 },
    );
  });
});
