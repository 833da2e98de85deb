import type { Message } from '../../core/message.js';

/**
 * Makes ids of calls that the API accepts: `^[a-zA-Z0-9_-]+$` (it says so in the 400 for others). Ids made by other providers can hold anything;
 * call and result get the same new one, and two calls never share one.
 *
 * @param messages The whole conversation.
 * @returns The valid id for an id of the conversation.
 */
export function validIds(messages: readonly Message[]): (id: string) => string {
  const ids = new Set(messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'toolCall' ? [part.id] : []))));
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
