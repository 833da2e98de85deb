import { defaultMaxEventBytes, eventTooLarge } from './sse.js';
import type { Frame, FrameReader, Framing, FramingOptions } from './wire.js';

/** One JSON document per line. */
export const ndjson: Framing = { mediaType: 'application/x-ndjson', createReader: createNdjsonReader };

/**
 * Cuts a body into lines, each of them a JSON document (newline-delimited JSON).
 *
 * UTF-8 may be cut anywhere; lines end in LF or CRLF; a byte order mark is dropped, and blank lines are skipped. A line
 * without a line end, at the end of the body, is emitted as `unterminated`.
 *
 * @param options The provider's name and the size limit of a line.
 * @param emit Receives the frames.
 * @returns The reader of one body. It throws ProtocolError `event_too_large`.
 */
export function createNdjsonReader(
  { provider, maxEventBytes = defaultMaxEventBytes }: FramingOptions,
  emit: (frame: Frame) => void,
): FrameReader {
  const decoder = new TextDecoder();
  // The parts of the current line. Only new text is searched, and the parts are joined once, so the cost is linear
  // however the bytes are cut.
  let parts: string[] = [];
  let length = 0;
  const append = (part: string) => {
    parts.push(part);
    length += part.length;
    if (length > maxEventBytes) throw eventTooLarge(provider, maxEventBytes, parts.join(''));
  };
  const endLine = (unterminated: boolean) => {
    const data = parts.join('').trim();
    parts = [];
    length = 0;
    if (data !== '') emit(unterminated ? { data, unterminated: true } : { data });
  };
  const read = (text: string) => {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      append(text.slice(start, end));
      endLine(false);
      start = end + 1;
    }
    if (start < text.length) append(text.slice(start));
  };
  return {
    push: (bytes) => read(decoder.decode(bytes, { stream: true })),
    end() {
      read(decoder.decode());
      endLine(true);
    },
  };
}
