import type { OperatorFunction, Subscriber } from 'rxjs';
import type { ToolCallFragment } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent, ToolCallEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { isSameJson } from '../core/json/equal.js';
import { isJsonObject } from '../core/json/json.js';
import type { JsonObject } from '../core/json/json.js';
import { createPartialJson } from '../core/json/partialJson.js';
import type { DeepPartial } from '../core/json/partialJson.js';
import type { Tool } from '../core/tool.js';
import { createSnapshotPacer } from './snapshotPacer.js';

/** A tool call while its arguments grow. */
export interface PartialArguments<Arguments = JsonObject, Name extends string = string> {
  readonly type: 'partialArguments';
  /** The position of the call among the calls of its turn, from 0. */
  readonly index: number | string;
  /** The id of the call, once it is known. */
  readonly id?: string;
  readonly name: Name;
  /** The arguments so far; `{}` at first. They are neither validated nor repaired. */
  readonly arguments: DeepPartial<Arguments>;
}

/**
 * Emits the arguments of tool calls while they grow, instead of the run's events.
 *
 * <span class="informal">Show the e-mail while the model is still writing it.</span>
 *
 * ![](../../marbles/partialArguments.svg)
 *
 * The source must emit fragments: use `accumulateToolCalls({ fragments: true })`, or a run with `{ fragments: true }`.
 * For each call, at most one snapshot per network read is emitted. The last snapshot has the complete arguments, and is
 * emitted before the events that follow the call. As in `partialOutput`, snapshots share closed arrays and objects.
 * `retract` drops the calls. Indexes start from 0 again after `retract` and in each turn.
 *
 * ```ts
 * agent
 *   .stream('Write to Ann.', { fragments: true })
 *   .pipe(partialArguments(sendMail))
 *   .subscribe((mail) => draw(mail.arguments.body ?? ''));
 * ```
 *
 * @param tool The tool whose calls are emitted, or its name. Default: all tools.
 * @returns A function that returns an Observable of the arguments so far.
 */
export function partialArguments<Name extends string, Arguments>(
  tool: Tool<Name, Arguments>,
): OperatorFunction<StreamEvent, PartialArguments<Arguments, Name>>;

/** Emits the arguments of the calls to all tools, or to the tool of this name, while they grow. */
export function partialArguments<Arguments = JsonObject>(
  name?: string,
): OperatorFunction<StreamEvent, PartialArguments<Arguments>>;
export function partialArguments(tool?: Tool | string): OperatorFunction<StreamEvent, PartialArguments> {
  const toolName = typeof tool === 'object' ? tool.name : tool;
  return createOperator<StreamEvent, PartialArguments>((out) => {
    const calls = new Map<number | string, GrowingCall>();
    const callAt = (index: number | string): GrowingCall => {
      let call = calls.get(index);
      if (!call) calls.set(index, (call = createGrowingCall(out, index, toolName)));
      return call;
    };
    const flush = () => {
      for (const call of calls.values()) call.flush();
    };
    const reset = () => {
      for (const call of calls.values()) call.drop();
      calls.clear();
    };
    return {
      next(event) {
        const known = asKnownEvent(event);
        switch (known.type) {
          case 'toolCallFragment':
            callAt(known.index ?? 0).add(known);
            break;
          case 'toolCall':
            [...calls.values()].find((call) => call.isOpenFor(known))?.end(known);
            break;
          case 'retract':
            reset();
            break;
          case 'turn':
            flush();
            reset();
            break;
          default:
        }
      },
      error(thrown) {
        flush();
        out.error(thrown);
      },
      complete() {
        flush();
        out.complete();
      },
    };
  });
}

interface GrowingCall {
  add(fragment: ToolCallFragment): void;
  /** Whether the call is open and its fragments belong to this complete call. */
  isOpenFor(complete: ToolCallEvent): boolean;
  /** Emits the complete arguments, unless the last snapshot equals them. */
  end(complete: ToolCallEvent): void;
  flush(): void;
  drop(): void;
}

function createGrowingCall(
  out: Subscriber<PartialArguments>,
  index: number | string,
  toolName: string | undefined,
): GrowingCall {
  const json = createPartialJson();
  let id: string | undefined;
  let name: string | undefined;
  let object: JsonObject | undefined; // for servers that send arguments as an object
  let hasEnded = false;
  let lastSnapshot: JsonObject | undefined;
  let lastId: string | undefined;
  const emit = (args: JsonObject) => {
    if (name === undefined || (toolName !== undefined && name !== toolName)) return;
    if (args === lastSnapshot && id === lastId) return;
    lastSnapshot = args;
    lastId = id;
    out.next({ type: 'partialArguments', index, ...(id === undefined ? {} : { id }), name, arguments: args });
  };
  const snapshot = (): JsonObject => {
    const current = object ?? json.snapshot();
    return isJsonObject(current) ? current : (lastSnapshot ?? {});
  };
  const pacer = createSnapshotPacer(
    out,
    () => json.isDue(),
    () => emit(snapshot()),
  );
  return {
    add(fragment) {
      id = fragment.id ?? id;
      name = fragment.name ?? name;
      const args = fragment.arguments;
      if (typeof args === 'string') json.push(args);
      else if (args) object = { ...object, ...args };
      if (!hasEnded) pacer.grown();
    },
    isOpenFor: (complete) => !hasEnded && (id === undefined ? name === complete.name : id === complete.id),
    end(complete) {
      hasEnded = true;
      id = complete.id;
      name = complete.name;
      pacer.flush();
      emit(lastSnapshot && isSameJson(complete.arguments, lastSnapshot) ? lastSnapshot : complete.arguments);
    },
    flush: () => pacer.flush(),
    drop: () => pacer.drop(),
  };
}
