import { jest } from '@jest/globals';
import type { JsonObject } from '../../lib/core/json/json.js';

/** A request that a fake `fetch` received. */
export interface SentRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: JsonObject;
}

/** A `fetch` that responds to each request with these frames as server-sent events, and records the requests. */
export function answering(...frames: readonly (JsonObject | string)[]): {
  readonly fetch: typeof fetch;
  readonly requests: SentRequest[];
} {
  const requests: SentRequest[] = [];
  const body = frames.map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join('');
  const fake = jest.fn<typeof fetch>((url, init) => {
    const sent = typeof init?.body === 'string' ? init.body : '';
    requests.push({
      url: url instanceof Request ? url.url : String(url),
      headers: new Headers(init?.headers),
      body: JSON.parse(sent) as JsonObject,
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  });
  return { fetch: fake, requests };
}
