import { serveFrames } from '../../lib/testing/server/serveModel.js';
import type { Body } from './case.js';
import type { Variant } from './variants.js';

const contentTypes = { sse: 'text/event-stream', ndjson: 'application/x-ndjson' } as const;

/** What a model is told, so that it is answered with one variant. */
export interface Reach {
  readonly baseUrl: string;
  readonly fetch?: typeof fetch;
}

/** Where the variants of a body can be had. */
export interface Serving {
  reach(variant: Variant): Reach;
  close(): Promise<void>;
}

/** Serves variants: those over HTTP on one loopback server, each below an address of its own; the others through a `fetch` each. */
export async function serve({ framing }: Body, variants: readonly Variant[]): Promise<Serving> {
  const contentType = contentTypes[framing];
  const server = await serveFrames([''], {
    // A connection for each: an idle one would be closed by the server when it is asked for again after a while, as it is on a busy machine.
    headers: { 'content-type': contentType, connection: 'close' },
    forRequest: ({ path }) => {
      const variant = variants[Number(/^\/v1\/(\d+)\//.exec(path)?.[1])];
      const raw = variant?.pieces.length ? variant.pieces : ['']; // '': the headers alone
      return { raw, ...(variant?.reset ? { reset: raw.length } : {}) };
    },
  });
  return {
    reach: (variant) => ({
      baseUrl: `${server.url}/${variants.indexOf(variant)}`,
      ...(variant.over === 'fetch' ? { fetch: answering(variant, contentType) } : {}),
    }),
    close: () => server.close(),
  };
}

/** A `fetch` whose body comes in exactly these pieces, each in a read of its own. */
function answering({ pieces, reset }: Variant, contentType: string): typeof fetch {
  return () => {
    const left = pieces[Symbol.iterator]();
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const { done, value } = left.next();
          if (!done) controller.enqueue(value);
          else if (reset) controller.error(new TypeError('terminated', { cause: connectionReset() }));
          else controller.close();
        },
      },
      { highWaterMark: 0 }, // nothing is read ahead: an error discards what is queued
    );
    return Promise.resolve(new Response(body, { status: 200, headers: { 'content-type': contentType } }));
  };
}

/** As undici reports it. */
const connectionReset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
