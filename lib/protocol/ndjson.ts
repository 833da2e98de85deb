import { defaultMaxEventBytes, eventTooLarge } from './sse.js';
import type { FramingOptions } from './sse.js';
import type { Frame, FrameReader } from './wire.js';

/**
 * Cuts a body into lines, each a JSON document.
 *
 * UTF-8 may be cut anywhere; lines end in LF or CRLF; a byte order mark is dropped and blank lines are skipped. A line that the end of the
 * body cuts off comes out as `unterminated`.
 *
 * @param options The provider's name and the longest line.
 * @param emit Takes the frames.
 * @returns The reader of one body. It throws ProtocolError `event_too_large`.
 */
export function ndjson(
  { provider, maxEventBytes = defaultMaxEventBytes }: FramingOptions,
  emit: (frame: Frame) => void,
): FrameReader {
  const decoder = new TextDecoder();
  // Pieces of the line that has not ended: only what is new is searched, and they are joined once, so the cost is linear however the bytes are cut.
  let pieces: string[] = [];
  let length = 0;
  const add = (piece: string) => {
    pieces.push(piece);
    length += piece.length;
    if (length > maxEventBytes) throw eventTooLarge(provider, maxEventBytes, pieces.join(''));
  };
  const endLine = (cut: boolean) => {
    const data = pieces.join('').trim();
    pieces = [];
    length = 0;
    if (data !== '') emit(cut ? { data, unterminated: true } : { data });
  };
  const take = (text: string) => {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      add(text.slice(start, end));
      endLine(false);
      start = end + 1;
    }
    if (start < text.length) add(text.slice(start));
  };
  return {
    push: (bytes) => take(decoder.decode(bytes, { stream: true })),
    end() {
      take(decoder.decode());
      endLine(true);
    },
  };
}
