import type { OperatorFunction } from 'rxjs';
import { operate } from '../core/operate.js';
import { defaultMaxEventBytes, eventTooLarge } from './serverSentEvents.js';
import type { FramingOptions } from './serverSentEvents.js';
import type { Frame } from './wire.js';

/**
 * Cuts a body into lines, each a JSON document.
 *
 * UTF-8 may be cut anywhere; lines end in LF or CRLF; a byte order mark is dropped and blank lines are skipped. A line that the end of the
 * body cuts off comes out as `unterminated`.
 *
 * @param options The provider's name and the longest line.
 * @returns Frames. Errors with ProtocolError `event_too_large`.
 */
export function ndjson({ provider, maxEventBytes = defaultMaxEventBytes }: FramingOptions): OperatorFunction<Uint8Array, Frame> {
  return operate((out) => {
    const decoder = new TextDecoder();
    // Pieces of the line that has not ended: only what is new is searched, and they are joined once, so the cost is linear however the bytes are cut.
    let pieces: string[] = [];
    let length = 0;
    const add = (piece: string) => {
      pieces.push(piece);
      length += piece.length;
      if (length > maxEventBytes) out.error(eventTooLarge(provider, maxEventBytes, pieces.join('')));
    };
    const emit = (cut: boolean) => {
      const data = pieces.join('').trim();
      pieces = [];
      length = 0;
      if (data !== '') out.next(cut ? { data, unterminated: true } : { data });
    };
    const take = (text: string) => {
      let start = 0;
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
        add(text.slice(start, end));
        if (out.closed) return;
        emit(false);
        start = end + 1;
      }
      if (start < text.length) add(text.slice(start));
    };
    return {
      next: (bytes) => take(decoder.decode(bytes, { stream: true })),
      complete: () => {
        take(decoder.decode());
        emit(true);
        out.complete();
      },
    };
  });
}
