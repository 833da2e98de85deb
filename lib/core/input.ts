import { historyError } from './errors.js';
import { startState } from './event.js';
import { isRecord } from './json/json.js';
import { userMessage, type Message, type Role } from './message.js';
import type { RunState } from './runState.js';

/** The user's input: a text, a message, or several messages. */
export type Input = string | Message | readonly Message[];

export const messagesOf = (input: Input): readonly Message[] =>
  typeof input === 'string' ? [userMessage(input)] : [input].flat();

/** The ids of messages. */
export const idsOf = (messages: readonly Message[] = []): readonly string[] => messages.flatMap(({ id }) => id ?? []);

/** Whether `known` does not have the id of a message; then it has it now. A message without an id is always new. */
export const isNew = ({ id }: Message, known: Set<string>): boolean =>
  id === undefined || (!known.has(id) && known.add(id).has(id));

/** Later changes to the array do not affect the run. @throws ConfigurationError `history` */
export function createStartState(input: Input, history: readonly Message[] = []): RunState {
  const messages = [...history, ...messagesOf(input)];
  if (messages.length === 0 || (input as Input | undefined) === undefined)
    throw nothingToSend('no input and no history');
  requireMessages(messages);
  return startState(messages);
}

export const requireMessages = (messages: readonly unknown[]): void => messages.forEach(requireMessage);

/** Returns the input. @throws ConfigurationError `history` if it is none, or is empty. */
export function requireInput(input: Input): Input {
  const { messages } = createStartState(input);
  const hasContent = ({ parts }: Message) => parts.some((part) => part.type !== 'text' || part.text !== '');
  if (messages.some(hasContent)) return input;
  throw nothingToSend('the input is empty');
}

const nothingToSend = (problem: string) =>
  historyError(`There is nothing to send: ${problem}.`, 'Pass a text or a message.');

function requireMessage(message: unknown, index: number): void {
  const { role, parts } = isRecord(message) ? message : {};
  const isMessage = typeof role === 'string' && roles.includes(role) && Array.isArray(parts) && parts.every(isPart);
  if (isMessage) return;
  throw historyError(
    `Message ${index} of the run is not a message: ${JSON.stringify([message]).slice(1, -1).slice(0, 200)}.`,
    `Use userMessage(text) or modelMessage(text). A message has \`parts\`, and the role ${roles.join(', ')}.`,
  );
}

const isPart = (part: unknown): boolean =>
  isRecord(part) && typeof part['type'] === 'string' && (part['type'] !== 'text' || typeof part['text'] === 'string');

const roles: readonly string[] = ['system', 'user', 'model'] satisfies readonly Role[];
