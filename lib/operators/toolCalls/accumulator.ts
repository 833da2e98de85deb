import { nanoid } from 'nanoid/non-secure';
import { vetoReasons } from '../../core/chunk.js';
import type { FinishReason, ToolCallFragment } from '../../core/chunk.js';
import type { ToolCallEvent } from '../../core/event.js';
import type { JsonObject } from '../../core/json/json.js';
import type { UsedIds } from '../../core/usedIds.js';
import { checkObject } from './arguments.js';
import {
  append,
  parseCallArguments,
  createPendingToolCall,
  isComplete,
  isPlaceholder,
  isRepeat,
} from './pendingToolCall.js';
import type { PendingToolCall } from './pendingToolCall.js';
import * as rules from './rules.js';

/** Options of `accumulateToolCalls`. */
export interface AccumulateOptions {
  /**
   * Ids that the conversation has used, or a function that returns them. The function is called at the first tool call.
   * A call with one of these ids receives a new id. Default: none.
   */
  readonly usedIds?: Iterable<string> | UsedIds | (() => Iterable<string> | UsedIds);
  /** Generates the id of a call without one. Default: `nanoid`. */
  readonly newId?: () => string;
}

/** Joins fragments into calls, turn by turn. */
export interface ToolCallAccumulator {
  /**
   * Adds a fragment. Returns the call to which the fragment belongs, or undefined if the fragment adds nothing to any
   * call.
   */
  add(fragment: ToolCallFragment): PendingToolCall | undefined;
  /**
   * Returns the fragment labelled with its call: the position of the call in the turn, and its name and id if they are
   * known.
   */
  label(fragment: ToolCallFragment, call: PendingToolCall): ToolCallFragment;
  /** Returns the calls whose end the provider has marked, each once, in the order in which they began. */
  takeDone(): readonly ToolCallEvent[];
  /** Returns the remaining calls, and starts the next turn. */
  finish(reason: FinishReason): readonly ToolCallEvent[];
  /** Drops all calls of the current turn. */
  retract(): void;
}

const none: readonly ToolCallEvent[] = [];

/**
 * The id of a fragment, or `''`. Fragments come from any server and from users' code, so `null` and `"null"` are not
 * ids either.
 */
const idOf = ({ id }: { readonly id?: string | null }): string =>
  id === undefined || id === null || id === 'null' ? '' : id;

/** A set is used as it is: copying the ids of a long conversation in each turn would be slow. */
const toUsedIds = (ids: Iterable<string> | UsedIds): UsedIds => ('has' in ids ? ids : new Set(ids));

/** The pure core of `accumulateToolCalls`. Which call a fragment belongs to is decided by the tables in `rules.ts`. */
export function createToolCallAccumulator({
  usedIds = [],
  newId = nanoid,
}: AccumulateOptions = {}): ToolCallAccumulator {
  let conversationIds: UsedIds | undefined; // read at the first call
  const earlierIds = new Set<string>(); // ids of earlier turns of the source
  let turnIds = new Set<string>();
  let calls: PendingToolCall[] = [];
  let byId = new Map<string, PendingToolCall>();
  let byIndex = new Map<number | string, PendingToolCall>();
  let takenCount = 0; // the number of calls that have been emitted or dropped

  const retract = () => {
    turnIds = new Set();
    calls = [];
    byId = new Map();
    byIndex = new Map();
    takenCount = 0;
  };

  /**
   * The call that a fragment continues; undefined if it opens a call. Implements the table at the top of `rules.ts`.
   */
  const continuedCall = (fragment: ToolCallFragment, id: string): PendingToolCall | undefined => {
    const { index } = fragment;
    const withId = id === '' ? undefined : byId.get(id);
    const withIndex = index === undefined ? undefined : byIndex.get(index);
    if (withId) {
      if (withIndex?.id === id) return decide(rules.sameCall, withIndex, fragment);
      const isOtherIndex = index !== undefined && withId.index !== undefined && withId.index !== index;
      return decide(isOtherIndex ? rules.otherIndex : rules.sameCall, withId, fragment);
    }
    if (withIndex) return decide(id === '' ? rules.sameCall : rules.newId, withIndex, fragment);
    const current = calls.at(-1);
    if (!current) return undefined;
    if (index !== undefined) return decide(rules.unusedIndex, current, fragment);
    if (id !== '') return decide(rules.newId, current, fragment);
    return decide(current.id === '' ? rules.noIdOrIndex : rules.sameCall, current, fragment);
  };

  const open = (index: number | string | undefined, original?: PendingToolCall): PendingToolCall => {
    const call = createPendingToolCall(index, calls.length, original);
    calls.push(call);
    return call;
  };

  const assignId = (call: PendingToolCall): void => {
    conversationIds ??= toUsedIds(typeof usedIds === 'function' ? usedIds() : usedIds);
    let id = call.id;
    while (id === '' || conversationIds.has(id) || earlierIds.has(id) || turnIds.has(id)) id = newId();
    turnIds.add(id);
    call.uniqueId = id;
  };

  const toEvent = (call: PendingToolCall): ToolCallEvent => {
    if (call.uniqueId === '') assignId(call);
    call.isEmitted = true;
    const { uniqueId: id, name, providerData } = call;
    const event = { type: 'toolCall', id, name, arguments: readArguments(call) } as const;
    call.parsed = undefined; // whoever receives the arguments may write to them
    return providerData ? { ...event, providerData } : event;
  };

  /**
   * Whether arguments may still arrive for a call that is marked as done. This is so if it was announced at several
   * indexes, or if it has no id, so that a fragment without a name may follow
   * (smallmain/vscode-unify-chat-provider#49).
   */
  const isProvisional = (call: PendingToolCall) =>
    isPlaceholder(call) && (call.announcedAt !== undefined || (call.id === '' && call === calls.at(-1)));

  return {
    add(fragment) {
      const id = idOf(fragment);
      let call = continuedCall(fragment, id);
      if (!call) {
        if (id === '' && !fragment.name && rules.isEmptyFragment(call, fragment)) return undefined;
        call = open(fragment.index);
      } else if (rules.opensTwin(call, fragment)) call = open(fragment.index ?? call.index, call);
      else rules.noteAnnouncement(call, fragment);
      if (fragment.index !== undefined) byIndex.set(fragment.index, call);
      if (call.isEmitted) return undefined;
      append(call, id, fragment);
      if (id !== '') byId.set(id, call);
      return call;
    },
    label(fragment, call) {
      if (call.uniqueId === '' && call.id !== '') assignId(call);
      const { uniqueId: id, name, position: index } = call;
      const { arguments: args } = fragment;
      return {
        type: 'toolCallFragment',
        index,
        ...(id === '' ? {} : { id }),
        ...(name === '' ? {} : { name }),
        ...(args === undefined ? {} : { arguments: args }),
      };
    },
    takeDone() {
      let next = calls[takenCount];
      if (!next?.isDone) return none; // the case for nearly every fragment
      const done: ToolCallEvent[] = [];
      for (; next?.isDone && next.name !== '' && !isProvisional(next); next = calls[++takenCount])
        if (!isRepeat(next)) done.push(toEvent(next));
      return done;
    },
    finish(reason) {
      if (calls.length === 0) return none; // the case for nearly every turn without tools
      const isTruncated = vetoReasons.has(reason); // an incomplete call is dropped, never repaired
      const remaining = calls
        .slice(takenCount)
        .filter((call) => call.name !== '' && (!isTruncated || isComplete(call)) && !isRepeat(call))
        .map(toEvent);
      const finishedIds = turnIds;
      retract();
      for (const id of finishedIds) earlierIds.add(id);
      return remaining;
    },
    retract,
  };
}

/** Arguments that arrived as an object were parsed with the event, which may have changed them. */
const readArguments = (call: PendingToolCall): JsonObject =>
  call.object ? checkObject(parseCallArguments(call)) : parseCallArguments(call);

const decide = (
  list: readonly rules.Rule[],
  call: PendingToolCall,
  fragment: ToolCallFragment,
): PendingToolCall | undefined => (rules.continuesCall(list, call, fragment) ? call : undefined);
