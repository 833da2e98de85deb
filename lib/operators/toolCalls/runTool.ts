import {
  catchError,
  config,
  defer,
  from,
  identity,
  isObservable,
  map,
  mergeMap,
  Observable,
  of,
  takeUntil,
  tap,
  timer,
} from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import { errorText } from '../../core/errors.js';
import type { ToolProgressEvent, ToolResultEvent } from '../../core/event.js';
import { toJson } from '../../core/json/toJson.js';
import type { Message, ToolCallPart } from '../../core/message.js';
import { maxTimerDelay } from '../../core/options.js';
import { validate } from '../../core/schema.js';
import { isInvalidArguments } from '../../core/tool.js';
import type { Tool, ToolContext, ToolOutput } from '../../core/tool.js';

/** What of a run one call needs. */
export interface RunToolOptions {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly messages: readonly Message[];
  readonly deadline?: number | undefined;
}

/**
 * Runs one call: its progress, then exactly one result, whatever happens. Unsubscribing unsubscribes the tool and aborts its signal.
 */
export function runTool(
  call: ToolCallPart,
  { tools, messages, deadline }: RunToolOptions,
): Observable<ToolProgressEvent | ToolResultEvent> {
  const { id, name } = call;
  return defer(() => execution(call, known(tools, name), messages)).pipe(
    deadline === undefined || deadline === Infinity ? identity : takeUntil(expiry(deadline)),
    lastIsResult(
      (value): ToolProgressEvent => ({ type: 'toolProgress', id, name, value: toJson(value) }),
      (value): ToolResultEvent => ({ type: 'toolResult', id, name, result: toJson(value) }),
    ),
    catchError((thrown: unknown) => of<ToolResultEvent>({ type: 'toolResult', id, name, error: errorText(thrown) })),
  );
}

function known(tools: ReadonlyMap<string, Tool>, name: string): Tool {
  const tool = tools.get(name);
  if (tool) return tool;
  const names = [...tools.keys()];
  throw new Error(
    `There is no tool "${name}". ${names.length > 0 ? `Available: ${names.join(', ')}.` : 'No tools are available.'}`,
  );
}

/** The tool itself. Its signal is aborted when it is left before its end. */
function execution(call: ToolCallPart, tool: Tool, messages: readonly Message[]): Observable<unknown> {
  let abort: AbortController | undefined; // made for a tool that asks
  let left = false;
  const context: ToolContext = {
    call,
    messages,
    get signal() {
      abort ??= new AbortController();
      if (left) abort.abort();
      return abort.signal;
    },
  };
  const run = (validation: Validation) => outputOf(tool.execute(validArguments(validation), context));
  if (isInvalidArguments(call.arguments))
    throw new Error('The arguments are not valid JSON. Send them again as one JSON object.');
  const found = validate(tool.parameters, call.arguments);
  return (found instanceof Promise ? from(found).pipe(mergeMap(run)) : run(found)).pipe(
    tap({
      unsubscribe() {
        left = true;
        abort?.abort();
      },
    }),
  );
}

type Validation = Awaited<ReturnType<typeof validate>>;

function validArguments(validation: Validation): unknown {
  if ('invalid' in validation) throw new Error(`Invalid arguments: ${validation.invalid}`);
  return validation.value;
}

/** Strings, arrays and buffers are values, not streams, although `from` would take them apart. */
function outputOf(output: ToolOutput<unknown>): Observable<unknown> {
  if (isObservable(output)) return ignoreTeardownErrors(output);
  if (isAsyncIterable(output)) return from(withReturned(output));
  return isPromiseLike(output) ? from(output) : of(output);
}

/** What a generator returns is its last value; `from` drops it. */
async function* withReturned(values: AsyncIterable<unknown>): AsyncGenerator {
  const returned: unknown = yield* values;
  if (returned !== undefined) yield returned;
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** A total deadline: RxJS's `timeout(ms)` restarts at each emission, and a tool that reports progress for ever would never meet it. */
const expiry = (deadline: number): Observable<never> =>
  timer(Math.min(deadline, maxTimerDelay)).pipe(
    map(() => {
      throw new Error(`The tool did not finish within ${deadline} ms.`);
    }),
  );

/** The last value is the result; that it was the last is known only at the end, so progress runs one value behind. */
function lastIsResult<P, R>(
  progress: (value: unknown) => P,
  result: (value: unknown) => R,
): OperatorFunction<unknown, P | R> {
  return createOperator<unknown, P | R>((out) => {
    let any = false;
    let last: unknown;
    return {
      next(value) {
        if (any) out.next(progress(last));
        any = true;
        last = value;
      },
      complete() {
        out.next(result(last));
        out.complete();
      },
    };
  });
}

/**
 * A source whose teardown may throw without harm to the run around it.
 *
 * RxJS lets such an error escape into whoever completes or unsubscribes: it would stop a `mergeMap` in its tracks, and what comes next would never
 * start. It is told to `config.onUnhandledError`, where the application has set that; the source itself has answered, or nobody listens any more.
 */
export function ignoreTeardownErrors<T>(source: Observable<T>): Observable<T> {
  return new Observable<T>((out) => {
    // As in `subscribeWith`, the subscriber is known before the source is subscribed: it may be left while it still subscribes.
    new Observable<T>((inner) => {
      out.add(() => {
        try {
          inner.unsubscribe();
        } catch (error) {
          config.onUnhandledError?.(error);
        }
      });
      source.subscribe(inner);
    }).subscribe({
      next: (value) => out.next(value),
      error: (error: unknown) => out.error(error),
      complete: () => out.complete(),
    });
  });
}
