import type { RecordedExchange } from '../../observe/recording/recordedExchange.js';
import type { Recording } from '../../observe/recording/recordFetch.js';
import type { Behaviour, ServeOptions } from './options.js';
import { serveModel, type LoopbackServer } from './serveModel.js';

/**
 * Serves a recording of `recordFetch`: the first request receives the first recorded response with its status, headers
 * and frames, whatever it asks for. A request after the last one receives an error with the reason.
 *
 * ```ts
 * const server = await serveRecording(recording);
 * const model = anthropic('claude-sonnet-5-5', { baseUrl: server.urlFor('anthropic'), apiKey: 'none' });
 * ```
 *
 * A recorded response that was interrupted is interrupted again after its frames. One that its reader left, or was
 * still reading, ends there.
 *
 * @param recording The recording.
 * @param options As for `serveModel`, for all responses.
 * @returns A Promise of the listening server.
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
  const raw = frames.length > 0 ? frames : ['']; // '': the headers only
  if (status === undefined) return { raw, reset: 0 };
  return {
    raw,
    status,
    headers: { ...headers, ...options.headers },
    ...(end === 'broken' ? { reset: raw.length } : {}),
  };
}
