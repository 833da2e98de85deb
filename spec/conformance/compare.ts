import { isDeepStrictEqual } from 'node:util';
import type { FinishReason } from '../../lib/core/chunk.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import type { ToolCallPart } from '../../lib/core/message.js';
import type { Usage } from '../../lib/core/usage.js';
import type { Case, Expectation, ExpectedCall } from './case.js';
import type { Observation } from './observe.js';

/** A field that is not as it must be. */
export interface Difference {
  readonly field: string;
  readonly came: unknown;
  readonly due: unknown;
}

type Judge = (due: Expectation, came: Observation) => readonly Difference[];

/** What is wrong about an observation, field by field; nothing when all is right. */
export function differences({ expected }: Pick<Case, 'expected'>, came: Observation): readonly Difference[] {
  if (came.hung !== null)
    return [{ field: 'time', came: `nothing more, and no end, within ${came.hung} ms`, due: 'an end' }];
  return judges.flatMap((judge) => judge(expected, came));
}

const differs = (field: string, came: unknown, due: unknown): readonly Difference[] =>
  isDeepStrictEqual(plain(came), plain(due)) ? [] : [{ field, came, due }];

const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

const text: Judge = (due, came) => (due.text === undefined ? [] : differs('text', came.text, due.text));

const thinking: Judge = (due, came) =>
  due.thinking === undefined ? [] : differs('thinking', came.thinking, due.thinking);

const toolCalls: Judge = (due, { toolCalls: came }) => {
  const lists = due.toolCalls ?? (due.droppedPartial ? [[]] : undefined);
  if (!lists || lists.some((list) => sameCalls(came, list))) return [];
  return [
    {
      field: 'toolCalls',
      came: came.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
      due: lists.length === 1 ? lists[0] : { anyOf: lists },
    },
  ];
};

function sameCalls(came: readonly ToolCallPart[], due: readonly ExpectedCall[]): boolean {
  return came.length === due.length && due.every((call, at) => isCall(came[at], call));
}

function isCall(came: ToolCallPart | undefined, due: ExpectedCall): boolean {
  if (came?.name !== due.name || !isDeepStrictEqual(plain(came.arguments), plain(due.arguments))) return false;
  return due.id === 'any' || (due.id === 'generated' ? came.id !== '' : came.id === due.id);
}

/** A call that was cut off may be in no message either, and its answer has not finished whole. */
const droppedPartial: Judge = (due, { messages }) => {
  if (!due.droppedPartial) return [];
  const called = messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'toolCall'));
  const lists = due.toolCalls ?? [[]];
  return called.every((call) => lists.some((list) => list.some((one) => isCall(call, one))))
    ? []
    : [{ field: 'droppedPartial', came: called, due: 'no call in a message that was cut off' }];
};

/** An interruption is what a stream gives that ends without a reason: the wire's word for it is `unspecified`. */
const finishReason: Judge = (due, came) => {
  if (!due.finishReason) return [];
  const accepted: readonly (FinishReason | null)[] = due.finishReason;
  const interrupted = came.error?.code === 'stream_interrupted' && accepted.includes('unspecified');
  return accepted.includes(came.finishReason) || interrupted
    ? []
    : [{ field: 'finishReason', came: came.finishReason, due: accepted.length === 1 ? accepted[0] : accepted }];
};

const usage: Judge = (due, came) => {
  if (due.usage === undefined) return [];
  if (due.usage === null)
    return Object.values(came.usage ?? {}).some((count) => count > 0)
      ? [{ field: 'usage', came: came.usage, due: null }]
      : [];
  const counts = Object.entries(due.usage) as [keyof Usage, number][];
  return counts.flatMap(([count, value]) => differs(`usage.${count}`, came.usage?.[count] ?? 0, value));
};

const error: Judge = (due, { error: came }) => {
  if (due.error === undefined) return [];
  if (due.error === false) return came ? [{ field: 'error', came, due: 'none' }] : [];
  if (!came) return [{ field: 'error', came: 'none', due: due.error === true ? 'an error' : due.error }];
  if (due.error !== true && !came.message.toLowerCase().includes(due.error.toLowerCase()))
    return [{ field: 'error', came: came.message, due: `a text with "${due.error}"` }];
  const { errorCode: code } = due;
  return code === undefined || came.providerCode === code || came.message.includes(code)
    ? []
    : [{ field: 'error.code', came: came.providerCode, due: code }];
};

const files: Judge = (due, came) => (due.files ? listed('files', came.files, due.files) : []);
const sources: Judge = (due, came) => (due.sources ? listed('sources', came.sources, due.sources) : []);

/** The fields that a part of a message has, under the names that others give them. */
const partFields: Readonly<Record<string, string>> = {
  mediaType: 'mediaType',
  media_type: 'mediaType',
  mimeType: 'mediaType',
  mime_type: 'mediaType',
  data: 'data',
  url: 'url',
  uri: 'url',
  title: 'title',
  name: 'name',
  text: 'text',
};

/** Of each part, the fields that both sides know. */
function listed(field: string, came: readonly object[], due: readonly JsonObject[]): readonly Difference[] {
  if (came.length !== due.length) return [{ field, came, due }];
  return due.flatMap((wanted, at) =>
    Object.entries(wanted).flatMap(([name, value]) => {
      const ours = Object.hasOwn(partFields, name) ? partFields[name] : undefined;
      return ours === undefined
        ? []
        : differs(`${field}[${at}].${name}`, Reflect.get(came[at] ?? {}, ours) as unknown, value);
    }),
  );
}

const stream: Judge = (_, { breaches }) =>
  breaches.map((breach) => ({ field: 'stream', came: breach, due: 'the contract of a model' }));

const judges: readonly Judge[] = [
  text,
  thinking,
  toolCalls,
  droppedPartial,
  finishReason,
  usage,
  error,
  files,
  sources,
  stream,
];
