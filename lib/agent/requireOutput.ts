import type { FinishReason } from '../core/chunk.js';
import { ConfigurationError } from '../core/errors.js';
import type { RunResult } from '../core/event.js';

const reasonsWithoutOutput: ReadonlySet<FinishReason> = new Set(['maxTurns', 'stopped', 'limit', 'waiting']);

/** An orchestrator without support for typed output does not set it. */
export const requireOutput =
  (orchestrator: string) =>
  ({ output, finishReason }: RunResult): void => {
    if (output !== undefined || reasonsWithoutOutput.has(finishReason)) return;
    throw new ConfigurationError(
      'output',
      `The orchestrator "${orchestrator}" returned no typed output.`,
      'Build its turns on typedOutput, or omit `output`.',
    );
  };
