import { RivuletError } from './errors.js';
import type {
  ConfigurationError,
  ConnectionError,
  HttpError,
  ProtocolError,
  ProviderError,
  StreamInterruptedError,
  TimeoutError,
} from './errors.js';

/** A run with typed output came to no valid output. */
export class OutputError extends RivuletError {
  override readonly name = 'OutputError';
  readonly code = 'output';
  /** The name of the orchestrator. */
  declare readonly orchestrator: string;
  /** The model's provider. */
  declare readonly provider: string;
  /** The turn of the run, from 1. */
  declare readonly turn: number;
  /** What the model said, as it came. */
  declare readonly text: string;

  /**
   * @param reason `invalid`: it does not fit the schema, after all repairs; `refused`; `length`: it was cut by the token limit; `maxTurns`: the run
   * was over before it.
   * @param what What happened, with the validation's own words.
   * @param next What to do about it.
   * @param details Where, and the raw text.
   */
  constructor(
    readonly reason: 'invalid' | 'refused' | 'length' | 'maxTurns',
    what: string,
    next: string,
    details: { readonly orchestrator: string; readonly provider: string; readonly turn: number; readonly text: string },
  ) {
    super(`${what} ${next}`);
    Object.assign(this, details);
  }
}

/** An element of a streamed array does not fit its schema, and no other reply came in place of it. */
export class ElementError extends RivuletError {
  override readonly name = 'ElementError';
  readonly code = 'element';

  /**
   * @param index Where it is in the array, from 0.
   * @param element The element, as the model wrote it.
   * @param invalid What is wrong with it, in the schema's words.
   */
  constructor(
    readonly index: number,
    readonly element: unknown,
    readonly invalid: string,
  ) {
    super(
      `Element ${index} is not valid: ${invalid}. It is in \`element\`; simplify the schema, or take elements() without one and check each yourself.`,
    );
  }
}

/** The errors of a run: `code` narrows to one of them. A user's own operators and models may throw others. */
export type RunError =
  | ConfigurationError
  | ConnectionError
  | ElementError
  | HttpError
  | OutputError
  | ProtocolError
  | ProviderError
  | StreamInterruptedError
  | TimeoutError;
