import type { Input, MessageView } from 'rivulet';
import type { ExchangeView } from 'rivulet/chat';

/** The prompt as text. */
export const promptOf = ({ messages }: ExchangeView): string => textOf(messages.find(({ role }) => role === 'user'));

/** The answer as text, without thinking and tool calls. */
export const answerOf = ({ messages }: ExchangeView): string => textOf(messages.find(({ role }) => role === 'model'));

function textOf(message: MessageView | undefined): string {
  const texts = message?.parts.map((part) => (part.type === 'text' ? part.text : '')) ?? [];
  return texts.filter((text) => text !== '').join('\n\n');
}

export const inputText = (input: Input): string => (typeof input === 'string' ? input : '…');

/** A text about which a person decides. What shows as nothing or as a blank, or reorders the text, is its code. */
export const showHidden = (text: string): string =>
  text.replace(
    /[^\P{C}\t\n]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu,
    (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`,
  );
