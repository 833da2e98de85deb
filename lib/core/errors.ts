import { objectOrEmpty, nonEmptyString } from './json/json.js';

/** What every error of Rivulet has in common. Tell them apart by `code`: `instanceof` fails across two builds of a package. */
export abstract class RivuletError extends Error {
  /** The kind of error. Stable. */
  abstract readonly code: string;
  /** Whether the same request may succeed if it is sent again. */
  readonly retryable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Something is set up in a way that cannot work: a missing key, an unsupported wish, an invalid history. Raised before any request. */
export class ConfigurationError extends RivuletError {
  override readonly name = 'ConfigurationError';
  readonly code = 'configuration';

  /**
   * @param subject What is wrong: `apiKey`, `schema`, `history`, `tools`, `capability`, `options`.
   * @param what What happened, with the data.
   * @param next What to do about it.
   */
  constructor(
    readonly subject: string,
    what: string,
    next: string,
  ) {
    super(`${what} ${next}`);
  }
}

/** The provider answered with an HTTP status other than 2xx. */
export class HttpError extends RivuletError {
  override readonly name = 'HttpError';
  readonly code = 'http';
  declare readonly retryable: boolean;
  declare readonly provider: string;
  declare readonly status: number;
  /** The provider's own code or type of the error, where its body names one. */
  readonly providerCode?: string;
  /** The provider's id of the request, for its support. */
  readonly requestId?: string;
  /** The body as text, cut at 64 KiB. */
  declare readonly body: string;
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfter?: number;

  constructor(
    message: string,
    details: {
      readonly provider: string;
      readonly status: number;
      readonly retryable: boolean;
      readonly body: string;
      readonly providerCode?: string | undefined;
      readonly requestId?: string | undefined;
      readonly retryAfter?: number | undefined;
    },
  ) {
    super(message);
    Object.assign(this, details);
  }
}

/** A request that failed on its way to a provider, or on the way back. */
abstract class TransportError extends RivuletError {
  override readonly retryable = true;

  constructor(
    readonly provider: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The connection could not be made, or broke before the answer began. */
export class ConnectionError extends TransportError {
  override readonly name = 'ConnectionError';
  readonly code = 'connection';
}

/** The stream ended, or broke, before the model said that it was done. What had arrived stays emitted. */
export class StreamInterruptedError extends TransportError {
  override readonly name = 'StreamInterruptedError';
  readonly code = 'stream_interrupted';
}

/** What came is not the stream that was asked for: HTML from a proxy, a frame that is no JSON, an event beyond the limit. */
export class ProtocolError extends RivuletError {
  override readonly name = 'ProtocolError';
  readonly code = 'protocol';

  /**
   * @param provider The model's provider.
   * @param reason What kind: `content_type`, `frame`, `event_too_large`.
   * @param message What happened, and what to do next.
   * @param received The beginning of what came.
   */
  constructor(
    readonly provider: string,
    readonly reason: 'content_type' | 'frame' | 'event_too_large',
    message: string,
    readonly received: string,
  ) {
    super(message);
  }
}

/** The provider reported an error inside its stream, after a status 200. */
export class ProviderError extends RivuletError {
  override readonly name = 'ProviderError';
  readonly code = 'provider';
  declare readonly retryable: boolean;
  /** The provider's own code or type of the error. */
  readonly providerCode?: string;
  /** The frame as it came. */
  declare readonly data: unknown;

  /**
   * @param provider The model's provider.
   * @param message The provider's text.
   * @param details Its code, whether the same request may succeed later, and the frame as it came.
   */
  constructor(
    readonly provider: string,
    message: string,
    details: { readonly retryable: boolean; readonly providerCode?: string | undefined; readonly data?: unknown },
  ) {
    super(message);
    Object.assign(this, details);
  }
}

/** Nothing came for as long as the `timeout` option allows. */
export class TimeoutError extends RivuletError {
  override readonly name = 'TimeoutError';
  readonly code = 'timeout';

  /**
   * @param phase `first`: no byte of an answer came; `each`: the answer fell silent.
   * @param milliseconds The deadline.
   */
  constructor(
    readonly phase: 'first' | 'each',
    readonly milliseconds: number,
  ) {
    super(
      phase === 'first'
        ? `The model did not begin to answer within ${milliseconds} ms. Raise timeout.first, or leave it out: models that think take minutes.`
        : `The model fell silent for ${milliseconds} ms in the middle of its answer. Raise timeout.each if that is expected.`,
    );
  }
}

/** What a thrown value says, whatever it is: it may be of another realm (in jest, Node's own errors are), and refuse to be read. */
export function errorText(thrown: unknown): string {
  try {
    return readableText(thrown);
  } catch {
    return 'something was thrown that cannot be read';
  }
}

function readableText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  const { message, name } = objectOrEmpty(thrown);
  return nonEmptyString(message) ?? nonEmptyString(name) ?? nonEmptyString(JSON.stringify(thrown)) ?? String(thrown); // undefined, functions and symbols are not JSON
}
