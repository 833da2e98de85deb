import { BehaviorSubject, concat, defer, EMPTY, from, merge, mergeMap, Subject, switchMap, tap } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import type { FinishChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import { ConfigurationError } from '../core/errors.js';
import type { MessageEvent, StreamEvent, ToolProgressEvent, ToolResultEvent } from '../core/event.js';
import { isFinish, isModelMessage, isRetract, isToolCall } from '../core/eventGuards.js';
import { toolCallsOf } from '../core/message.js';
import type { Message, ToolCallPart, ToolResultPart } from '../core/message.js';
import { requireNumber } from '../core/options.js';
import type { EventsOf, Tool } from '../core/tool.js';
import { runTool } from './toolCalls/runTool.js';

/** Options of `executeTools`. */
export interface ExecuteToolsOptions {
  /** The conversation, for the tools' context. Default: none. */
  readonly messages?: readonly Message[] | undefined;
  /** How many calls run at a time. Default 1: one after the other, in the order of the calls. `Infinity` runs all at once. */
  readonly concurrency?: number | undefined;
  /** Start a call as soon as it is whole, while the model still streams. Default false: the model's connection is closed before the first tool runs. */
  readonly eager?: boolean | undefined;
  /** The longest that one call may take in all, in milliseconds. Default: no deadline. */
  readonly deadline?: number | undefined;
}

/**
 * Runs the tool calls of the turn's message; their results become one message.
 *
 * <span class="informal">The model asks, your functions answer.</span>
 *
 * ![](../../marbles/executeTools.svg)
 *
 * `execute` gives a value, a Promise or an Observable. Of an Observable, the last value is the result; earlier ones are `toolProgress`, each emitted when the
 * next one shows that it was not the last. An unknown tool, invalid arguments, anything thrown, a result that JSON cannot hold, a passed deadline: each
 * becomes a `toolResult` with `error`, and the others of the turn are not touched. The results' message, in the order of the calls, comes before the `finish`,
 * which is held until then. Unsubscribing unsubscribes the running tools and aborts their signals. A source that completes without a `finish` runs nothing
 * (what `eager` had started is left); on `retract` running tools are left and their results dropped.
 *
 * ```ts
 * model.stream(request).pipe(accumulateToolCalls(), consolidate(), executeTools([weather, add], { concurrency: Infinity, deadline: 10_000 }));
 * ```
 *
 * @param tools What can be called. Two of one name are a ConfigurationError.
 * @param options `messages`, `concurrency` (default 1), `eager` (default false), `deadline` in milliseconds (default none).
 * @returns A function that returns an Observable of the source's events, the tools' progress and results, and the results' message.
 */
export function executeTools<E extends StreamEvent, const T extends readonly Tool[]>(
  tools: T,
  options?: ExecuteToolsOptions,
): OperatorFunction<E, E | EventsOf<T[number]> | MessageEvent>;
export function executeTools(
  tools: readonly Tool[],
  options: ExecuteToolsOptions = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  const { eager, concurrency = 1, deadline } = options;
  const start = () => {
    requireNumber('concurrency', concurrency, 1);
    if (deadline !== undefined) requireNumber('deadline', deadline, 0);
    return toolRound(tools, options);
  };
  return eager ? (source) => defer(() => eagerly(source, start(), concurrency)) : afterwards(start, concurrency);
}

/** The calls of one turn and what they answered. */
interface ToolRound {
  calls: readonly ToolCallPart[];
  finish: FinishChunk | undefined;
  run(call: ToolCallPart): Observable<ToolProgressEvent | ToolResultEvent>;
  /** The results' message, if there were calls, and the finish. */
  end(): Observable<StreamEvent>;
}

function toolRound(tools: readonly Tool[], { messages = [], deadline }: ExecuteToolsOptions): ToolRound {
  const byName = toolsByName(tools);
  const results = new Map<string, ToolResultPart>();
  const keep = (event: ToolProgressEvent | ToolResultEvent) => {
    if (event.type === 'toolResult') results.set(event.id, event);
  };
  const round: ToolRound = {
    calls: [],
    finish: undefined,
    run: (call) => runTool(call, { tools: byName, messages, deadline }).pipe(tap(keep)),
    end: () =>
      defer(() => {
        const parts = round.calls.flatMap(({ id }) => results.get(id) ?? []);
        const message: readonly StreamEvent[] =
          parts.length > 0 ? [{ type: 'message', message: { role: 'user', parts } } as MessageEvent] : [];
        return round.finish ? from([...message, round.finish]) : EMPTY;
      }),
  };
  return round;
}

/** First the source to its end and its resources gone, then the calls. */
function afterwards(start: () => ToolRound, concurrency: number): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator((out) => {
    const round = start();
    const calls = () => concat(from(round.calls).pipe(mergeMap((call) => round.run(call), concurrency)), round.end());
    return {
      next(event) {
        if (isFinish(event)) round.finish ??= event;
        else {
          if (isModelMessage(event)) round.calls = toolCallsOf(event.message);
          else if (isRetract(event)) round.calls = [];
          out.next(event);
        }
      },
      afterTeardown() {
        const rest = round.finish && round.calls.length > 0 ? calls() : round.end();
        rest.subscribe(out);
      },
    };
  });
}

/** The calls beside the source, each begun when it is whole. */
function eagerly(source: Observable<StreamEvent>, round: ToolRound, concurrency: number): Observable<StreamEvent> {
  const generations = new BehaviorSubject(new Subject<ToolCallPart>());
  const running = generations.pipe(switchMap((calls) => calls.pipe(mergeMap((call) => round.run(call), concurrency))));
  const held = createOperator<StreamEvent, StreamEvent>((out) => {
    let begun = new Set<string>();
    const begin = (call: ToolCallPart) => {
      if (begun.has(call.id)) return;
      begun.add(call.id);
      generations.value.next(call);
    };
    const startOver = () => {
      begun = new Set();
      round.calls = [];
      generations.next(new Subject());
    };
    return {
      next(event) {
        if (isFinish(event)) {
          round.finish ??= event;
          return;
        }
        if (isRetract(event)) startOver();
        out.next(event);
        if (isToolCall(event)) begin(event);
        if (!isModelMessage(event)) return;
        round.calls = toolCallsOf(event.message);
        round.calls.forEach(begin);
      },
      complete() {
        if (!round.finish) startOver();
        generations.value.complete();
        generations.complete();
        out.complete();
      },
    };
  });
  return concat(merge(running, source.pipe(held)), round.end());
}

function toolsByName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  if (byName.size === tools.length) return byName;
  const twice = tools.find(({ name }, at) => tools.findIndex((other) => other.name === name) < at);
  throw new ConfigurationError(
    'tools',
    `Two tools are called "${twice?.name}".`,
    'The model tells them apart by name only: rename one.',
  );
}
