import { isRecord, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { toolCallsOf } from '../../core/message.js';
import type { Message } from '../../core/message.js';
import { encodeInput, isClientCall, isOutput } from './messages.js';
import { isUnedited } from './replay.js';
import { isStored, pairCallsWithItems, readReplayData, readStoredItems } from './storedItems.js';

/** A stored response to continue, and the items to send after it. */
export interface Session {
  /** The id of the response to continue ("Conversation state" in OpenAI's guides). */
  readonly previousResponseId: string;
  /** The items after that response. */
  readonly input: readonly JsonObject[];
}

/**
 * How many responses are tried. Each attempt encodes the messages after the response; the complete history, which is
 * sent if none can be continued, is always correct.
 */
const MAX_ATTEMPTS = 8;

/**
 * Whether a message is a response of this API. It must stay a separate message; otherwise the position of the
 * response's end in the history would be lost.
 */
export const isResponseMessage = (message: Message): boolean => readReplayData(message) !== undefined;

/**
 * Finds the newest response in a history that can be continued, and encodes all messages after it, from any provider. A
 * response cannot be continued if
 *
 * - it was not stored, or has no id;
 * - its message's text has been edited since: the model would still see the original text;
 * - one of its calls has no output in the messages after it. The API rejects such a request ("No tool output found for
 *   ..."). Examples are a truncated call, which never became a part of the message, and a computer call without a
 *   screenshot.
 *
 * @param messages A valid history, whose responses are not merged.
 * @returns The session; undefined if none of the newest responses can be continued and the complete history must be
 * sent.
 */
export function findSession(messages: readonly Message[]): Session | undefined {
  let attempts = 0;
  for (let index = messages.length - 1; index >= 0 && attempts < MAX_ATTEMPTS; index -= 1) {
    const message = messages[index];
    const previousResponseId = message && nonEmptyString(readReplayData(message)?.['responseId']);
    if (!message || previousResponseId === undefined || !isStored(message) || !isUnedited(message)) continue;
    attempts += 1;
    const input = encodeInput(messages.slice(index + 1), {
      stored: true,
      callIds: readApiCallIds(message),
      openCalls: toolCallsOf(message),
    });
    if (hasAllOutputs(readStoredItems(message), input)) return { previousResponseId, input };
  }
  return undefined;
}

/** Maps the message's call ids, which are unique in the conversation, to OpenAI's `call_id`s. */
function readApiCallIds(message: Message): ReadonlyMap<string, string> {
  const items = pairCallsWithItems(message);
  return new Map(
    toolCallsOf(message).map((call) => [call.id, nonEmptyString(items.get(call)?.['call_id']) ?? call.id]),
  );
}

function hasAllOutputs(output: readonly JsonObject[], input: readonly JsonObject[]): boolean {
  const answeredIds = new Set([...output, ...input].filter(isOutput).map((item) => item['call_id']));
  return output.every((item) => !isClientCall(item) || answeredIds.has(item['call_id']));
}

/**
 * The HTTP statuses of a request that refers to a response or a container that the server does not have or does not
 * support.
 */
const notFoundStatuses: readonly unknown[] = [400, 404, 410, 422];

/**
 * Whether a request failed because the response to continue does not exist. OpenAI reports
 * `previous_response_not_found`, with status 400 or as an event of the stream. Servers that do not store responses
 * report equivalent errors, with other codes.
 */
export function isResponseNotFound(error: unknown, previousResponseId: string): boolean {
  const text = readNotFoundText(error);
  return text !== undefined && (/previous.?response/i.test(text) || text.includes(previousResponseId));
}

/** Whether a request failed because a container does not exist. Containers expire 20 minutes after their last use. */
export function isContainerNotFound(error: unknown): boolean {
  return /container/i.test(readNotFoundText(error) ?? '');
}

/**
 * Returns the text of an HTTP error with one of `notFoundStatuses`, or of an error event (which has no status);
 * undefined for any other error.
 */
function readNotFoundText(error: unknown): string | undefined {
  if (!isRecord(error)) return undefined;
  const { status, code, providerCode, message, body } = error;
  if (code !== 'provider' && !notFoundStatuses.includes(status)) return undefined;
  return [providerCode, message, body].map((text) => nonEmptyString(text) ?? '').join(' ');
}
