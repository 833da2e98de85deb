import type { Part } from '../../core/message.js';
import type { Request } from '../../core/model.js';

/**
 * The texts of a conversation: what was written, the arguments of calls, and their results. Errors do not reveal them.
 *
 * @param request The request that failed.
 */
export const conversationTexts = ({ messages }: Request): readonly string[] =>
  messages.flatMap(({ parts }) => parts.flatMap(textsOf));

function textsOf(part: Part): readonly string[] {
  switch (part.type) {
    case 'text':
      return [part.text];
    case 'toolCall':
      return [JSON.stringify(part.arguments)];
    case 'toolResult':
      return [part.error ?? (typeof part.result === 'string' ? part.result : JSON.stringify(part.result))];
    default:
      return [];
  }
}
