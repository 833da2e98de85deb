import type { Message, Part } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';

/**
 * Replaces names of calls that no tool has and that an API refuses for ever (opencode#48750: "String should match
 * pattern '^[a-zA-Z0-9_-]{1,128}$'"; OpenAI and Google: 64 characters): models invent `functions.weather`,
 * `weather<|channel|>x`, names of 90 characters and empty ones.
 */
export function mapCallNames(messages: readonly Message[], tools: readonly ToolDefinition[] = []): readonly Message[] {
  const isKept = ({ name }: { readonly name: string }) =>
    /^[A-Za-z_][\w-]{0,63}$/.test(name) || tools.some((tool) => tool.name === name);
  const isOdd = (part: Part) => (part.type === 'toolCall' || part.type === 'toolResult') && !isKept(part);
  return messages.map((message) =>
    message.parts.some(isOdd)
      ? { ...message, parts: message.parts.map((part) => (isOdd(part) ? renamed(part) : part)) }
      : message,
  );
}

const renamed = (part: Part): Part =>
  part.type === 'toolCall' || part.type === 'toolResult' ? { ...part, name: wireName(part.name) } : part;

/** A name of letters, digits, `_` and `-` that does not begin with a digit (Google), at most 64 characters. */
function wireName(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').replace(/\W+/g, '_').slice(0, 63);
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}
