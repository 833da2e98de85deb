import type { Message } from '../../core/message.js';

// Providers restrict the ids of tool calls. Invalid ids, which come from other providers, are replaced. A call and its
// result get the same new id.

/**
 * The id that Mistral accepts: any other one is rejected (400, "Tool call id was ... but must be a-z, A-Z, 0-9, with a
 * length of 9"). The hash has 46 bits: among two million ids, two collided in every third attempt (measured).
 */
export function mistralCallId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hashId(id);
}

/**
 * Converts the id of a tool call to an id of limited length. Ids of other providers may be longer (some contain a
 * signature). A longer id is replaced by its hash, so that a call and its result have the same id in every request.
 */
export function shortCallId(id: string, maxLength = 40): string {
  return id.length <= maxLength ? id : `call_${hashId(id)}`;
}

/** Hashes an id to nine letters and digits: the lower digits of two multiplicative hashes of 32 bits. */
function hashId(id: string): string {
  let [first, second] = [0, 0];
  for (let index = 0; index < id.length; index += 1) {
    first = Math.imul(first ^ id.charCodeAt(index), 0x9e3779b1) ^ (first >>> 15);
    second = Math.imul(second + id.charCodeAt(index), 0x85ebca6b) ^ (second >>> 13);
  }
  return lowerDigits(first, 5) + lowerDigits(second, 4);
}

const lowerDigits = (hash: number, count: number): string =>
  (hash >>> 0).toString(36).padStart(count, '0').slice(-count);

/**
 * Maps the ids of a conversation's tool calls to ids that Anthropic accepts: `^[a-zA-Z0-9_-]+$`. Anthropic rejects any
 * other id with status 400. A call and its result get the same id, and two calls never share an id.
 */
export function createCallIdMapper(messages: readonly Message[]): (id: string) => string {
  const invalidIds = collectCallIds(messages, false);
  if (invalidIds.size === 0) return unchanged; // nearly every conversation
  const usedIds = collectCallIds(messages, true);
  const newIds = new Map<string, string>();
  const suffixes = new Map<string, number>(); // the next one of each base
  for (const id of invalidIds) {
    const base = id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
    let suffix = suffixes.get(base) ?? 1;
    let newId = suffix === 1 ? base : `${base}_${suffix}`;
    while (usedIds.has(newId)) newId = `${base}_${++suffix}`;
    suffixes.set(base, suffix + 1);
    usedIds.add(newId);
    newIds.set(id, newId);
  }
  return (id) => newIds.get(id) ?? id;
}

/** The ids of the calls that are valid, or those that are not. Runs for every request, so it copies nothing else. */
function collectCallIds(messages: readonly Message[], valid: boolean): Set<string> {
  const ids = new Set<string>();
  for (const { parts } of messages)
    for (const part of parts) if (part.type === 'toolCall' && isValidCallId(part.id) === valid) ids.add(part.id);
  return ids;
}

const unchanged = (id: string): string => id;

/** Whether Anthropic accepts the id of a call. */
export const isValidCallId = (id: string): boolean => /^[a-zA-Z0-9_-]+$/.test(id);
