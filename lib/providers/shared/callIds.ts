import type { Message } from '../../core/message.js';

/**
 * An id of a tool call as Mistral takes it: nine letters and digits ("Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9", its answer
 * 400 to any other). Its own ids stay; those of other providers become a hash of themselves, so that a call and its result agree, in each request.
 *
 * 46 bits of hash fit in nine digits to the base 36. Measured, two of two million ids met in every third try: of a thousand, in one of some ten million.
 *
 * @param id Any id.
 */
export function mistralCallId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hashId(id);
}

/** An id as nine letters and digits that depend on nothing but it: two multiplicative hashes of 32 bits, of which the lower digits are kept. */
export function hashId(id: string): string {
  let [one, other] = [0, 0];
  for (let at = 0; at < id.length; at += 1) {
    one = Math.imul(one ^ id.charCodeAt(at), 0x9e3779b1) ^ (one >>> 15);
    other = Math.imul(other + id.charCodeAt(at), 0x85ebca6b) ^ (other >>> 13);
  }
  return digits(one, 5) + digits(other, 4);
}

const digits = (hash: number, count: number): string => (hash >>> 0).toString(36).padStart(count, '0').slice(-count);

/**
 * An id of a tool call that is not too long. Other providers' are longer (some carry a signature); such an id becomes a hash of itself, so that a
 * call and its result agree, in each request.
 *
 * @param id Any id.
 * @param longest The longest that the API takes. Default: 40, as OpenAI has it ("string too long. Expected a string with maximum length 40").
 */
export function shortCallId(id: string, longest = 40): string {
  return id.length <= longest ? id : `call_${hashId(id)}`;
}

/**
 * Makes ids of calls that the API accepts: `^[a-zA-Z0-9_-]+$` (it says so in the 400 for others). Ids made by other providers can hold anything;
 * call and result get the same new one, and two calls never share one.
 *
 * @param messages The whole conversation.
 * @returns The valid id for an id of the conversation.
 */
export function createCallIdMapper(messages: readonly Message[]): (id: string) => string {
  const ids = new Set(
    messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'toolCall' ? [part.id] : []))),
  );
  const taken = new Set([...ids].filter((id) => valid.test(id)));
  const renamed = new Map<string, string>();
  for (const id of ids) {
    if (valid.test(id)) continue;
    const base = id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
    let name = base;
    for (let n = 2; taken.has(name); n += 1) name = `${base}_${n}`;
    taken.add(name);
    renamed.set(id, name);
  }
  return (id) => renamed.get(id) ?? id;
}

const valid = /^[a-zA-Z0-9_-]+$/;
