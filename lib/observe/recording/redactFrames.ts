import { replacement } from '../../protocol/secrets.js';
import type { Range } from '../../protocol/secrets.js';
import { secretsIn } from './redactTexts.js';

/** Also what spans several frames or several deltas: the replacement is where the secret begins. */
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

/** A field of a JSON document that is a text: its name, and the text as it is written there. */
const textField = /"([^"\\]*(?:\\.[^"\\]*)*)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)"/gs;

/** A model may write a secret over several deltas: `{"text":"sk-li"}`, `{"text":"ve-51"}`. */
function findInDeltas(text: string, secrets: readonly string[]): readonly Redacted[] {
  const fields = new Map<string, { readonly start: number; readonly text: string }[]>();
  for (const match of text.matchAll(textField)) {
    const [complete, name = '', value = ''] = match;
    const field = { start: match.index + complete.length - 1 - value.length, text: value };
    const sameName = fields.get(name);
    if (sameName) sameName.push(field);
    else fields.set(name, [field]);
  }
  return [...fields.values()].flatMap((deltas) => {
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
