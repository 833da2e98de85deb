import { RivuletError } from './errors.js';
import { omitUndefined, type Fields } from './json/json.js';

export interface ContextLengthDetails {
  readonly provider: string;
  /** The HTTP status; absent if the error arrived within a stream. */
  readonly status?: number | undefined;
  readonly providerCode?: string | undefined;
  readonly requestId?: string | undefined;
  readonly limit?: number | undefined;
  readonly tokens?: number | undefined;
  readonly body?: string | undefined;
  readonly data?: unknown;
}

/** More tokens than the model's context. The same request fails again: shorten the history (`keepRecent`). */
export class ContextLengthError extends RivuletError {
  override readonly name = 'ContextLengthError';
  readonly code = 'context_length';
  override readonly isPublic = true;
  declare readonly provider: string;
  /** The HTTP status; absent if the error arrived within a stream. */
  readonly status?: number;
  /** The provider's code or type of the error. */
  readonly providerCode?: string;
  /** The provider's id of the request. */
  readonly requestId?: string;
  /** The maximum number of tokens, if the provider names it. For some, it includes the output. */
  readonly limit?: number;
  /** The number of tokens that the provider counted, if it names it. */
  readonly tokens?: number;
  /** The body as text, truncated to 64 KiB. Only with the option `debug`: it may repeat the conversation. */
  readonly body?: string;
  /** The frame as it was received. Only with the option `debug`: it may repeat the conversation. */
  readonly data?: unknown;

  constructor(message: string, details: ContextLengthDetails) {
    super(`${message} Shorten the history (keepRecent, summarize), or use a model with a longer context.`);
    Object.assign(this, omitUndefined(details));
  }

  protected override details(): Fields {
    const { provider, status, providerCode, requestId, limit, tokens } = this;
    return { provider, status, providerCode, requestId, limit, tokens };
  }
}
