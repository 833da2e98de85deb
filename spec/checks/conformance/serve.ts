import { serveFrames } from '../../../lib/testing/server/serveModel.js';
import type { Body } from './case.js';
import type { Variant } from './variants.js';

const contentTypes = { sse: 'text/event-stream', ndjson: 'application/x-ndjson' } as const;

/** The options of a model that receives one variant. */
export interface VariantOptions {
  readonly baseUrl: string;
  readonly fetch?: typeof fetch;
}

/** A server of the variants of a body. */
export interface VariantServer {
  optionsFor(variant: Variant): VariantOptions;
  close(): Promise<void>;
}

/**
 * Serves variants: those over HTTP from one loopback server with a base URL for each, the others with a `fetch` for
 * each.
 */
export async function serve({ framing }: Body, variants: readonly Variant[]): Promise<VariantServer> {
  const contentType = contentTypes[framing];
  const server = await serveFrames([''], {
    // A connection for each response: on a busy machine, the server may close an idle one just when it is used again.
    headers: { 'content-type': contentType, connection: 'close' },
    forRequest: ({ path }) => {
      const variant = variants[Number(/^\/v1\/(\d+)\//.exec(path)?.[1])];
      const raw = variant?.chunks.length ? variant.chunks : ['']; // '': only the headers
      return { raw, ...(variant?.reset ? { reset: raw.length } : {}) };
    },
  });
  return {
    optionsFor: (variant) => ({
      baseUrl: `${server.url}/${variants.indexOf(variant)}`,
      ...(variant.over === 'fetch' ? { fetch: fetchOf(variant, contentType) } : {}),
    }),
    close: () => server.close(),
  };
}

/** A `fetch` whose body returns exactly these byte chunks, one for each read. */
function fetchOf({ chunks, reset }: Variant, contentType: string): typeof fetch {
  return () => {
    const left = chunks[Symbol.iterator]();
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const { done, value } = left.next();
          if (!done) controller.enqueue(value);
          else if (reset) controller.error(new TypeError('terminated', { cause: connectionReset() }));
          else controller.close();
        },
      },
      { highWaterMark: 0 }, // no read-ahead: an error discards queued chunks
    );
    return Promise.resolve(new Response(body, { status: 200, headers: { 'content-type': contentType } }));
  };
}

/** A connection reset, as undici reports it. */
const connectionReset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
