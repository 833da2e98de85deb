import type { RecordedExchange, Recording } from '../recording/recordFetch.js';
import type { Behaviour, ServeOptions } from './options.js';
import { serveModel } from './serveModel.js';
import type { LoopbackServer } from './serveModel.js';

/**
 * Serves a recording of `recordFetch`: the first request gets the first answer, with its status, headers and frames, whatever it asks for. A request
 * beyond the last is an error that says so.
 *
 * ```ts
 * const server = await serveRecording(recording);
 * const model = anthropic('claude-sonnet-4-5', { baseUrl: server.urlFor('anthropic'), apiKey: 'none' });
 * ```
 *
 * An answer that broke off breaks off again, after its frames; one that its reader left, or was still reading, ends there.
 *
 * @param recording What was recorded.
 * @param options As for `serveModel`, for all answers.
 * @returns The server, listening.
 */
export function serveRecording(
  { exchanges }: Recording,
  options: Omit<ServeOptions, 'raw' | 'forRequest' | 'status' | 'body'> = {},
): Promise<LoopbackServer> {
  return serveModel([], { ...options, forRequest: exchanges.map((exchange) => behaviourOf(exchange, options)) });
}

function behaviourOf(
  { status, headers, frames, end }: RecordedExchange,
  options: Pick<ServeOptions, 'headers'>,
): Behaviour {
  const raw = frames.length > 0 ? frames : ['']; // '': the headers alone
  if (status === undefined) return { raw, reset: 0 };
  return {
    raw,
    status,
    headers: { ...headers, ...options.headers },
    ...(end === 'broken' ? { reset: raw.length } : {}),
  };
}
