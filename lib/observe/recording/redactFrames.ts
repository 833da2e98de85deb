import { replacement } from '../../protocol/secrets.js';
import type { Range } from '../../protocol/secrets.js';
import { secretsIn } from './redactTexts.js';

/** A secret may span frames or deltas: the replacement is where the secret begins. */
export function redactFrames(frames: readonly string[], secrets: readonly string[]): readonly string[] {
  const text = frames.join('');
  const inText = secretsIn(text, secrets).map((range): Redacted => ({ range, text: replacement }));
  const found = [...inText, ...findInDeltas(text, secrets)].sort((a, b) => a.range[0] - b.range[0]);
  let offset = 0;
  let next = 0;
  return frames.map((frame) => {
    const [start, end] = [offset, offset + frame.length];
    offset = end;
    let clean = '';
    let at = start;
    for (let current = found[next]; current && current.range[0] < end; current = found[next]) {
      const [from, to] = current.range;
      if (from >= at) clean += frame.slice(at - start, from - start) + current.text;
      at = Math.max(at, Math.min(to, end));
      if (to > end) break; // the rest of it is in the next frame
      next++;
    }
    return clean + frame.slice(at - start);
  });
}

interface Redacted {
  readonly range: Range;
  readonly text: string;
}

interface TextField {
  readonly name: string;
  readonly start: number;
  readonly text: string;
}

/** Each quote may begin a string, since a text may begin inside one; a character is read at most twice. */
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
      yield { name: text.slice(quote + 1, end - 1), start: value + 1, text: text.slice(value + 1, valueEnd - 1) };
      quote = text.indexOf('"', valueEnd);
    } else quote = end - 1;
  }
}

const lineIndexes = /index"\s*:\s*(\d+)/g;

/** Deltas of one text have the same name or choice: other texts may be in between. */
function groupDeltas(text: string): readonly (readonly TextField[])[] {
  const byName = new Map<string, TextField[]>();
  const byIndex = new Map<string, TextField[]>();
  const seen = new Set<string>();
  const add = (groups: Map<string, TextField[]>, key: string, field: TextField) => {
    const group = groups.get(key);
    if (group) group.push(field);
    else groups.set(key, [field]);
  };
  let lineEnd = -1;
  let indexes = '';
  for (const field of textFields(text)) {
    if (field.start > lineEnd) {
      const next = text.indexOf('\n', field.start);
      const lineStart = text.lastIndexOf('\n', field.start) + 1;
      lineEnd = next < 0 ? text.length : next;
      indexes = Array.from(text.slice(lineStart, lineEnd).matchAll(lineIndexes), ([, index]) => index).join();
      seen.add(indexes);
    }
    add(byName, field.name, field);
    add(byIndex, `${indexes} ${field.name}`, field);
  }
  return [...byName.values(), ...(seen.size > 1 ? byIndex.values() : [])];
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
      parts.push({
        range: [start + from - offset, start + Math.min(range[1], end) - offset],
        text: from === range[0] ? replacement : '',
      });
      if (range[1] > end) break;
      next++;
    }
    offset = end;
  }
  return parts;
}
