import { errorText } from '../../core/errors.js';
import type { ToolResultEvent } from '../../core/event.js';
import { isRecord, omitUndefined, type JsonObject } from '../../core/json/json.js';
import { toolErrorTexts, type ToolCallPart, type ToolErrorCode } from '../../core/message.js';
import { reportErrorsOf } from '../../core/reportUnhandled.js';
import type { TimeoutError } from '../../core/timeoutError.js';

/** Registered, so that the ESM and the CommonJS build recognize each other's failures. */
const mark = Symbol.for('rivulet.toolFailure');

/** Any other exception has the code `failed`. */
export class ToolFailure extends Error {
  /** `data` is what the tool had done, and `reason` why the call was denied. */
  constructor(
    readonly code: ToolErrorCode,
    message: string,
    readonly data?: JsonObject,
    readonly reason?: string,
  ) {
    super(message);
    Object.defineProperty(this, mark, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isRecord(value) && mark in value;
  }
}

export const cancellation = () => new ToolFailure('cancelled', toolErrorTexts.cancelled);

interface FailureFields {
  readonly code: ToolErrorCode;
  readonly data?: JsonObject;
  readonly reason?: string;
}

/** A tool may throw anything, also a Proxy whose traps throw. */
function describeFailure(thrown: unknown): FailureFields {
  try {
    const { code: name, phase } = thrown as Partial<TimeoutError>; // also of another copy of the package
    if (name === 'timeout' && phase === 'tool') return { code: 'timeout' };
    if (!(thrown instanceof ToolFailure)) return { code: 'failed' };
    const { code, data, reason } = thrown;
    return omitUndefined({ code, data, reason });
  } catch {
    return { code: 'failed' };
  }
}

export function failedResult(
  call: ToolCallPart,
  thrown: unknown,
  onToolError?: (thrown: unknown, call: ToolCallPart) => void,
): ToolResultEvent {
  const { id, name } = call;
  const failure = describeFailure(thrown);
  if (failure.code === 'failed') reportErrorsOf(() => onToolError?.(thrown, call));
  return { type: 'toolResult', id, name, error: errorText(thrown), ...failure };
}
