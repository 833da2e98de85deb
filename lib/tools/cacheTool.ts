import { asyncScheduler, concat, defer, EMPTY, of, share, takeUntil, tap, type Observable } from 'rxjs';
import { asksInside, maybeAsks } from '../core/askingTool.js';
import { callToolWrapper } from '../core/callWrapper.js';
import { toolsError } from '../core/errors.js';
import { canonicalJson } from '../core/json/canonical.js';
import { toJson } from '../core/json/toJson.js';
import type { JsonValue } from '../core/json/json.js';
import type { OuterRun } from '../core/nested.js';
import { requireNumbers, requireSync } from '../core/options.js';
import { isMarkedProgress } from '../core/progress.js';
import type { Tool } from '../core/tool.js';
import { wrapTool, type ArgumentsOf, type ContextOf, type ToolValue } from './wrapTool.js';

export interface CacheToolOptions<T extends Tool = Tool> {
  /**
   * Identifies equal calls, as JSON; the order of keys does not matter. A call for which it is undefined is not cached.
   * Default: the arguments, as the model sent them.
   */
  readonly key?: ((args: ArgumentsOf<T>, context: ContextOf<T>) => JsonValue) | undefined;
  /** The maximum number of results; beyond it, the least recently used is removed. Default: 1000. */
  readonly size?: number | undefined;
  /** How long a result may be used, in milliseconds. Default: Infinity. */
  readonly ttl?: number | undefined;
}

interface CachedResult {
  readonly result: JsonValue;
  readonly expires: number;
}

interface Running {
  readonly values: Observable<ToolValue>;
  readonly owner: OuterRun | undefined;
}

/**
 * Executes a tool once for equal calls.
 *
 * <span class="informal">The second call with the same arguments gets the first call's result.</span>
 *
 * ![](../../marbles/cacheTool.svg)
 *
 * The cache belongs to the returned tool, so all runs that use this tool share it. Calls that are made while an equal
 * call runs share that call: they get its further progress, and its result or its error. It has the context of the
 * first call, and is aborted when all of them have been cancelled. An error is not cached: the next call executes the
 * tool again. A result from the cache comes without progress. Calls that run an agent share only results: each run
 * stops its own, and decides on its own waiting calls.
 *
 * If a result depends on more than the arguments (on the user, for example), put it into the key; otherwise one user
 * gets the result of another. A tool that asks a person, also in an agent that it runs, is refused for this reason, and
 * the server of an MCP tool cannot ask. In an agent, a tool of a server or of a catalogue may still ask, and a call may
 * wait for an approval: the result of such a call is not cached.
 *
 * ```ts
 * const weather = cacheTool(getWeather, { ttl: 60_000, key: ({ city }) => city.toLowerCase() });
 * ```
 *
 * @param tool The tool. It may be left out.
 * @param options `key` (default: the arguments), `size` (default: 1000), `ttl` in milliseconds (default: Infinity).
 * @returns A tool of the same type. Without `tool`, a function of a tool, for rxjs's `pipe`.
 * @throws ConfigurationError `options` if `size` or `ttl` is negative or not a number, `tools` for a tool that asks.
 */
export function cacheTool<T extends Tool>(tool: T, options?: CacheToolOptions<T>): T;
export function cacheTool<T extends Tool = Tool>(options?: CacheToolOptions<T>): <U extends T>(tool: U) => U;
export function cacheTool(...args: readonly unknown[]) {
  return callToolWrapper(args, cached);
}

function cached({ size = 1000, ttl = Infinity, key = argumentsOfCall }: CacheToolOptions = {}) {
  requireNumbers({ size, ttl }, 0);
  return <T extends Tool>(tool: T): T => {
    if (asksInside(tool)) throw asksPerson(tool);
    return wrapTool(maybeAsks(tool) ? withoutQuestions(tool) : tool, cacheResults(key, size, ttl));
  };
}

/** Outside of a run, a tool asks nobody: the server that would ask gets an error. */
const withoutQuestions = <T extends Tool>(tool: T): T => ({
  ...tool,
  execute: (args: unknown, { outer: _, ...context }: ContextOf<Tool>) => tool.execute?.(args, context),
});

const asksPerson = ({ name }: Tool) =>
  toolsError(
    `The tool "${name}" asks a person: its cache would give the answers of one call to another call.`,
    'Cache what the tool calls inside `once` instead.',
  );

function cacheResults(key: NonNullable<CacheToolOptions['key']>, size: number, ttl: number) {
  const results = new Map<string, CachedResult>(); // in the order of their last use
  const running = new Map<string, Running>();

  function useCached(id: string): CachedResult | undefined {
    const cached = results.get(id);
    results.delete(id);
    if (!cached || cached.expires <= asyncScheduler.now()) return undefined;
    results.set(id, cached);
    return cached;
  }

  function store(id: string, result: JsonValue) {
    results.set(id, { result, expires: asyncScheduler.now() + ttl });
    for (const oldest of results.keys()) {
      if (results.size <= size) break;
      results.delete(oldest);
    }
  }

  function start(id: string, run: Observable<ToolValue>, outer: OuterRun | undefined): Observable<ToolValue> {
    const forget = () => void running.delete(id);
    const shared = run.pipe(
      tap({
        next: (value) => {
          if (!isMarkedProgress(value) && !outer?.hasAsked) store(id, value);
        },
        error: forget,
        complete: forget,
        unsubscribe: forget,
      }),
      share(),
    );
    running.set(id, { values: shared, owner: outer });
    return shared;
  }

  /** Nobody shares a call that runs an agent, or asks a person. */
  function join({ values, owner }: Running, own: Observable<ToolValue>): Observable<ToolValue> {
    if (!owner) return values;
    const alone = defer(() => (owner.controls.size > 0 ? own : EMPTY));
    return concat(values.pipe(takeUntil(owner.becomesPrivate)), alone);
  }

  return (run: Observable<ToolValue>, args: unknown, context: ContextOf<Tool>) =>
    defer(() => {
      const given: unknown = requireSync('key', key(args, context));
      if (given === undefined) return run; // calls without a key are not equal: one user would get another's result
      const id = canonicalJson(toJson(given)); // throws for a Map or a Promise, which would all have the text `{}`
      const found = context.outer?.resumed ? undefined : useCached(id); // what has begun continues
      if (found) return of(found.result);
      const own = defer(() => start(id, run, context.outer));
      const shared = running.get(id);
      return shared ? join(shared, own) : own;
    });
}

/** As the model sent them: validated arguments may be any values, and the key is JSON. */
const argumentsOfCall = (_args: unknown, { call }: ContextOf<Tool>): JsonValue => call.arguments as JsonValue;
