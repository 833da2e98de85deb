import { errorText } from '../../core/errors.js';
import type { ToolResultEvent } from '../../core/event.js';
import { toolErrorTexts } from '../../core/message.js';
import type { ToolCallPart, ToolErrorCode } from '../../core/message.js';
import { TimeoutError } from '../../core/timeoutError.js';

/** A failure of a call with a specific code. Any other exception has the code `failed`. */
export class ToolFailure extends Error {
  constructor(
    readonly code: ToolErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** The code of an error. A tool may throw anything, also a Proxy: `instanceof` then throws what its trap throws. */
function errorCode(thrown: unknown): ToolErrorCode {
  try {
    if (thrown instanceof TimeoutError && thrown.phase === 'tool') return 'timeout';
    return thrown instanceof ToolFailure ? thrown.code : 'failed';
  } catch {
    return 'failed';
  }
}

/** The failure of a call that is cancelled. */
export const cancellation = () => new ToolFailure('cancelled', toolErrorTexts.cancelled);

/** The result of a call that has failed. */
export const failedResult = ({ id, name }: ToolCallPart, thrown: unknown): ToolResultEvent => ({
  type: 'toolResult',
  id,
  name,
  error: errorText(thrown),
  code: errorCode(thrown),
});
