import { growing } from '../../core/growing.js';
import { isRecord, nonEmptyString, type JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf, type Message, type ToolCallPart } from '../../core/message.js';
import { storedData } from '../../core/providerPart.js';
import { encodeInput, isOutput } from './messages.js';
import { provider } from './models.js';
import { isResponse } from './replay.js';

export interface Session {
  readonly previousResponseId: string;
  readonly input: readonly JsonObject[];
}

/** Each attempt encodes the messages after a response. Without a session, the complete history is sent. */
const MAX_ATTEMPTS = 8;

/** From the newest response that was stored, is unchanged, and whose calls all have an output, as the API requires. */
export function findSession(messages: readonly Message[]): Session | undefined {
  let found = findResponses(messages).newest;
  for (let attempt = 0; found && attempt < MAX_ATTEMPTS; attempt++) {
    const { id, calls, rest, end } = found;
    const callIds = new Map(
      calls.map((call) => [call.id, nonEmptyString(storedData(call, provider)['call_id']) ?? call.id]),
    );
    const later = [...rest, ...messages.slice(end)];
    const input = encodeInput(later, { stored: true, callIds, openCalls: calls });
    const answered = new Set(input.filter(isOutput).map((item) => item['call_id']));
    if ([...callIds.values()].every((callId) => answered.has(callId))) return { previousResponseId: id, input };
    found = found.older;
  }
  return undefined;
}

interface StoredResponses {
  readonly length: number;
  readonly newest: (StoredResponse & { readonly end: number; readonly older: StoredResponses['newest'] }) | undefined;
}

const findResponses = /* @__PURE__ */ growing<Message, StoredResponses>(
  { length: 0, newest: undefined },
  ({ length, newest }, message) => {
    const response = findResponse(message);
    const end = length + 1;
    return { length: end, newest: response ? { ...response, end, older: newest } : newest };
  },
);

interface StoredResponse {
  readonly id: string;
  readonly calls: readonly ToolCallPart[];
  /** The message with the parts after the response, which it has if the history merged two messages. */
  readonly rest: readonly Message[];
}

function findResponse({ role, parts }: Message): StoredResponse | undefined {
  const part = role === 'model' ? parts.findLast(isResponse) : undefined;
  if (!part) return undefined;
  const end = parts.indexOf(part);
  const id = nonEmptyString(part.data['id']);
  const own = parts.slice(parts.slice(0, end).findLastIndex(isResponse) + 1, end);
  // The text of another provider's message may precede, if the history has merged the two: it has no part of this one.
  const text = messageText({
    parts: own.slice(own.findIndex((one) => one.type === 'provider' && one.provider === provider)),
  });
  if (id === undefined || part.data['stored'] === false || part.data['textLength'] !== text.length) return undefined;
  const rest = parts.slice(end + 1);
  return { id, calls: toolCallsOf({ parts: own }), rest: rest.length > 0 ? [{ role, parts: rest }] : [] };
}

/** Of a request for a response or a container that the server does not have or support. */
const notFoundStatuses: readonly unknown[] = [400, 404, 410, 422];

/** `previous_response_not_found`, with status 400 or as an event. Servers without storage report it in other words. */
export function isResponseNotFound(error: unknown, previousResponseId: string): boolean {
  const text = readNotFoundText(error);
  return text !== undefined && (/previous.?response/i.test(text) || text.includes(previousResponseId));
}

/** Whether a server stores no responses at all: it refuses the parameter, and does not name the id. */
export function isSessionRefused(error: unknown, previousResponseId: string): boolean {
  const text = readNotFoundText(error) ?? '';
  return !text.includes(previousResponseId) && !/not.?found|expired/i.test(text);
}

/** Whether a request failed because a model does not reason ("Encrypted content is not supported with this model"). */
export function isEncryptedRefused(error: unknown): boolean {
  return /encrypted.?content/i.test(readNotFoundText(error) ?? '');
}

export function readNotFoundText(error: unknown): string | undefined {
  if (!isRecord(error)) return undefined;
  const { status, code, providerCode, message, body } = error;
  if (code !== 'provider' && !notFoundStatuses.includes(status)) return undefined;
  return [providerCode, message, body].map((text) => nonEmptyString(text) ?? '').join(' ');
}
