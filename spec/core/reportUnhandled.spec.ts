import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { config, lastValueFrom, map, NEVER, Observable, of, timer } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import { userMessage } from '../../lib/core/message.js';
import { summarize } from '../../lib/models/summarize.js';
import { recordRun } from '../../lib/observe/recording/recordRun.js';
import { observeRun } from '../../lib/operators/observeRun.js';
import type { RunObserver } from '../../lib/operators/runObserver.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { anyTool } from '../support/toolCalls.js';

const defect = new Error('the defect of a user');
const throws = (): never => {
  throw defect;
};
const rejects = (): unknown => Promise.reject(defect);

const runWith = (options: Partial<AgentOptions>, observer: RunObserver = {}) =>
  createAgent({
    model: scriptedModel([[toolCall('work')], 'Done.']),
    tools: [anyTool('work', () => 1)],
    toolDeadline: 10,
    ...options,
  })
    .stream('Go.', { history: [userMessage('a'), userMessage('b'), userMessage('c')] })
    .pipe(observeRun(observer));

const failing = anyTool('work', throws);
const tears = (work: Observable<unknown>) =>
  anyTool('work', () => new Observable((out) => (work.subscribe(out), throws)));
const iterable = (next: () => Promise<IteratorResult<number>>, end: () => unknown) =>
  anyTool('work', () => ({ [Symbol.asyncIterator]: () => ({ next, return: end }) }));
const summarized = (onSummary: () => unknown): AgentOptions['prepareTurn'] => {
  const shorten = summarize({ model: scriptedModel(() => 'abc'), when: 1, keep: { messages: 1 }, onSummary });
  return ({ messages, turn }) => (turn === 0 ? shorten(messages).pipe(map((kept) => ({ messages: kept }))) : {});
};
const recorded = (sink: () => void) =>
  recordRun(createAgent({ model: scriptedModel(() => 'Done.') }), sink).stream('Go.');
const observers = [
  'runStart',
  'turnStart',
  'requestStart',
  'requestEnd',
  'toolStart',
  'toolEnd',
  'turnEnd',
  'runEnd',
] as const satisfies readonly (keyof RunObserver)[];
const never = () => new Promise<never>(() => undefined);

/** What only looks on, and what ends after its run does not need it any more. */
const defects: readonly (readonly [string, () => Observable<unknown>])[] = [
  ['onToolError that throws', () => runWith({ tools: [failing], onToolError: throws })],
  ['onToolError that rejects', () => runWith({ tools: [failing], onToolError: rejects })],
  ['onSummary that rejects', () => runWith({ prepareTurn: summarized(rejects) })],
  ['the teardown of a tool at its end', () => runWith({ tools: [tears(of(1))] })],
  ['the teardown of a tool that ends later', () => runWith({ tools: [tears(timer(1))] })],
  ['the teardown of a tool at its deadline', () => runWith({ tools: [tears(NEVER)] })],
  ['`return` of an iterator that throws', () => runWith({ tools: [iterable(never, throws)] })],
  ['`return` of an iterator that rejects', () => runWith({ tools: [iterable(never, rejects)] })],
  ['the sink of a recording that throws', () => recorded(throws)],
  ['the sink of a recording that rejects', () => recorded(() => rejects() as undefined)],
  ...observers.map((name) => [`${name} that rejects`, () => runWith({}, { [name]: rejects })] as const),
];

describe('what nobody handles', () => {
  const { error: print } = console;
  let reported: unknown[];
  beforeEach(() => {
    reported = [];
    jest.useFakeTimers();
    console.error = (thrown: unknown) => reported.push(thrown);
  });
  afterEach(() => {
    console.error = print;
    config.onUnhandledError = null;
    jest.useRealTimers();
  });

  const end = async (run: Observable<unknown>) => {
    const last = lastValueFrom(run);
    await jest.advanceTimersByTimeAsync(100); // throws what RxJS would throw outside of the call
    expect(await last).toMatchObject({ type: 'result', result: { answer: 'Done.' } });
  };
  const isTheDefect = (thrown: unknown) => thrown === defect || (thrown as AggregateError).errors[0] === defect;

  it.each(defects)('reportUnhandled prints %s, and neither the run nor the process ends', async (_, run) => {
    await end(run());
    expect(reported.map(isTheDefect)).not.toContain(false);
    expect(reported.length).toBeGreaterThan(0);
  });

  it.each(defects)('reportUnhandled passes %s to `config.onUnhandledError`', async (_, run) => {
    const handled: unknown[] = [];
    config.onUnhandledError = (thrown) => handled.push(thrown);
    await end(run());
    expect(handled.map(isTheDefect)).not.toContain(false);
    expect([handled.length > 0, reported]).toEqual([true, []]);
  });
});
