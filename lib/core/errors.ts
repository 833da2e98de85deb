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
    this.name = 'ConfigurationError';
  }
}

/** The provider answered with an HTTP status other than 2xx. */
export class HttpError extends RivuletError {
  readonly code = 'http';
  override readonly retryable: boolean;
  readonly provider: string;
  readonly status: number;
  /** The provider's own code or type of the error, where its body names one. */
  readonly providerCode?: string;
  /** The provider's id of the request, for its support. */
  readonly requestId?: string;
  /** The body as text, cut at 64 KiB. */
  readonly body: string;
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfter?: number;

  constructor(
    message: string,
    details: {
      readonly provider: string;
      readonly status: number;
      readonly retryable: boolean;
      readonly body: string;
      readonly providerCode?: string;
      readonly requestId?: string;
      readonly retryAfter?: number;
    },
  ) {
    super(message);
    this.name = 'HttpError';
    this.provider = details.provider;
    this.status = details.status;
    this.retryable = details.retryable;
    this.body = details.body;
    if (details.providerCode !== undefined) this.providerCode = details.providerCode;
    if (details.requestId !== undefined) this.requestId = details.requestId;
    if (details.retryAfter !== undefined) this.retryAfter = details.retryAfter;
  }
}

/** The connection could not be made, or broke before the answer began. */
export class ConnectionError extends RivuletError {
  readonly code = 'connection';
  override readonly retryable = true;

  constructor(
    readonly provider: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ConnectionError';
  }
}

/** The stream ended, or broke, before the model said that it was done. What had arrived stays emitted. */
export class StreamInterruptedError extends RivuletError {
  readonly code = 'stream_interrupted';
  override readonly retryable = true;

  constructor(
    readonly provider: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'StreamInterruptedError';
  }
}

/** What came is not the stream that was asked for: HTML from a proxy, a frame that is no JSON, an event beyond the limit. */
export class ProtocolError extends RivuletError {
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
    this.name = 'ProtocolError';
  }
}

/** The provider reported an error inside its stream, after a status 200. */
export class ProviderError extends RivuletError {
  readonly code = 'provider';
  override readonly retryable: boolean;
  /** The provider's own code or type of the error. */
  readonly providerCode?: string;

  /**
   * @param provider The model's provider.
   * @param message The provider's text.
   * @param details Its code, whether the same request may succeed later, and the frame as it came.
   */
  constructor(
    readonly provider: string,
    message: string,
    details: { readonly retryable: boolean; readonly providerCode?: string; readonly data?: unknown },
  ) {
    super(message);
    this.name = 'ProviderError';
    this.retryable = details.retryable;
    if (details.providerCode !== undefined) this.providerCode = details.providerCode;
    this.data = details.data;
  }

  /** The frame as it came. */
  readonly data: unknown;
}

/** Nothing came for as long as the `timeout` option allows. */
export class TimeoutError extends RivuletError {
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
    this.name = 'TimeoutError';
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
  const { message, name } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    readonly message?: unknown;
    readonly name?: unknown;
  };
  const said = [message, name].find((text) => typeof text === 'string' && text !== '');
  if (typeof said === 'string') return said;
  const text: unknown = JSON.stringify(thrown); // undefined for undefined, functions and symbols
  return typeof text === 'string' ? text : String(thrown);
}
