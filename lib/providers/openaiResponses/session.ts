import { isRecord, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { toolCallsOf } from '../../core/message.js';
import type { Message } from '../../core/message.js';
import { encodeInput, isClientCall, isOutput } from './messages.js';
import { isAsItCame, isOf, isStored, outputOf, ownOf } from './replay.js';

/** A conversation that OpenAI keeps, and what it has not seen of it yet. */
export interface Session {
  /** The response to go on from ("Conversation state" of OpenAI's guides). */
  readonly previous: string;
  /** What is newer, as input items. */
  readonly input: readonly JsonObject[];
}

/** Whether a message came with a response of its own: one that is merged with another no longer says what is newer than it. */
export const isResponse = (message: Message): boolean => ownOf(message) !== undefined;

/**
 * The newest response in a history that can be gone on from, and what follows it, whoever made that. A response cannot be
 *
 * - if it was not stored, or has no id;
 * - if the message's text was edited since: the model would not know;
 * - if a call of it has no output in what follows (one that was cut never became a call of ours; one of the local shell that nobody answered). The
 *   API refuses that: "No tool output found for ...".
 *
 * @param messages A valid history, its responses apart.
 * @returns Undefined where there is none: then the whole history has to be sent.
 */
export function sessionOf(messages: readonly Message[]): Session | undefined {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    const previous = message && nonEmptyString(ownOf(message)?.['responseId']);
    if (!message || previous === undefined || !isStored(message) || !isAsItCame(message)) continue;
    const input = encodeInput(messages.slice(at + 1), { stored: true, callIds: wireIds(message) });
    if (areAnswered(outputOf(message), input)) return { previous, input };
  }
  return undefined;
}

/** The ids that a response's calls have at OpenAI: ours may be others, made distinct within the conversation. */
function wireIds(message: Message): ReadonlyMap<string, string> {
  const items = outputOf(message);
  return new Map(
    toolCallsOf(message).map((call) => [
      call.id,
      nonEmptyString(items.find((item) => isOf(call, item))?.['call_id']) ?? call.id,
    ]),
  );
}

function areAnswered(output: readonly JsonObject[], input: readonly JsonObject[]): boolean {
  const answered = new Set([...output, ...input].filter(isOutput).map((item) => item['call_id']));
  return output.every((item) => !isClientCall(item) || answered.has(item['call_id']));
}

/** The statuses with which a request is refused for what it refers to: unknown, or not taken by this server. */
const refusals: readonly unknown[] = [400, 404, 410, 422];

/**
 * Whether an error says that the response to go on from is not there: OpenAI's 400 `previous_response_not_found`, also as an event of the stream, and
 * what servers say that keep none, or have another code for it.
 */
export function isLost(error: unknown, previous: string): boolean {
  const said = refusalText(error);
  return said !== undefined && (/previous.?response/i.test(said) || said.includes(previous));
}

/** Whether an error says that a container is not there: they end 20 minutes after they were last used. */
export function isContainerLost(error: unknown): boolean {
  return /container/i.test(refusalText(error) ?? '');
}

/** What a refusal says: a status of it, or an error event, which has none. */
function refusalText(error: unknown): string | undefined {
  if (!isRecord(error)) return undefined;
  const { status, code, providerCode, message, body } = error;
  if (code !== 'provider' && !refusals.includes(status)) return undefined;
  return [providerCode, message, body].map((text) => nonEmptyString(text) ?? '').join(' ');
}
