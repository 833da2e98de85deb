import type { JsonObject, JsonValue } from 'rivulet';

/** A tool call of the current question, with what the tool answered. */
export interface Answered {
  readonly name: string;
  readonly args: JsonObject;
  /** The result, parsed where it is JSON. Absent where there is an error. */
  readonly result?: JsonValue;
  readonly error?: string;
}

/** What the stand-in needs of a request. */
export interface Conversation {
  /** The latest question. */
  readonly question: string;
  /** What the tools have answered to it so far, in order. */
  readonly answered: readonly Answered[];
}

/** Reads the messages of a Chat Completions request. */
export function conversationOf(messages: readonly JsonObject[]): Conversation {
  const at = messages.map(({ role }) => role).lastIndexOf('user');
  const since = messages.slice(at + 1);
  const calls = new Map(since.flatMap(callsOf));
  const answered = since.flatMap((message) => {
    const call = calls.get(textOf(message['tool_call_id']));
    return message['role'] === 'tool' && call ? [{ ...call, ...outcome(textOf(message['content'])) }] : [];
  });
  return { question: textOf(messages[at]?.['content']), answered };
}

/** A text, or the last one of several parts: a question after one that was stopped stands in the same message. */
function textOf(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  const parts: readonly JsonValue[] = Array.isArray(content) ? content : [];
  return parts.reduce<string>((last, part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : last), '');
}

function callsOf(message: JsonObject): [string, Pick<Answered, 'name' | 'args'>][] {
  const calls = message['tool_calls'];
  if (!Array.isArray(calls)) return [];
  return calls.filter(isObject).flatMap(({ id, function: made }) => {
    if (!isObject(made)) return [];
    const args = parsed(textOf(made['arguments']));
    return [[textOf(id), { name: textOf(made['name']), args: isObject(args) ? args : {} }]];
  });
}

function outcome(content: string): Pick<Answered, 'result' | 'error'> {
  const result = parsed(content);
  return isObject(result) && typeof result['error'] === 'string' ? { error: result['error'] } : { result };
}

/** A result that is a text stands on the wire as it is. */
function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
