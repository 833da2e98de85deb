import { nonEmptyString, objectOrEmpty, omitUndefined } from './json/json.js';
import type { Fields, JsonObject } from './json/json.js';

/**
 * The base class of all errors of Rivulet. Distinguish them by `code`: `instanceof` fails across two builds of a
 * package.
 */
export abstract class RivuletError extends Error {
  /** The kind of error. It does not change between versions. */
  abstract readonly code: string;
  /** Whether the same request may succeed if it is sent again. */
  readonly retryable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /**
   * What `JSON.stringify(error)` writes, for a log: `name`, `code`, `message`, `retryable` and the fields of the class
   * that identify the problem. Omitted are raw bodies and frames, what the model wrote, the cause and the stack: read
   * those from the error itself.
   */
  toJSON(): JsonObject {
    const { name, code, message, retryable } = this;
    return omitUndefined({ name, code, message, retryable, ...this.details() });
  }

  /** The fields that a class adds to `toJSON`. */
  protected details(): Fields {
    return {};
  }
}

/**
 * The set-up cannot work: a key is missing, a setting is not supported, the history is invalid. Raised before any
 * request.
 */
export class ConfigurationError extends RivuletError {
  override readonly name = 'ConfigurationError';
  readonly code = 'configuration';

  /**
   * @param subject What is wrong: `apiKey`, `schema`, `history`, `tools`, `capability`, `options`.
   * @param problem What happened, with the data.
   * @param nextStep What to do about it.
   */
  constructor(
    readonly subject: string,
    problem: string,
    nextStep: string,
  ) {
    super(`${problem} ${nextStep}`);
  }

  protected override details(): Fields {
    return { subject: this.subject };
  }
}

/** The provider answered with an HTTP status other than 2xx. */
export class HttpError extends RivuletError {
  override readonly name = 'HttpError';
  readonly code = 'http';
  declare readonly retryable: boolean;
  declare readonly provider: string;
  declare readonly status: number;
  /** The provider's own code or type of the error, if the body names one. */
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

  protected override details(): Fields {
    const { provider, status, providerCode, requestId, retryAfter } = this;
    return { provider, status, providerCode, requestId, retryAfter };
  }
}

/** A request failed on its way to a provider, or on the way back. */
abstract class TransportError extends RivuletError {
  override readonly retryable = true;

  constructor(
    readonly provider: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  protected override details(): Fields {
    return { provider: this.provider };
  }
}

/** The connection could not be made, or broke before the response began. */
export class ConnectionError extends TransportError {
  override readonly name = 'ConnectionError';
  readonly code = 'connection';
}

/** The stream ended, or broke, before the model reported its end. What had arrived stays emitted. */
export class StreamInterruptedError extends TransportError {
  override readonly name = 'StreamInterruptedError';
  readonly code = 'stream_interrupted';
}

/**
 * The response is not the requested stream: HTML from a proxy, a frame that is not JSON, an event that exceeds the
 * limit.
 */
export class ProtocolError extends RivuletError {
  override readonly name = 'ProtocolError';
  readonly code = 'protocol';

  /**
   * @param provider The model's provider.
   * @param reason The kind: `content_type`, `frame`, `event_too_large`.
   * @param message What happened, and what to do next.
   * @param received The beginning of what was received.
   */
  constructor(
    readonly provider: string,
    readonly reason: 'content_type' | 'frame' | 'event_too_large',
    message: string,
    readonly received: string,
  ) {
    super(message);
  }

  protected override details(): Fields {
    return { provider: this.provider, reason: this.reason };
  }
}

/** The provider reported an error inside its stream, after status 200. */
export class ProviderError extends RivuletError {
  override readonly name = 'ProviderError';
  readonly code = 'provider';
  declare readonly retryable: boolean;
  /** The provider's own code or type of the error. */
  readonly providerCode?: string;
  /** The frame as it was received. */
  declare readonly data: unknown;

  /**
   * @param provider The model's provider.
   * @param message The provider's text.
   * @param details The provider's code, whether the same request may succeed later, and the frame as it was received.
   */
  constructor(
    readonly provider: string,
    message: string,
    details: { readonly retryable: boolean; readonly providerCode?: string | undefined; readonly data?: unknown },
  ) {
    super(message);
    Object.assign(this, details);
  }

  protected override details(): Fields {
    return { provider: this.provider, providerCode: this.providerCode };
  }
}

/** Nothing was received for as long as the `timeout` option allows. */
export class TimeoutError extends RivuletError {
  override readonly name = 'TimeoutError';
  readonly code = 'timeout';

  /**
   * @param phase `first`: no byte of a response was received; `each`: the response stopped in the middle.
   * @param milliseconds The limit.
   */
  constructor(
    readonly phase: 'first' | 'each',
    readonly milliseconds: number,
  ) {
    const [problem, nextStep] =
      phase === 'first'
        ? ['did not begin to answer within', 'Raise timeout.first or omit it: models that think take minutes.']
        : ['stopped in the middle of its answer for', 'Raise timeout.each if that is expected.'];
    super(`The model ${problem} ${milliseconds} ms. ${nextStep}`);
  }

  protected override details(): Fields {
    return { phase: this.phase, milliseconds: this.milliseconds };
  }
}

/**
 * The message of a thrown value of any kind. It may come from another realm (in jest, Node's own errors do), and
 * reading it may throw.
 */
export function errorText(thrown: unknown): string {
  try {
    return readableText(thrown);
  } catch {
    return 'an unreadable value was thrown';
  }
}

function readableText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  const { message, name } = objectOrEmpty(thrown);
  const text = nonEmptyString(message) ?? nonEmptyString(name) ?? nonEmptyString(JSON.stringify(thrown));
  return text ?? String(thrown); // undefined, functions and symbols are not JSON
}
