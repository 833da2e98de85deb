import { ReadableStream as WebStream } from 'node:stream/web';

/**
 * Makes a `fetch` that shows each frame before it is read. The body is delivered one frame at a time, so that
 * everything made of a frame is printed before the next frame.
 *
 * @param show Called with each frame as it arrived, without its delimiter.
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

/** A frame ends at a blank line (server-sent events), or is a line that begins with an object (NDJSON). */
const frame = /^(?:\s*[{[].*?\r?\n|[^]*?(?:\r?\n){2})/;

async function* framesOf(body: ReadableStream<Uint8Array>, show: (frame: string) => void): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let text = '';
  const showAndEncode = (found: string) => {
    show(found.trim());
    return encoder.encode(found);
  };
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    for (let found = frame.exec(text)?.[0]; found !== undefined; found = frame.exec(text)?.[0]) {
      text = text.slice(found.length);
      yield showAndEncode(found);
    }
  }
  if (text !== '') yield showAndEncode(text);
}
