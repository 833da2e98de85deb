import type { KnownEvent } from '../core/eventGuards.js';
import { isRecord } from '../core/json/json.js';

export const isText = (value: unknown): boolean => typeof value === 'string';
const isQuestion = (value: unknown): boolean =>
  isRecord(value) && isText(value['message']) && isRecord(value['schema']);

/** Whether a part can be shown, and saved and read again. A compact text is a range of what was sent. */
function isPart(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { type, text, id, nested } = value;
  const hasText = text === undefined ? type !== 'text' || 'range' in value : isText(text);
  return isText(type) && hasText && (type !== 'toolCall' || isText(id)) && (nested === undefined || isView(nested));
}

export const isMessage = (value: unknown): boolean =>
  isRecord(value) && isText(value['role']) && isListOf(value['parts'], isPart);

export const isView = (value: unknown): boolean =>
  isRecord(value) && isText(value['status']) && isRecord(value['usage']) && isListOf(value['messages'], isMessage);

export const isListOf = (value: unknown, isElement: (element: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isElement);

type Fields = Readonly<Record<string, (value: unknown) => boolean>>;

const call: Fields = { id: isText, name: isText };
const callWithArguments: Fields = { id: isText, name: isText, arguments: isRecord };

/** The fields without which an event cannot be shown. `toolStart` may omit the arguments of its call. */
const forms: Partial<Readonly<Record<KnownEvent['type'], Fields>>> = {
  text: { text: isText, prefix: (value) => value === undefined || isText(value) },
  thinking: { text: isText },
  toolCall: callWithArguments,
  toolWaiting: {
    id: isText,
    name: isText,
    arguments: isRecord,
    question: (value) => value === undefined || isQuestion(value),
  },
  toolStart: call,
  toolProgress: call,
  toolResult: call,
  nested: { id: isText, event: (value) => isRecord(value) && hasForm(value) },
  file: { file: isPart },
  source: { source: isPart },
  message: { message: isMessage },
  turn: { usage: (value) => !isRecord(value) || !Object.values(value).some(isRecord) },
  result: {
    result: (value) => isRecord(value) && (value['messages'] === undefined || isListOf(value['messages'], isMessage)),
  },
};

export function hasForm(event: Readonly<Record<string, unknown>>): boolean {
  const type = event['type'];
  if (!isText(type)) return false;
  if (!Object.hasOwn(forms, type as string)) return true;
  const fields = forms[type as keyof typeof forms] ?? {};
  return Object.keys(fields).every((name) => fields[name]?.(event[name]));
}
