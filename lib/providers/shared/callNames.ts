import { mapChanged } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';

/** APIs refuse invented names for ever (opencode#48750). Anthropic: 128 characters; OpenAI and Google: 64. */
export function mapCallNames(message: Message, toolNames: ReadonlySet<string>): Message {
  const parts = mapChanged(message.parts, (part) =>
    (part.type === 'toolCall' || part.type === 'toolResult') && isOddName(part.name) && !toolNames.has(part.name)
      ? { ...part, name: wireName(part.name) }
      : part,
  );
  return parts === message.parts ? message : { ...message, parts };
}

export const isOddName = (name: string): boolean => !/^[A-Za-z_][\w-]{0,63}$/.test(name);

/** Google refuses a digit at the start. */
function wireName(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').replace(/\W+/g, '_').slice(0, 63);
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}
