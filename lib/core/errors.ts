import { plainText } from './plainText.js';
import { isRecord, nonEmptyString, objectOrEmpty, omitUndefined, type Fields, type JsonObject } from './json/json.js';

/** Registered, so that the ESM and the CommonJS build recognize each other's errors. */
const mark = Symbol.for('rivulet.error');

/**
 * The base class of all errors of Rivulet, also for `instanceof` if two copies of the package are loaded. Distinguish
 * them by `code`: `instanceof` of the other classes fails then.
 */
export abstract class RivuletError extends Error {
  /** Identifies the kind of error. It does not change between versions. */
  abstract readonly code: string;
  /** Whether the same request may succeed if it is sent again. */
  readonly retryable: boolean = false;
  /**
   * Whether a service may send the code and the message to a browser. The message of such a class says nothing about
   * the server: its keys, its configuration, its tools. Errors of the provider and of the transport are described with
   * a fixed sentence for their code, since their messages may repeat what a server has written. Read by
   * `describeError` (`transport/publicError.ts`).
   */
  readonly isPublic: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(plainText(message), options); // a message is printed, and may repeat what a server has written
    Object.defineProperty(this, mark, { value: true });
    this.name = new.target.name; // for classes of users; our own set it to a text, which a minifier does not change
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const isMarked = this === RivuletError && isRecord(value) && mark in value;
    return isMarked || Function.prototype[Symbol.hasInstance].call(this, value);
  }

  /**
   * Used by `JSON.stringify(error)`, for logs. Contains `name`, `code`, `message`, `retryable` and the fields of the
   * class that identify the problem. Raw bodies and frames, the model's text, the cause and the stack are omitted: read
   * them from the error itself.
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
 * The configuration is invalid: for example, a key is missing, a setting is not supported, or the history is invalid.
 * Thrown, or emitted in place of what it concerns: a request that it concerns is not sent.
 */
export class ConfigurationError extends RivuletError {
  override readonly name = 'ConfigurationError';
  readonly code = 'configuration';

  /**
   * @param subject The invalid part of the configuration, for example `apiKey`, `model`, `schema`, `history`, `tools`,
   * `capability`, `options`, `output`, `provider`, `mcp`.
   * @param problem What happened, including the invalid value.
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

/** One function per subject that several places have. */
const errorAbout = (subject: string) => (problem: string, nextStep: string) =>
  new ConfigurationError(subject, problem, nextStep);
export const optionsError = /* @__PURE__ */ errorAbout('options');
export const capabilityError = /* @__PURE__ */ errorAbout('capability');
export const modelError = /* @__PURE__ */ errorAbout('model');
export const schemaError = /* @__PURE__ */ errorAbout('schema');
export const historyError = /* @__PURE__ */ errorAbout('history');
export const checkpointError = /* @__PURE__ */ errorAbout('checkpoint');
export const toolsError = /* @__PURE__ */ errorAbout('tools');
export const decisionsError = /* @__PURE__ */ errorAbout('decisions');
export const recordingError = /* @__PURE__ */ errorAbout('recording');

/** The provider responded with an HTTP status other than 2xx. */
export class HttpError extends RivuletError {
  override readonly name = 'HttpError';
  readonly code = 'http';
  declare readonly retryable: boolean;
  declare readonly provider: string;
  declare readonly status: number;
  /** The provider's code or type of the error, if the body contains one. */
  readonly providerCode?: string;
  /** The provider's id of the request. The provider's support asks for it. */
  readonly requestId?: string;
  /** The body as text, truncated to 64 KiB. Only with the option `debug`: it may repeat the conversation. */
  readonly body?: string;
  /** The time that the provider asks to wait before a retry, in milliseconds. */
  readonly retryAfter?: number;
  /** What the sentence of a Rivulet service names: `{ max: 3 }`. Its code is the `providerCode`. */
  readonly params?: JsonObject;

  constructor(
    message: string,
    details: {
      readonly provider: string;
      readonly status: number;
      readonly retryable: boolean;
      readonly body?: string | undefined;
      readonly providerCode?: string | undefined;
      readonly requestId?: string | undefined;
      readonly retryAfter?: number | undefined;
      readonly params?: JsonObject | undefined;
    },
  ) {
    super(message);
    Object.assign(this, details);
  }

  protected override details(): Fields {
    const { provider, status, providerCode, requestId, retryAfter, params } = this;
    return { provider, status, providerCode, requestId, retryAfter, params };
  }
}

abstract class TransportError extends RivuletError {
  override readonly retryable: boolean = true;

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

/** The connection could not be established, or broke before the response began. */
export class ConnectionError extends TransportError {
  override readonly name = 'ConnectionError';
  readonly code = 'connection';
}

/** The stream ended or broke before the model reported its end. Values already emitted remain valid. */
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
   * @param reason The kind of violation: `content_type`, `frame` or `event_too_large`.
   * @param message What happened, and what to do next.
   * @param received The beginning of what was received. Only with the option `debug`: it may repeat the conversation.
   */
  constructor(
    readonly provider: string,
    readonly reason: 'content_type' | 'frame' | 'event_too_large',
    message: string,
    readonly received?: string,
  ) {
    super(message);
  }

  protected override details(): Fields {
    return { provider: this.provider, reason: this.reason };
  }
}

/** The provider reported an error within the stream, after HTTP status 200. */
export class ProviderError extends RivuletError {
  override readonly name = 'ProviderError';
  readonly code = 'provider';
  declare readonly retryable: boolean;
  /** The provider's code or type of the error. */
  readonly providerCode?: string;
  /** The frame as it was received. Only with the option `debug`: it may repeat the conversation. */
  readonly data?: unknown;

  /**
   * @param provider The model's provider.
   * @param message The provider's error message.
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

export class TextTooLongError extends RivuletError {
  override readonly name = 'TextTooLongError';
  readonly code = 'text_too_long';
  override readonly isPublic = true;

  constructor(readonly limit: number) {
    super(
      `The text exceeds ${limit} characters, which a string cannot hold. ` +
        'Limit the output with maxOutputTokens or stopSequences.',
    );
  }

  protected override details(): Fields {
    return { limit: this.limit };
  }
}

/** Whether the same request may succeed if it is sent again. */
export function isRetryable(error: unknown): boolean {
  return isRecord(error) && error['retryable'] === true;
}

/** For any value but an error of Rivulet, only the name and message: its own `toJSON` may contain the key. */
export function errorToJson(thrown: unknown): JsonObject {
  try {
    // Not `instanceof`: two copies of the package may be loaded.
    const { name, code, retryable, toJSON } = objectOrEmpty(thrown) as Fields;
    const isOurs = typeof code === 'string' && typeof retryable === 'boolean' && typeof toJSON === 'function';
    if (isOurs) return (toJSON as () => JsonObject).call(thrown);
    return omitUndefined({ name: nonEmptyString(name), message: errorText(thrown) });
  } catch {
    return { message: errorText(thrown) };
  }
}

/** The message of any thrown value, also of another realm (Node's errors in jest), or with properties that throw. */
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
