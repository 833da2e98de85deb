import { replacement, type Range } from '../../protocol/secrets.js';
import { groupTexts } from './frameTexts.js';
import { redactTexts, secretsIn, type Redacted } from './redactTexts.js';

export function redactFrames(frames: readonly string[], secrets: readonly string[]): readonly string[] {
  const text = frames.join('');
  const found: readonly Redacted[] = [...secretsIn(text, secrets), ...findInDeltas(text, secrets)];
  return redactTexts(
    frames,
    [...found].sort(([a], [b]) => a - b),
  );
}

/** A model may write a secret over several deltas: `{"text":"sk-li"}`, `{"text":"ve-51"}`. */
function findInDeltas(text: string, secrets: readonly string[]): readonly Redacted[] {
  return groupTexts(text).flatMap((deltas) => {
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
