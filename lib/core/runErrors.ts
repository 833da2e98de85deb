import { errorText, errorToJson, isRetryable, RivuletError } from './errors.js';
import { isRecord, type Fields } from './json/json.js';
import type { Model } from './model.js';
import type {
  ConfigurationError,
  ConnectionError,
  HttpError,
  ProtocolError,
  ProviderError,
  StreamInterruptedError,
  TextTooLongError,
} from './errors.js';
import type { ContextLengthError } from './contextLengthError.js';
import type { RateLimitError } from './rateLimitError.js';
import type { TimeoutError } from './timeoutError.js';
import type { Plain } from './typesOf.js';

/** A run with typed output ended without a valid output. */
export class OutputError extends RivuletError {
  override readonly name = 'OutputError';
  readonly code = 'output';
  declare readonly orchestrator: string;
  declare readonly provider: string;
  declare readonly turn: number;
  declare readonly text: string;

  /**
   * `invalid`: the output does not match the schema after all repairs; `refused`: the model refused; `length`: the
   * token limit truncated it; `maxTurns`: the run reached them without an output.
   */
  constructor(
    readonly reason: 'invalid' | 'refused' | 'length' | 'maxTurns',
    problem: string,
    nextStep: string,
    details: { readonly orchestrator: string; readonly provider: string; readonly turn: number; readonly text: string },
  ) {
    super(`${problem} ${nextStep}`);
    Object.assign(this, details);
  }

  protected override details(): Fields {
    const { reason, orchestrator, provider, turn } = this;
    return { reason, orchestrator, provider, turn };
  }
}

/** An element of a streamed array does not match its schema, and no later response replaced it. */
export class ElementError extends RivuletError {
  override readonly name = 'ElementError';
  readonly code = 'element';

  constructor(
    readonly index: number,
    readonly element: unknown,
    readonly invalid: string,
  ) {
    const nextStep = 'Simplify the schema, or use outputElements() without a schema and check each element.';
    super(`Element ${index} is not valid: ${invalid}. The element is in \`error.element\`. ${nextStep}`);
  }

  protected override details(): Fields {
    return { index: this.index, invalid: this.invalid };
  }
}

/** Each of several models failed: of a `fallback` or a `hedge`. */
export class AllModelsFailedError extends RivuletError {
  override readonly name = 'AllModelsFailedError';
  readonly code = 'all_models_failed';
  declare readonly retryable: boolean;

  constructor(
    models: readonly Pick<Model, 'provider' | 'name'>[],
    readonly errors: readonly unknown[],
  ) {
    const reasons = models.map(({ provider, name }, at) => `${provider}:${name}: ${errorText(errors[at])}`);
    super(`All ${models.length} models failed. ${reasons.join(' ')} The errors are in \`error.errors\`.`);
    Object.assign(this, { retryable: errors.some(isRetryable) });
  }

  protected override details(): Fields {
    return { errors: this.errors.map(errorToJson) };
  }
}

/** A `guardModel` has rejected a model's text, or a tool call. */
export class GuardError extends RivuletError {
  override readonly name = 'GuardError';
  readonly code = 'guard';
  /** True: the model may answer differently. */
  override readonly retryable = true;

  /** `tool` is undefined if the model's text was rejected. */
  constructor(readonly tool: string | undefined) {
    const what = tool === undefined ? 'text' : `call of the tool "${tool}"`;
    super(`A guard has rejected the model's ${what}. Ask again with retryModel, or another model with fallback.`);
  }

  protected override details(): Fields {
    return { tool: this.tool };
  }
}

/** The errors of a run: `code` narrows the union. Custom operators and models may throw others. */
export type RunError = Plain<
  | AllModelsFailedError
  | ConfigurationError
  | ConnectionError
  | ContextLengthError
  | ElementError
  | GuardError
  | HttpError
  | OutputError
  | ProtocolError
  | ProviderError
  | RateLimitError
  | StreamInterruptedError
  | TextTooLongError
  | TimeoutError
>;

const codes: Readonly<Record<RunError['code'], true>> = {
  all_models_failed: true,
  configuration: true,
  connection: true,
  context_length: true,
  element: true,
  guard: true,
  http: true,
  output: true,
  protocol: true,
  provider: true,
  rate_limit: true,
  stream_interrupted: true,
  text_too_long: true,
  timeout: true,
};

/**
 * Whether a thrown value is an error of a run, so that its `code` narrows it.
 *
 * ```ts
 * catchError((error: unknown) =>
 *   isRunError(error) && error.code === 'http' && error.status === 401 ? askForKey() : throwError(() => error),
 * );
 * ```
 *
 * It reads the code and not the class, so that it knows the errors of another copy of the package. The error of a run
 * at a server has only its code, its message and `retryable`: it is not a RunError.
 */
export function isRunError(thrown: unknown): thrown is RunError {
  if (!isRecord(thrown) || typeof thrown['toJSON'] !== 'function' || thrown['name'] === 'RemoteRunError') return false;
  return typeof thrown['code'] === 'string' && Object.hasOwn(codes, thrown['code']);
}
