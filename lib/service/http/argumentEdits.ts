import type { CallAnswers } from '../../core/approval.js';
import { isRecord } from '../../core/json/json.js';
import { RequestError } from './requestError.js';

/** Whether a user may change a call. */
export interface EditOptions {
  /**
   * Whether an approval may replace the arguments of its call: they are validated again, and the tool runs with them.
   * If not, such a decision is answered with 400, and the run keeps waiting. Default: true.
   */
  readonly allowEdits?: boolean | undefined;
}

/**
 * Requires that no decision changes its call, unless the service allows it.
 *
 * @throws RequestError 400 if one does.
 */
export function rejectForbiddenEdits(decisions: CallAnswers['decisions'], { allowEdits = true }: EditOptions): void {
  const hasEdits = Object.values(decisions ?? {}).some(
    (decision: unknown) => isRecord(decision) && decision['arguments'] !== undefined,
  );
  if (hasEdits && !allowEdits)
    throw new RequestError(400, 'Approve or deny the call as it is: its arguments cannot be changed here.');
}
