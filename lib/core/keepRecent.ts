import { optionsError } from './errors.js';
import { hasToolResults, type Message } from './message.js';
import { requireNumber, requireSync } from './options.js';
import { estimateTokens, type CountTokens } from './tokens.js';

export interface KeepRecentOptions {
  /** The maximum number of tokens of the kept messages, including system messages. Default: Infinity. */
  readonly tokens?: number | undefined;
  /** The maximum number of kept messages, without system messages. Default: Infinity. */
  readonly messages?: number | undefined;
  /** Counts the tokens of messages; it is called with one message at a time. Default: `estimateTokens`. */
  readonly countTokens?: CountTokens | undefined;
}

/**
 * Creates a function that drops the oldest messages of a history.
 *
 * <span class="informal">What fits, from the end.</span>
 *
 * The shortened history is valid for every provider:
 *
 * - System messages stay.
 * - The first other message is an input of the user. If the history is cut between the turns of a run, the input of
 *   that run stays, so that the model knows its task.
 * - A tool call and its result stay or go together.
 * - The most recent turn (the model's last message and its results), or an input after it, stays even if it exceeds the
 *   limits.
 *
 * ```ts
 * const shorten = keepRecent({ tokens: 50_000 });
 * createAgent({ model, tools, prepareTurn: ({ messages }) => ({ messages: shorten(messages) }) });
 * agent.stream('Go on.', { history: shorten(history) });
 * ```
 *
 * In `prepareTurn` only the request is shortened; the history of the run and its result stay complete. The system
 * prompt of an agent is not part of the history, and not counted.
 *
 * @param options `tokens`, `messages` (at least one), `countTokens` (default: a quarter of the characters).
 * @returns A function that returns the shortened history; the same array if nothing was dropped.
 * @throws ConfigurationError `options` if no limit is set, or one is less than 1.
 */
export function keepRecent(options: KeepRecentOptions): (messages: readonly Message[]) => readonly Message[] {
  checkKeepRecent(options);
  return (messages) => messagesFrom(messages, cutIndex(messages, options));
}

/** @throws ConfigurationError `options` if no limit is set, or one is less than 1. */
export function checkKeepRecent({ tokens, messages }: KeepRecentOptions): void {
  requireNumber('tokens', tokens, 1);
  requireNumber('messages', messages, 1);
  if (tokens === undefined && messages === undefined)
    throw optionsError('keepRecent has no limit.', 'Pass the maximum number of `tokens` or `messages`.');
}

export function cutIndex(
  history: readonly Message[],
  { tokens = Infinity, messages = Infinity, countTokens = estimateTokens }: KeepRecentOptions,
): number {
  const countSize = (message: Message) =>
    tokens === Infinity ? 0 : requireSync('countTokens', countTokens([message]));
  const sizes = history.map(countSize);
  let remainingTokens = sizes.reduce((sum, size) => sum + size, 0);
  let remaining = history.filter(({ role }) => role !== 'system').length;
  let systemTokens = 0;
  let inputTokens: number | undefined; // of the last input before the index
  let cut = 0;
  for (const [index, message] of history.entries()) {
    const size = sizes[index] ?? 0;
    const startsWithInput = isInput(message);
    if (startsWithInput || message.role === 'model') {
      cut = index;
      const addsInput = !startsWithInput && inputTokens !== undefined;
      const keptTokens = systemTokens + remainingTokens + (addsInput ? (inputTokens ?? 0) : 0);
      if (keptTokens <= tokens && remaining + (addsInput ? 1 : 0) <= messages) break;
    }
    if (startsWithInput) inputTokens = size;
    if (message.role === 'system') systemTokens += size;
    else remaining--;
    remainingTokens -= size;
  }
  return cut;
}

function messagesFrom(messages: readonly Message[], index: number): readonly Message[] {
  const before = messages.slice(0, index);
  const kept = [...before.filter(({ role }) => role === 'system'), ...inputBefore(messages, index)];
  return kept.length === before.length ? messages : [...kept, ...messages.slice(index)];
}

/** The user's last input, unless the message at the index is an input itself. */
export function inputBefore(messages: readonly Message[], index: number): readonly Message[] {
  const first = messages[index];
  const input = first && isInput(first) ? undefined : messages.slice(0, index).findLast(isInput);
  return input ? [input] : [];
}

const isInput = (message: Message): boolean => message.role === 'user' && !hasToolResults(message);
