import { isDeepStrictEqual } from 'node:util';
import type { FinishReason } from '../../../lib/core/chunk.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import type { ToolCallPart } from '../../../lib/core/message.js';
import type { Usage } from '../../../lib/core/usage.js';
import type { Case, Expectation, ExpectedCall } from './case.js';
import type { Observation } from './observe.js';

/** A field that differs from its expectation. */
export interface Difference {
  readonly field: string;
  readonly actual: unknown;
  readonly expected: unknown;
}

type Comparison = (expected: Expectation, actual: Observation) => readonly Difference[];

/** Compares an observation with its expectation, field by field. Returns an empty list if they agree. */
export function differences({ expected }: Pick<Case, 'expected'>, actual: Observation): readonly Difference[] {
  if (actual.hung !== null) return [{ field: 'time', actual: `no end within ${actual.hung} ms`, expected: 'an end' }];
  return comparisons.flatMap((compare) => compare(expected, actual));
}

const differs = (field: string, actual: unknown, expected: unknown): readonly Difference[] =>
  isDeepStrictEqual(plain(actual), plain(expected)) ? [] : [{ field, actual, expected }];

const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

const text: Comparison = (expected, actual) =>
  expected.text === undefined ? [] : differs('text', actual.text, expected.text);

const thinking: Comparison = (expected, actual) =>
  expected.thinking === undefined ? [] : differs('thinking', actual.thinking, expected.thinking);

const toolCalls: Comparison = (expected, { toolCalls: actual }) => {
  const lists = expected.toolCalls ?? (expected.droppedPartial ? [[]] : undefined);
  if (!lists || lists.some((list) => sameCalls(actual, list))) return [];
  return [
    {
      field: 'toolCalls',
      actual: actual.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
      expected: lists.length === 1 ? lists[0] : { anyOf: lists },
    },
  ];
};

function sameCalls(actual: readonly ToolCallPart[], expected: readonly ExpectedCall[]): boolean {
  return actual.length === expected.length && expected.every((call, at) => isCall(actual[at], call));
}

function isCall(actual: ToolCallPart | undefined, expected: ExpectedCall): boolean {
  if (actual?.name !== expected.name || !isDeepStrictEqual(plain(actual.arguments), plain(expected.arguments)))
    return false;
  return expected.id === 'any' || (expected.id === 'generated' ? actual.id !== '' : actual.id === expected.id);
}

/** An incomplete call may not be in a message either. */
const droppedPartial: Comparison = (expected, { messages }) => {
  if (!expected.droppedPartial) return [];
  const called = messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'toolCall'));
  const lists = expected.toolCalls ?? [[]];
  return called.every((call) => lists.some((list) => list.some((one) => isCall(call, one))))
    ? []
    : [{ field: 'droppedPartial', actual: called, expected: 'no incomplete call in a message' }];
};

/** Rivulet reports a stream without a finish reason as interrupted; expectations call this reason `unspecified`. */
const finishReason: Comparison = (expected, actual) => {
  if (!expected.finishReason) return [];
  const accepted: readonly (FinishReason | null)[] = expected.finishReason;
  const interrupted = actual.error?.code === 'stream_interrupted' && accepted.includes('unspecified');
  return accepted.includes(actual.finishReason) || interrupted
    ? []
    : [
        {
          field: 'finishReason',
          actual: actual.finishReason,
          expected: accepted.length === 1 ? accepted[0] : accepted,
        },
      ];
};

const usage: Comparison = (expected, actual) => {
  if (expected.usage === undefined) return [];
  if (expected.usage === null)
    return Object.values(actual.usage ?? {}).some((count) => count > 0)
      ? [{ field: 'usage', actual: actual.usage, expected: null }]
      : [];
  const counts = Object.entries(expected.usage) as [keyof Usage, number][];
  return counts.flatMap(([count, value]) => differs(`usage.${count}`, actual.usage?.[count] ?? 0, value));
};

const error: Comparison = (expected, { error: actual }) => {
  if (expected.error === undefined) return [];
  if (expected.error === false) return actual ? [{ field: 'error', actual, expected: 'none' }] : [];
  if (!actual)
    return [{ field: 'error', actual: 'none', expected: expected.error === true ? 'an error' : expected.error }];
  if (expected.error !== true && !actual.message.toLowerCase().includes(expected.error.toLowerCase()))
    return [{ field: 'error', actual: actual.message, expected: `a text with "${expected.error}"` }];
  const { errorCode: code } = expected;
  return code === undefined || actual.providerCode === code || actual.message.includes(code)
    ? []
    : [{ field: 'error.code', actual: actual.providerCode, expected: code }];
};

const files: Comparison = (expected, actual) =>
  expected.files ? partDifferences('files', actual.files, expected.files) : [];
const sources: Comparison = (expected, actual) =>
  expected.sources ? partDifferences('sources', actual.sources, expected.sources) : [];

/** The fields of a part, by the names that they have in expectations. */
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

/** Compares the fields that parts have, and ignores others. */
function partDifferences(
  field: string,
  actual: readonly object[],
  expected: readonly JsonObject[],
): readonly Difference[] {
  if (actual.length !== expected.length) return [{ field, actual, expected }];
  return expected.flatMap((part, at) =>
    Object.entries(part).flatMap(([name, value]) => {
      const ownName = Object.hasOwn(partFields, name) ? partFields[name] : undefined;
      return ownName === undefined
        ? []
        : differs(`${field}[${at}].${name}`, Reflect.get(actual[at] ?? {}, ownName) as unknown, value);
    }),
  );
}

const stream: Comparison = (_, { breaches }) =>
  breaches.map((breach) => ({ field: 'stream', actual: breach, expected: 'the contract of a model' }));

const comparisons: readonly Comparison[] = [
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
