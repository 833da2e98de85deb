/** The replacement of a secret. */
const REPLACEMENT = '[key]';

/** Replaces the secrets in a text. */
export const redactText = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((clean, secret) => clean.replaceAll(secret, REPLACEMENT), text);

/**
 * Replaces the secrets in frames, even secrets that span several frames: the replacement is in the frame in which the
 * secret begins.
 *
 * @param frames The frames.
 * @param secrets The secrets, longest first.
 */
export function redactFrames(frames: readonly string[], secrets: readonly string[]): readonly string[] {
  const found = occurrences(frames.join(''), secrets);
  let offset = 0;
  return frames.map((frame) => {
    const [start, end] = [offset, offset + frame.length];
    offset = end;
    let clean = '';
    let position = start;
    for (const [from, to] of found) {
      if (to <= position || from >= end) continue;
      clean += frame.slice(position - start, Math.max(from, position) - start) + (from >= start ? REPLACEMENT : '');
      position = Math.min(to, end);
    }
    return clean + frame.slice(position - start);
  });
}

/** The positions of the secrets, in order and without overlaps: of two at the same position the longer one counts. */
function occurrences(text: string, secrets: readonly string[]): readonly (readonly [from: number, to: number])[] {
  const all = secrets.flatMap((secret) => {
    const found: (readonly [number, number])[] = [];
    for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length))
      found.push([at, at + secret.length]);
    return found;
  });
  let covered = 0;
  return all
    .sort(([a, aEnd], [b, bEnd]) => a - b || bEnd - aEnd)
    .filter(([from, to]) => {
      const isFree = from >= covered;
      if (isFree) covered = to;
      return isFree;
    });
}
