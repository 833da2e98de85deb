import type { Message, Part } from './message.js';

export type CountTokens = (messages: readonly Message[]) => number;

/** "one token generally corresponds to ~4 characters of text" (platform.openai.com/tokenizer). */
const CHARACTERS_PER_TOKEN = 4;

/** The size in bytes says little: an image of a megapixel has 800 to 1,600 tokens. */
const TOKENS_PER_FILE = 1000;

/**
 * Estimates the tokens of messages: a quarter of their characters, including the arguments and the results of calls as
 * JSON, and 1,000 for each file.
 *
 * @param messages The messages.
 * @returns The number of tokens. Pass a tokenizer wherever the estimate is not good enough.
 */
export function estimateTokens(messages: readonly Message[]): number {
  let tokens = 0;
  for (const { parts } of messages) for (const part of parts) tokens += countPartTokens(part);
  return Math.ceil(tokens);
}

function countPartTokens(part: Part): number {
  switch (part.type) {
    case 'text':
      return part.text.length / CHARACTERS_PER_TOKEN;
    case 'file':
      return TOKENS_PER_FILE;
    case 'source':
      return (part.text ?? '').length / CHARACTERS_PER_TOKEN;
    case 'toolCall':
      return (part.name.length + JSON.stringify(part.arguments).length) / CHARACTERS_PER_TOKEN;
    case 'provider':
      return JSON.stringify(part.data).length / CHARACTERS_PER_TOKEN;
    case 'toolResult':
      return (part.error ?? JSON.stringify(part.result)).length / CHARACTERS_PER_TOKEN;
  }
}
