import { reportUnhandled } from '../../core/createOperator.js';
import { errorText } from '../../core/errors.js';
import type { ToolResultEvent } from '../../core/event.js';
import type { JsonObject } from '../../core/json/json.js';
import type { ToolCallPart, ToolErrorCode } from '../../core/message.js';
import { TimeoutError } from '../../core/timeoutError.js';

/** A failure of a call with a specific code. Any other exception has the code `failed`. */
export class ToolFailure extends Error {
  /** `data` is what the tool had done, for readers of the result. */
  constructor(
    readonly code: ToolErrorCode,
    message: string,
    readonly data?: JsonObject,
  ) {
    super(message);
  }
}

/** The code and the data of an error. A tool may throw anything, also a Proxy whose traps throw. */
function describeFailure(thrown: unknown): { readonly code: ToolErrorCode; readonly data?: JsonObject } {
  try {
    if (thrown instanceof TimeoutError && thrown.phase === 'tool') return { code: 'timeout' };
    if (!(thrown instanceof ToolFailure)) return { code: 'failed' };
    const { code, data } = thrown;
    return data ? { code, data } : { code };
  } catch {
    return { code: 'failed' };
  }
}

/** What `onToolError` throws is reported as RxJS reports unhandled errors. */
export function failedResult(
  call: ToolCallPart,
  thrown: unknown,
  onToolError?: (thrown: unknown, call: ToolCallPart) => void,
): ToolResultEvent {
  const { id, name } = call;
  const failure = describeFailure(thrown);
  if (failure.code === 'failed' && onToolError) {
    try {
      onToolError(thrown, call);
    } catch (error) {
      reportUnhandled(error);
    }
  }
  return { type: 'toolResult', id, name, error: errorText(thrown), ...failure };
}
