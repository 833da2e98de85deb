import { mapChanged } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';

/**
 * Replaces names of calls that no tool has and that an API refuses for ever (opencode#48750: "String should match
 * pattern '^[a-zA-Z0-9_-]{1,128}$'"; OpenAI and Google: 64 characters): models invent `functions.weather`,
 * `weather<|channel|>x`, names of 90 characters and empty ones.
 */
export function mapCallNames(message: Message, toolNames: ReadonlySet<string>): Message {
  const parts = mapChanged(message.parts, (part) =>
    (part.type === 'toolCall' || part.type === 'toolResult') && isOddName(part.name) && !toolNames.has(part.name)
      ? { ...part, name: wireName(part.name) }
      : part,
  );
  return parts === message.parts ? message : { ...message, parts };
}

export const isOddName = (name: string): boolean => !/^[A-Za-z_][\w-]{0,63}$/.test(name);

/** A name of letters, digits, `_` and `-` that does not begin with a digit (Google), at most 64 characters. */
function wireName(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').replace(/\W+/g, '_').slice(0, 63);
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}
