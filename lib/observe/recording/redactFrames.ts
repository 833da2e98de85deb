import { addToList } from '../../core/lists.js';
import { replacement, type Range } from '../../protocol/secrets.js';
import { redactTexts, secretsIn, type Redacted } from './redactTexts.js';

export function redactFrames(frames: readonly string[], secrets: readonly string[]): readonly string[] {
  const text = frames.join('');
  const found: readonly Redacted[] = [...secretsIn(text, secrets), ...findInDeltas(text, secrets)];
  return redactTexts(
    frames,
    [...found].sort(([a], [b]) => a - b),
  );
}

interface TextField {
  readonly name: string;
  readonly start: number;
  readonly text: string;
}

/** The text may begin inside a string, so each quote may open one or close one. A character is read at most twice. */
function* textFields(text: string): Iterable<TextField> {
  const string = /[^"\\]*(?:\\.[^"\\]*)*"/sy;
  const colon = /\s*:\s*/y;
  const endOf = (pattern: RegExp, from: number): number => {
    pattern.lastIndex = from;
    return pattern.test(text) ? pattern.lastIndex : -1;
  };
  let quote = text.indexOf('"');
  while (quote >= 0) {
    const end = endOf(string, quote + 1);
    if (end < 0) return;
    const value = endOf(colon, end);
    const valueEnd = value >= 0 && text[value] === '"' ? endOf(string, value + 1) : -1;
    if (valueEnd >= 0) {
      const name = text.slice(quote + 1, Math.min(end - 1, quote + MAX_KEY));
      yield { name, start: value + 1, text: text.slice(value + 1, valueEnd - 1) };
      quote = text.indexOf('"', valueEnd);
    } else quote = end - 1;
  }
}

/** V8 hashes a longer text by its length only: many long keys of a Map would be compared with each other. */
const MAX_KEY = 1000;

const lineIndexes = /index"\s*:\s*(\d+)/g;

/** Deltas of one text have the same field name and, in a response with several choices or calls, the same indexes. */
function groupDeltas(text: string): readonly (readonly TextField[])[] {
  const byName = new Map<string, TextField[]>();
  const byIndex = new Map<string, Map<string, TextField[]>>();
  let lineEnd = -1;
  let ofLine = byName;
  for (const field of textFields(text)) {
    if (field.start > lineEnd) {
      const next = text.indexOf('\n', field.start);
      const lineStart = text.lastIndexOf('\n', field.start) + 1;
      lineEnd = next < 0 ? text.length : next;
      const indexes = Array.from(text.slice(lineStart, lineEnd).matchAll(lineIndexes), ([, index]) => index).join();
      const key = indexes.slice(0, MAX_KEY);
      ofLine = byIndex.get(key) ?? new Map<string, TextField[]>();
      byIndex.set(key, ofLine);
    }
    addToList(byName, field.name, field);
    addToList(ofLine, field.name, field);
  }
  return [byName, ...(byIndex.size > 1 ? byIndex.values() : [])].flatMap((fields) => [...fields.values()]);
}

/** A model may write a secret over several deltas: `{"text":"sk-li"}`, `{"text":"ve-51"}`. */
function findInDeltas(text: string, secrets: readonly string[]): readonly Redacted[] {
  return groupDeltas(text).flatMap((deltas) => {
    const joined = deltas.map((delta) => delta.text).join('');
    return splitOver(deltas, secretsIn(joined, secrets));
  });
}

function splitOver(
  deltas: readonly { readonly start: number; readonly text: string }[],
  ranges: readonly Range[],
): readonly Redacted[] {
  const parts: Redacted[] = [];
  let next = 0;
  let offset = 0;
  for (const { start, text } of deltas) {
    const end = offset + text.length;
    for (let range = ranges[next]; range && range[0] < end; range = ranges[next]) {
      const from = Math.max(range[0], offset);
      const shown = from === range[0] ? replacement : '';
      parts.push([start + from - offset, start + Math.min(range[1], end) - offset, shown]);
      if (range[1] > end) break;
      next++;
    }
    offset = end;
  }
  return parts;
}
