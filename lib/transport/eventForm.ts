import type { KnownEvent } from '../core/eventGuards.js';
import { isRecord } from '../core/json/json.js';

const isText = (value: unknown): boolean => typeof value === 'string';
const isQuestion = (value: unknown): boolean =>
  isRecord(value) && isText(value['message']) && isRecord(value['schema']);

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
  file: { file: isRecord },
  source: { source: isRecord },
  message: { message: (value) => isRecord(value) && Array.isArray(value['parts']) && value['parts'].every(isRecord) },
  turn: { usage: (value) => !isRecord(value) || !Object.values(value).some(isRecord) },
  result: { result: isRecord },
};

export function hasForm(event: Readonly<Record<string, unknown>>): boolean {
  const type = event['type'];
  if (!isText(type)) return false;
  if (!Object.hasOwn(forms, type as string)) return true;
  const fields = forms[type as keyof typeof forms] ?? {};
  return Object.keys(fields).every((name) => fields[name]?.(event[name]));
}
