import { ReadableStream as WebStream } from 'node:stream/web';

/**
 * A `fetch` that shows each frame before anybody reads it: the body comes in frames, one a read, so that what is made of one is seen before the next.
 *
 * @param show Takes a frame as it came, without its delimiter.
 */
export function watchedFetch(show: (frame: string) => void): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    const frames = WebStream.from(framesOf(response.body, show)) as ReadableStream<Uint8Array>;
    return new Response(frames, { status, statusText, headers });
  };
}

/** Frames end in a blank line (server-sent events), or are a line each that begins an object (NDJSON). */
const frame = /^(?:\s*[{[].*?\r?\n|[^]*?(?:\r?\n){2})/;

async function* framesOf(body: ReadableStream<Uint8Array>, show: (frame: string) => void): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let text = '';
  const shown = (piece: string) => {
    show(piece.trim());
    return encoder.encode(piece);
  };
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    for (let piece = frame.exec(text)?.[0]; piece !== undefined; piece = frame.exec(text)?.[0]) {
      text = text.slice(piece.length);
      yield shown(piece);
    }
  }
  if (text !== '') yield shown(text);
}
