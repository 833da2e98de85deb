import type {
  ConfigurationError,
  ConnectionError,
  HttpError,
  ProtocolError,
  ProviderError,
  StreamInterruptedError,
  TimeoutError,
} from './errors.js';
import type { ElementError, OutputError } from './outputErrors.js';

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
