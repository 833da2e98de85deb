import { isRecord, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { toolCallsOf } from '../../core/message.js';
import type { Message } from '../../core/message.js';
import { encodeInput, isClientCall, isOutput } from './messages.js';
import { isPartOf, isStored, isUnedited, replayDataOf, storedOutput } from './replay.js';

/** A conversation that OpenAI keeps, and the part of it that OpenAI does not have yet. */
export interface Session {
  /** The id of the response to continue ("Conversation state" in OpenAI's guides). */
  readonly previousResponseId: string;
  /** The items after that response. */
  readonly input: readonly JsonObject[];
}

/**
 * Whether a message is a response of this API. It must not be merged with another message: then it would be unknown what
 * comes after the response.
 */
export const isResponseMessage = (message: Message): boolean => replayDataOf(message) !== undefined;

/**
 * Finds the newest response in a history that can be continued, and encodes what follows it, whoever made that. A response
 * cannot be continued
 *
 * - if it was not stored, or has no id;
 * - if the message's text was edited since: the model would not know;
 * - if one of its calls has no output in what follows (a truncated call, which never became a part of the message; a call
 *   of the local shell that nobody answered). The API refuses that: "No tool output found for ...".
 *
 * @param messages A valid history, whose responses are not merged.
 * @returns Undefined if there is none: then the complete history has to be sent.
 */
export function findSession(messages: readonly Message[]): Session | undefined {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    const previousResponseId = message && nonEmptyString(replayDataOf(message)?.['responseId']);
    if (!message || previousResponseId === undefined || !isStored(message) || !isUnedited(message)) continue;
    const input = encodeInput(messages.slice(at + 1), { stored: true, callIds: wireCallIds(message) });
    if (hasAllOutputs(storedOutput(message), input)) return { previousResponseId, input };
  }
  return undefined;
}

/** OpenAI's ids of a response's calls, by those of the message, which were made unique within the conversation. */
function wireCallIds(message: Message): ReadonlyMap<string, string> {
  const items = storedOutput(message);
  return new Map(
    toolCallsOf(message).map((call) => {
      const item = items.find((one) => isPartOf(call, one));
      return [call.id, nonEmptyString(item?.['call_id']) ?? call.id];
    }),
  );
}

function hasAllOutputs(output: readonly JsonObject[], input: readonly JsonObject[]): boolean {
  const answeredIds = new Set([...output, ...input].filter(isOutput).map((item) => item['call_id']));
  return output.every((item) => !isClientCall(item) || answeredIds.has(item['call_id']));
}

/** The statuses of a refused reference: it is unknown, or this server does not support it. */
const refusedStatuses: readonly unknown[] = [400, 404, 410, 422];

/**
 * Whether a request failed because the response to continue does not exist: OpenAI's 400 `previous_response_not_found`,
 * also as an event of the stream, and the errors of servers that keep no responses, or have another code.
 */
export function isResponseLost(error: unknown, previousResponseId: string): boolean {
  const text = refusalText(error);
  return text !== undefined && (/previous.?response/i.test(text) || text.includes(previousResponseId));
}

/** Whether a request failed because a container does not exist: they end 20 minutes after they were last used. */
export function isContainerLost(error: unknown): boolean {
  return /container/i.test(refusalText(error) ?? '');
}

/** The text of a refusal: of an HTTP error with such a status, or of an error event, which has none. */
function refusalText(error: unknown): string | undefined {
  if (!isRecord(error)) return undefined;
  const { status, code, providerCode, message, body } = error;
  if (code !== 'provider' && !refusedStatuses.includes(status)) return undefined;
  return [providerCode, message, body].map((text) => nonEmptyString(text) ?? '').join(' ');
}
