/*
 * The decision rules of `accumulateToolCalls`: whether a fragment continues a pending call or opens another.
 *
 * No single field identifies a call. The index may be missing, always 0, or start at 1. The id may be missing, late,
 * empty, shared, or new in each fragment. So the accumulator first uses the fields of the fragment to find a candidate:
 * the call to which the fragment may belong. The way in which it found the candidate selects a list of rules:
 *
 * | id of the fragment | index of the fragment           | candidate                    | rules          |
 * | ------------------ | ------------------------------- | ---------------------------- | -------------- |
 * | known              | used by a call with this id     | the call at the index        | `sameCall`     |
 * | known              | missing, or the call's own      | the call with the id         | `sameCall`     |
 * | known              | any other                       | the call with the id         | `otherIndex`   |
 * | new                | used                            | the call at the index        | `newId`        |
 * | new                | missing                         | the current call             | `newId`        |
 * | none               | used                            | the call at the index        | `sameCall`     |
 * | none or new        | not used yet                    | the current call             | `unusedIndex`  |
 * | none               | missing                         | the current call, with an id | `sameCall`     |
 * | none               | missing                         | the current call, without id | `noIdOrIndex` |
 *
 * The current call is the call that was opened last. If there is none yet, the fragment opens a call. The first rule of
 * the list whose condition is true decides. A fragment that continues a call may still open a twin of the call: see
 * `opensTwin`.
 *
 * The comment of a rule names the server behaviour that requires it, with a public report where there is one.
 */
import type { ToolCallFragment } from '../../core/chunk.js';
import { isEmptyFragment, type PendingToolCall } from './pendingToolCall.js';

type Condition = (call: PendingToolCall, fragment: ToolCallFragment) => boolean;
export type Rule = readonly [condition: Condition, continues: boolean];

const CONTINUES = true;
const OPENS = false;

/** The same id, or the same index without another id. */
export const sameCall: readonly Rule[] = [
  // Arguments follow without a name (Mistral: with the id `"null"` and the name `""`, zed-industries/zed#53605).
  [isNameless, CONTINUES],
  // A late name: the first fragment has `name: ""` (vercel/ai#16507, jjang-ai/vmlx#244).
  [isCallNameless, CONTINUES],
  // The repeated name, or its next part, before any arguments.
  [hasNoArguments, CONTINUES],
  // A complete call after a truncated call: another name, and an object begins.
  [opensObjectUnderOtherName, OPENS],
  // The name is in every fragment.
  [isIncomplete, CONTINUES],
  // Several complete calls at index 0 or under one id (skye-harris/hass_local_openai_llm#92).
  [hasOtherName, OPENS],
  // Real arguments after a placeholder `{}` (smallmain/vscode-unify-chat-provider#49).
  [isUnemittedPlaceholder, CONTINUES],
  // The repeated complete arguments, or no arguments (vercel/ai#3953).
  [addsNothing, CONTINUES],
  // Other complete arguments under the same name: two calls to one tool.
  [always, OPENS],
];

/** A known id at another index: the candidate is the call with the id. */
export const otherIndex: readonly Rule[] = [
  // The id wins over the index: an index that changes between the fragments of a call.
  [isNameless, CONTINUES],
  // One id for all calls of a turn, even at one index (skye-harris/hass_local_openai_llm#92).
  [hasOtherName, OPENS],
  // The same call, announced again at each index (mudler/LocalAI#9722).
  [addsNothing, CONTINUES],
  // Announced without arguments at the first index, complete at the next index (mudler/LocalAI#9722).
  [isOnlyAnnounced, CONTINUES],
  // Two complete calls to one tool under one id.
  [isComplete, OPENS],
  // Two interleaved calls to one tool under one id.
  [opensObject, OPENS],
  // The next arguments of the call, with its name repeated.
  [always, CONTINUES],
];

/** A new id, at the index of a pending call (the candidate), or without an index (the call opened last). */
export const newId: readonly Rule[] = [
  // The id differs between the first fragment and the others (poolsideai/pool#9, vllm-project/vllm#23522).
  [isNamelessWithinArguments, CONTINUES],
  // A new id in each fragment: blank fragments or a repeat after the end.
  [isNamelessRepeat, CONTINUES],
  // A late id replaces an empty id, even with the name repeated, unless other arguments arrive with it.
  [fillsEmptyId, CONTINUES],
  // A new id and the name in each fragment of a call.
  [continuesArguments, CONTINUES],
  // Parallel calls that are all at index 0, each with its own id (earendil-works/pi#8861, su-kaka/gcli2api#406).
  [always, OPENS],
];

/** No call has this id or this index; the call that was opened last is the candidate. */
export const unusedIndex: readonly Rule[] = [
  // A name begins a call: the documented case.
  [hasName, OPENS],
  // The call before it has all of its arguments.
  [isComplete, OPENS],
  // An id at a new index, before its name and arguments: it has nothing that could continue the call before it.
  [addsNothingToAny, OPENS],
  // Arguments without a name at a new index: they continue the incomplete call.
  [always, CONTINUES],
];

/** The current call has no id either: Google, Ollama, or a server without `index` (openai/openai-python#3246). */
export const noIdOrIndex: readonly Rule[] = [
  // Arguments follow without a name (smallmain/vscode-unify-chat-provider#49).
  [isNameless, CONTINUES],
  [isCallNameless, CONTINUES],
  // Two calls without arguments, possibly to one tool.
  [hasNoArguments, OPENS],
  // Equal calls in a row are separate calls (run-llama/llama_index#22464, TanStack/ai#199).
  [isComplete, OPENS],
  [opensObjectUnderOtherName, OPENS],
  // The name is in every fragment.
  [always, CONTINUES],
];

export function continuesCall(rules: readonly Rule[], call: PendingToolCall, fragment: ToolCallFragment): boolean {
  for (const rule of rules) if (rule[0](call, fragment)) return rule[1];
  return CONTINUES; // not reached: each list ends with `always`
}

/** A twin has the same id and name. It is provisional: equal arguments make it a repeat. */
export function opensTwin(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  return (isAfterRepeatedName(call, fragment) || isAtOtherAnnouncement(call, fragment)) && opensObject(call, fragment);
}

/** The call was announced a second time after its arguments had closed. */
function isAfterRepeatedName(call: PendingToolCall, { name }: ToolCallFragment): boolean {
  return call.isAnnouncedAgain && !name;
}

/** The server uses one id for all calls, and the index separates their arguments. */
function isAtOtherAnnouncement(call: PendingToolCall, { index, name }: ToolCallFragment): boolean {
  const { argumentsIndex, announcedAt } = call;
  if (announcedAt === undefined || argumentsIndex === undefined) return false;
  // A fragment with a name, after complete arguments: a list of rules has already compared the arguments.
  if (call.isPlaceholder() || (name && call.isComplete())) return false;
  return index !== argumentsIndex && announcedAt.has(index);
}

function always(): boolean {
  return true;
}

function hasNoArguments(call: PendingToolCall): boolean {
  return call.hasNoArguments();
}

function isOnlyAnnounced(call: PendingToolCall): boolean {
  return call.isOnlyAnnounced();
}

function isComplete(call: PendingToolCall): boolean {
  return call.isComplete();
}

function addsNothing(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  return call.isUnchangedBy(fragment);
}

function addsNothingToAny(_: PendingToolCall, fragment: ToolCallFragment): boolean {
  return isEmptyFragment(fragment);
}

function hasName(_: PendingToolCall, { name }: ToolCallFragment): boolean {
  return !!name;
}

function isNameless(_: PendingToolCall, { name }: ToolCallFragment): boolean {
  return !name;
}

function isCallNameless({ name }: PendingToolCall): boolean {
  return name === '';
}

function hasOtherName(call: PendingToolCall, { name }: ToolCallFragment): boolean {
  return name !== call.name;
}

function isIncomplete(call: PendingToolCall): boolean {
  return !call.isComplete();
}

function isUnemittedPlaceholder(call: PendingToolCall): boolean {
  return call.isPlaceholder() && !call.isEmitted;
}

function opensObject(_: PendingToolCall, { arguments: args }: ToolCallFragment): boolean {
  return typeof args === 'string' ? args.trimStart().startsWith('{') : !!args;
}

function opensObjectUnderOtherName(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  return hasOtherName(call, fragment) && !call.isComplete() && opensObject(call, fragment);
}

function isNamelessWithinArguments(call: PendingToolCall, { name }: ToolCallFragment): boolean {
  return !name && (call.isPlaceholder() || !call.isComplete());
}

function isNamelessRepeat(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  return !fragment.name && call.isUnchangedBy(fragment);
}

function fillsEmptyId(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  if (!fragment.name || call.id !== '' || !fitsName(call, fragment)) return false;
  return !call.isComplete() || call.isUnchangedBy(fragment);
}

function continuesArguments(call: PendingToolCall, fragment: ToolCallFragment): boolean {
  if (!fragment.name || !fitsName(call, fragment) || call.isComplete() || call.hasNoArguments()) return false;
  return !isEmptyFragment(fragment) && !opensObject(call, fragment);
}

function fitsName(call: PendingToolCall, { name }: ToolCallFragment): boolean {
  return call.name === '' || name === call.name;
}
