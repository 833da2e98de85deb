import { createAgent } from '../agent/createAgent.js';
import type { AgentOptions, Input, RunArguments, RunOptions } from '../agent/createAgent.js';
import type { RunEvent, RunResult } from '../core/event.js';
import type { EventsOf, Tool, UserContextOf } from '../core/tool.js';
import { inVirtualTime, type VirtualRun } from './inVirtualTime.js';
import { isPromise } from '../operators/execute/toolOutput.js';
import type { Plain } from '../core/typesOf.js';

/** A run of an agent in virtual time. */
export interface AgentTestRun<E, O> extends VirtualRun<E> {
  /** The result. Absent if the run failed, or did not end within a day. */
  readonly result?: RunResult<O>;
}

/**
 * Runs an agent in virtual time, with the same times and ids in each test.
 *
 * <span class="informal">`createAgent`, `stream` and `inVirtualTime` in one call.</span>
 *
 * The ids that the agent generates for calls without one are `id_1`, `id_2` and so on. The id of the run is `run_1`, so
 * the idempotency keys of its calls begin with it. The clock is that of `inVirtualTime`: it begins at 0, and tools
 * and models that use RxJS's timers and `asyncScheduler.now()` follow it.
 *
 * ```ts
 * const { values, result } = runAgent({ model: scriptedModel([[{ delay: 200 }, 'Hello']]) }, 'Hi');
 * values.map(({ at, value }) => [at, value.type]); // [[200, 'text'], [200, 'message'], [200, 'turn'], [200, 'result']]
 * ```
 *
 * @param options The options of `createAgent`. `newId` replaces the ids.
 * @param input The input of the run.
 * @param runOptions The options of `agent.stream`. `runId` replaces the id of the run.
 * @returns The events with their times, how the run ended, and its result.
 * @throws Error if the run waits for a Promise, which is not virtual, of a tool, `approve` or `prepareTurn`. The
 * message shows a test with the fake timers of Vitest and Jest.
 */
export function runAgent<const T extends readonly Tool[] = readonly [], O = undefined, C = unknown>(
  options: AgentOptions<T, O, C>,
  input: Input,
  ...[runOptions]: RunArguments<C & UserContextOf<T[number]>>
): Plain<AgentTestRun<RunEvent<EventsOf<T[number]>, O>, O>> {
  let ids = 0;
  let promised: string | undefined;
  const report = (name: string) => (promised ??= name);
  const { tools } = options;
  const watched = watchPromises({ newId: () => `id_${++ids}`, ...options }, (key) => `The option ${key}`, report);
  const agent = createAgent({
    ...watched,
    ...(Array.isArray(tools) && { tools: tools.map((tool: Tool) => watchTool(tool, report)) }),
  } as AgentOptions);
  const run = inVirtualTime(() => agent.stream(input, { runId: 'run_1', ...(runOptions as RunOptions | undefined) }));
  if (run.end === 'open' && promised !== undefined) throw new Error(`${promised} ${notVirtual}`);
  const last = run.values.at(-1)?.value;
  const tested = last?.type === 'result' ? { ...run, result: last.result } : run;
  return tested as AgentTestRun<RunEvent<EventsOf<T[number]>, O>, O>;
}

const notVirtual =
  'returned a Promise or an async iterable, and these are not virtual: the run still waits for it. ' +
  'Return a value or an Observable, or test with fake timers, in an async test: ' +
  'vi.useFakeTimers(); const result = lastValueFrom(agent.run(input)); ' +
  'await vi.advanceTimersByTimeAsync(1000); await result; ' +
  '(in Jest: jest.useFakeTimers() and jest.advanceTimersByTimeAsync).';

const watchTool = (tool: Tool, report: (name: string) => void): Tool =>
  watchPromises(tool, (key) => `${key === 'execute' ? 'The tool' : `${key} of the tool`} "${tool.name}"`, report);

/** Virtual time does not reach the Promises that are reported. */
function watchPromises<T extends object>(object: T, nameOf: (key: string) => string, report: (name: string) => void) {
  const watch = ([key, value]: [string, unknown]) => {
    if (typeof value !== 'function') return [key, value];
    const call = (...args: readonly unknown[]) => {
      const output: unknown = Reflect.apply(value, object, args);
      if (isPromise(output) || isAsyncIterable(output)) report(nameOf(key));
      return output;
    };
    return [key, call];
  };
  return Object.fromEntries(Object.entries(object).map((entry) => watch(entry))) as T;
}

const isAsyncIterable = (output: unknown): boolean =>
  typeof output === 'object' && output !== null && Symbol.asyncIterator in output;
