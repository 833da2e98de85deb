import type { OperatorFunction, Subscriber } from 'rxjs';
import type { ToolCallFragment } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent, ToolCallEvent } from '../core/event.js';
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
  /** The place of the call among those of its turn, from 0. */
  readonly index: number | string;
  /** The id of the call, as soon as it is known. */
  readonly id?: string;
  readonly name: Name;
  /** What has come of them; `{}` at first. Neither validated nor repaired. */
  readonly arguments: DeepPartial<Arguments>;
}

/**
 * The arguments of tool calls, as they grow, in place of the events.
 *
 * <span class="informal">Show the e-mail while the model still writes it.</span>
 *
 * ![](../../marbles/partialArguments.svg)
 *
 * It takes the fragments that `accumulateToolCalls({ fragments: true })`, or a run with `{ fragments: true }`, lets through. Of each call a snapshot a network
 * read, at most; the last has the whole arguments, and comes before those who listen get to know of the call's result. Snapshots share what has closed, as those of
 * `partialOutput`. On `retract` the calls are dropped; a call that begins after it, or in the next turn, has its own index, from 0.
 *
 * ```ts
 * agent.stream('Write to Ann.', { fragments: true }).pipe(partialArguments(sendMail)).subscribe((mail) => draw(mail.arguments.body ?? ''));
 * ```
 *
 * @param tool The tool, or its name, whose calls are wanted. Default: all.
 * @returns A function that returns an Observable of the arguments so far.
 */
export function partialArguments<Name extends string, Arguments>(
  tool: Tool<Name, Arguments>,
): OperatorFunction<StreamEvent, PartialArguments<Arguments, Name>>;

/** The arguments of all tool calls, or of those of the name, as they grow. */
export function partialArguments<Arguments = JsonObject>(
  name?: string,
): OperatorFunction<StreamEvent, PartialArguments<Arguments>>;
export function partialArguments(tool?: Tool | string): OperatorFunction<StreamEvent, PartialArguments> {
  const wanted = typeof tool === 'object' ? tool.name : tool;
  return createOperator<StreamEvent, PartialArguments>((out) => {
    const calls = new Map<number | string, GrowingCall>();
    const callAt = (index: number | string): GrowingCall => {
      const known = calls.get(index);
      if (known) return known;
      const begun = createGrowingCall(out, index, wanted);
      calls.set(index, begun);
      return begun;
    };
    const flush = () => {
      for (const call of calls.values()) call.flush();
    };
    const begin = () => {
      for (const call of calls.values()) call.drop();
      calls.clear();
    };
    const known = (event: Exclude<Known, ToolCallFragment>) => {
      if (event.type === 'toolCall') [...calls.values()].find((call) => call.becomes(event))?.end(event);
      else if (event.type !== 'turn') begin();
      else {
        flush();
        begin();
      }
    };
    return {
      next(event) {
        if (!isKnown(event)) return;
        if (event.type === 'toolCallFragment') callAt(event.index ?? 0).add(event);
        else known(event);
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
  /** Whether it is the one that has become this whole call. */
  becomes(whole: ToolCallEvent): boolean;
  end(whole: ToolCallEvent): void;
  flush(): void;
  drop(): void;
}

function createGrowingCall(
  out: Subscriber<PartialArguments>,
  index: number | string,
  wanted: string | undefined,
): GrowingCall {
  const json = createPartialJson();
  let id: string | undefined;
  let name: string | undefined;
  let object: JsonObject | undefined; // some servers send arguments as objects
  let ended = false;
  let shown: JsonObject | undefined;
  let shownId: string | undefined;
  const show = (args: JsonObject) => {
    if (name === undefined || (wanted !== undefined && name !== wanted)) return;
    if (args === shown && id === shownId) return;
    shown = args;
    shownId = id;
    out.next({ type: 'partialArguments', index, ...(id === undefined ? {} : { id }), name, arguments: args });
  };
  const soFar = (): JsonObject => {
    const snapshot = object ?? json.snapshot();
    return isJsonObject(snapshot) ? snapshot : (shown ?? {});
  };
  const pacer = createSnapshotPacer(
    out,
    () => json.isDue(),
    () => show(soFar()),
  );
  return {
    add(fragment) {
      id = fragment.id ?? id;
      name = fragment.name ?? name;
      const args = fragment.arguments;
      if (typeof args === 'string') json.push(args);
      else if (args) object = { ...object, ...args };
      if (!ended) pacer.grown();
    },
    becomes: (whole) => !ended && (id === undefined ? name === whole.name : id === whole.id),
    end(whole) {
      ended = true;
      id = whole.id;
      name = whole.name;
      pacer.flush();
      show(shown && isSameJson(whole.arguments, shown) ? shown : whole.arguments);
    },
    flush: () => pacer.flush(),
    drop: () => pacer.drop(),
  };
}

type Known = ToolCallFragment | ToolCallEvent | { readonly type: 'turn' | 'retract' };

const isKnown = (event: StreamEvent): event is Known =>
  event.type === 'toolCallFragment' || event.type === 'toolCall' || event.type === 'turn' || event.type === 'retract';
