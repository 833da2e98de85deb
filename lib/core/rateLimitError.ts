import { RivuletError } from './errors.js';
import type { Fields } from './json/json.js';

const limits = {
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  concurrency: 'concurrent requests',
} as const;

/** A limiter that does not wait has no room for a request. The request was not sent. */
export class RateLimitError extends RivuletError {
  override readonly name = 'RateLimitError';
  readonly code = 'rate_limit';
  override readonly isPublic = true;
  override readonly retryable = true;
  /** In milliseconds. Absent for `concurrency`: no one knows when a request will end. */
  readonly retryAfter?: number;

  constructor(
    readonly limit: 'requests' | 'tokens' | 'concurrency',
    readonly max: number,
    retryAfter?: number,
  ) {
    const when = retryAfter === undefined ? 'when another request has ended' : `in ${retryAfter} ms`;
    super(
      `The limiter allows ${max} ${limits[limit]}. The request was not sent. Send it again ${when}, raise the limit, ` +
        "or let the limiter wait (whenFull: 'wait').",
    );
    if (retryAfter !== undefined) this.retryAfter = retryAfter;
  }

  protected override details(): Fields {
    const { limit, max, retryAfter } = this;
    return { limit, max, retryAfter };
  }
}
