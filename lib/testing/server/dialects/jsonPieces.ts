import type { JsonValue } from '../../../core/json.js';

/** Providers cut arguments by tokens, of a few characters each. */
const pieceLength = 8;

/** The JSON text of a value in pieces. By code points: a half surrogate is no text that a server could send. */
export function jsonPieces(value: JsonValue): readonly string[] {
  const points = Array.from(JSON.stringify(value));
  return Array.from({ length: Math.ceil(points.length / pieceLength) }, (_, at) =>
    points.slice(at * pieceLength, (at + 1) * pieceLength).join(''),
  );
}
