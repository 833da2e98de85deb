import { ConfigurationError } from './errors.js';
import { startState } from './event.js';
import { isRecord } from './json/json.js';
import { userMessage } from './message.js';
import type { Message } from './message.js';
import type { RunState } from './runState.js';

/** The user's input: a text, a message, or several messages. */
export type Input = string | Message | readonly Message[];

/** The messages of an input. */
export const messagesOf = (input: Input): readonly Message[] =>
  typeof input === 'string' ? [userMessage(input)] : [input].flat();

/**
 * The state from which a run starts. The history is copied, so that later changes to the array do not affect the run.
 */
export function createStartState(input: Input, history: readonly Message[]): RunState {
  const messages = messagesOf(input);
  if (history.length + messages.length > 0 && messages.every(isRecord)) return startState([...history, ...messages]);
  throw new ConfigurationError(
    'history',
    'There is nothing to send: no input and no history.',
    'Pass a text or a message.',
  );
}
