import { nanoid } from 'nanoid/non-secure'; // the main entry's browser condition is ESM only: jest's jsdom environment cannot require it
import type { FinishReason, ToolCallFragment } from '../../core/chunk.js';
import type { ToolCallEvent } from '../../core/event.js';
import { isBlank } from './arguments.js';
import {
  addsNothing,
  append,
  argumentsOf,
  hasNoArguments,
  isPlaceholder,
  isRepeat,
  isWhole,
  newToolCall,
} from './pendingToolCall.js';
import type { PendingToolCall } from './pendingToolCall.js';

/** Options of `accumulateToolCalls`. */
export interface AccumulateOptions {
  /** Ids that the conversation has used, or a function that tells them, asked at the first call: a call that brings one of them gets a new one. Default: none. */
  readonly usedIds?: Iterable<string> | (() => Iterable<string>);
  /** Makes the id of a call that has none. Default: `nanoid`. */
  readonly newId?: () => string;
}

/** Joins fragments into calls; `add` and `finish` return the calls that have become whole, in the order in which they began. */
export interface ToolCallAccumulator {
  /** `seen` gets the fragment told of its call: the call's place as `index`, its name so far, and the id that it will have, if the wire has said one. */
  add(fragment: ToolCallFragment, seen?: (fragment: ToolCallFragment) => void): ToolCallEvent[];
  finish(reason: FinishReason): ToolCallEvent[];
}

/** An answer that ended so was cut: what is not whole then is dropped, never repaired. */
const cut: readonly FinishReason[] = ['length', 'contentFilter', 'error', 'stopped'];

/** Fragments may come from users' own code and from any server: null is no id either. */
const idOf = ({ id }: { readonly id?: string | null }): string =>
  id === undefined || id === null || id === 'null' ? '' : id;

/** Whether a piece of arguments begins an object rather than continues one. */
const beginsObject = ({ arguments: args }: ToolCallFragment): boolean =>
  typeof args === 'string' ? args.trimStart().startsWith('{') : !!args;

const saysNothing = ({ arguments: args, providerData, done }: ToolCallFragment): boolean =>
  (typeof args === 'string' ? isBlank(args) : !args) && !providerData && !done;

/**
 * The pure core of `accumulateToolCalls`: no Observable, one turn.
 *
 * No single field says which call a fragment belongs to: servers leave the index out, send 0 for all, repeat ids, send none, or a new one in each
 * fragment. So the fields are asked in turn: the id, if it is known; the index, if it is in use; otherwise the call opened last. Whether the fragment
 * then continues that call or opens another is told by what it brings (a name) and by whether the arguments there have closed.
 */
export function createToolCallAccumulator({
  usedIds = [],
  newId = nanoid,
}: AccumulateOptions = {}): ToolCallAccumulator {
  const calls: PendingToolCall[] = [];
  const byId = new Map<string, PendingToolCall>();
  const byIndex = new Map<number | string, PendingToolCall>();
  let known: Set<string> | undefined; // of a long conversation not before there is a call
  let emitted = 0;

  /** The call that the fragment continues; undefined when it opens one. */
  const continued = (fragment: ToolCallFragment, id: string): PendingToolCall | undefined => {
    const { index } = fragment;
    const same = id === '' ? undefined : byId.get(id);
    if (same) {
      const there = index === undefined ? undefined : byIndex.get(index);
      if (there?.id === id) return opensAnother(there, fragment) ? undefined : there;
      const moved = index !== undefined && same.index !== undefined && same.index !== index;
      return (moved ? isAnotherElsewhere : opensAnother)(same, fragment) ? undefined : same;
    }
    const current = calls.at(-1);
    const there = index === undefined ? current : byIndex.get(index);
    if (!there) return !fragment.name && current && !isWhole(current) && !saysNothing(fragment) ? current : undefined;
    if (id !== '') return newIdOpens(there, fragment) ? undefined : there;
    return (index === undefined && there.id === '' ? nextOpens : opensAnother)(there, fragment) ? undefined : there;
  };

  const unusedId = (id: string): string => {
    const used = (known ??= new Set(typeof usedIds === 'function' ? usedIds() : usedIds));
    let unused = id;
    while (unused === '' || used.has(unused)) unused = newId();
    used.add(unused);
    return unused;
  };

  const told = (call: PendingToolCall, { arguments: args }: ToolCallFragment): ToolCallFragment => {
    if (call.finalId === '' && call.id !== '') call.finalId = unusedId(call.id);
    const names = {
      ...(call.finalId === '' ? {} : { id: call.finalId }),
      ...(call.name === '' ? {} : { name: call.name }),
    };
    return {
      type: 'toolCallFragment',
      index: call.place,
      ...names,
      ...(args === undefined ? {} : { arguments: args }),
    };
  };

  const toEvent = (call: PendingToolCall): ToolCallEvent => {
    if (call.finalId === '') call.finalId = unusedId(call.id);
    call.emitted = true;
    const base = { type: 'toolCall', id: call.finalId, name: call.name, arguments: argumentsOf(call) } as const;
    return call.providerData ? { ...base, providerData: call.providerData } : base;
  };

  /** An id-less call without arguments may still get them from a nameless fragment, until another call opens. */
  const isReady = (call: PendingToolCall) =>
    call.done && call.name !== '' && (call.id !== '' || !isPlaceholder(call) || call !== calls.at(-1));

  return {
    add(fragment, seen) {
      const id = idOf(fragment);
      let call = continued(fragment, id);
      if (!call) {
        if (id === '' && !fragment.name && saysNothing(fragment)) return [];
        call = newToolCall(fragment.index, calls.length);
        calls.push(call);
      } else if (call.announcedAgain && !fragment.name && beginsObject(fragment)) {
        const { name, id: shared } = call;
        call = Object.assign(newToolCall(fragment.index ?? call.index, calls.length, call), { name, id: shared });
        calls.push(call);
      } else call.announcedAgain = !!fragment.name && isWhole(call) && !isPlaceholder(call);
      if (fragment.index !== undefined) byIndex.set(fragment.index, call);
      if (call.emitted) return [];
      append(call, id, fragment);
      if (id !== '') byId.set(id, call);
      seen?.(told(call, fragment));
      const ready: ToolCallEvent[] = [];
      for (let next = calls[emitted]; next && isReady(next); next = calls[++emitted])
        if (!isRepeat(next)) ready.push(toEvent(next));
      return ready;
    },
    finish(reason) {
      const rest = calls
        .slice(emitted)
        .filter((call) => call.name !== '' && (!cut.includes(reason) || isWhole(call)) && !isRepeat(call));
      emitted = calls.length;
      return rest.map(toEvent);
    },
  };
}

/** The same id (or the same index, without an id), and a name: the call once more, its next piece, or another one. */
function opensAnother(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  const { name } = fragment;
  if (!name || call.name === '' || hasNoArguments(call)) return false;
  if (isWhole(call))
    return name !== call.name || !((isPlaceholder(call) && !call.emitted) || addsNothing(call, fragment));
  return name !== call.name && beginsObject(fragment);
}

/** The same id at another index: another call if it says anything else. Without a name it can only continue. */
function isAnotherElsewhere(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  const { name } = fragment;
  if (!name || (name === call.name && addsNothing(call, fragment))) return false;
  return name !== call.name || isWhole(call) || hasNoArguments(call) || beginsObject(fragment);
}

/** A new id where a call is open: another call if it brings a name or the arguments there have closed. */
function newIdOpens(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  const { name } = fragment;
  if (!name) return !isPlaceholder(call) && isWhole(call) && !addsNothing(call, fragment);
  const fits = call.name === '' || name === call.name;
  if (call.id === '' && fits) return isWhole(call) && !addsNothing(call, fragment); // a late id fills an empty one
  const continues =
    fits && !isWhole(call) && !hasNoArguments(call) && !saysNothing(fragment) && !beginsObject(fragment);
  return !continues;
}

/** Neither id nor index: a name opens the next call once the arguments of the one before have closed, or if it has none. */
function nextOpens(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  if (!fragment.name || call.name === '') return false;
  return hasNoArguments(call) || isWhole(call) || (fragment.name !== call.name && beginsObject(fragment));
}
