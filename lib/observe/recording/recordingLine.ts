import { isRecord } from '../../core/json/json.js';
import type { DeltasEntry, RecordingEntry } from './entries.js';

/** Also for values that JSON cannot represent: a bigint, a cycle. */
export function stringifyEntry(entry: RecordingEntry): string {
  try {
    return JSON.stringify(entry);
  } catch {
    return JSON.stringify(representable(entry, []));
  }
}

const MAX_DEPTH = 50;

function representable(value: unknown, parents: readonly object[]): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (parents.includes(value)) return '(circular)';
  if (parents.length >= MAX_DEPTH) return '(too deep)';
  const inner = [...parents, value];
  try {
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON === 'function') return representable(toJSON.call(value), inner);
    if (Array.isArray(value)) return value.map((item) => representable(item, inner));
    return Object.fromEntries(Object.entries(value).map(([field, item]) => [field, representable(item, inner)]));
  } catch {
    return '(not readable)';
  }
}

interface Cut {
  readonly text: number;
  readonly items: number;
}

const cuts: readonly Cut[] = [
  { text: 1000, items: Infinity },
  { text: 1000, items: 100 },
  { text: 100, items: 20 },
];

/** Cuts the longest texts first, then lists and objects. */
export function cutEntry(entry: RecordingEntry, limit: number): string {
  for (const cut of cuts) {
    const line = JSON.stringify({ ...(cutValue(entry, cut) as object), cut: true });
    if (line.length <= limit) return line;
  }
  return JSON.stringify(stubOf(entry));
}

function cutValue(value: unknown, cut: Cut): unknown {
  if (typeof value === 'string') return cutText(value, cut.text);
  if (Array.isArray(value)) return value.slice(0, cut.items).map((item) => cutValue(item, cut));
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).slice(0, cut.items);
  return Object.fromEntries(fields.map(([field, inner]) => [cutText(field, cut.text), cutValue(inner, cut)]));
}

const cutText = (text: string, length: number): string =>
  text.length > length
    ? `${text.slice(0, length)}... (${text.length - length} more characters were not recorded)`
    : text;

function stubOf(entry: RecordingEntry): object {
  const stub = Object.entries(entry).map(([field, value]: [string, unknown]): [string, unknown] => {
    if (field === 'value' && isRecord(value)) return [field, { type: 'unrecorded', of: shortLeaf(value['type']) }];
    return [field, isRecord(value) ? Object.fromEntries(Object.entries(value).map(shortField)) : shortLeaf(value)];
  });
  return { ...(Object.fromEntries(stub) as object), cut: true };
}

const shortField = ([field, value]: [string, unknown]) => [field.slice(0, 20), isRecord(value) ? {} : shortLeaf(value)];

function shortLeaf(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  return typeof value === 'string' ? value.slice(0, 100) : value;
}

export function splitDeltas(entry: DeltasEntry): readonly DeltasEntry[] {
  const half = Math.ceil(entry.texts.length / 2);
  const first = entry.after[half] ?? 0;
  return [
    { ...entry, texts: entry.texts.slice(0, half), after: entry.after.slice(0, half) },
    {
      ...entry,
      at: entry.at + first,
      texts: entry.texts.slice(half),
      after: entry.after.slice(half).map((time) => time - first),
    },
  ];
}
