import { tap, type Observable } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import { isTurn } from '../core/eventGuards.js';
import { failedRunOf } from '../core/failedRun.js';
import { addUsage, negative, type Usage } from '../core/usage.js';

/** A turn that fails has no `turn` event: what it has used is in the error. `before`: the usage of earlier turns. */
export function withFailedTurn(run: Observable<StreamEvent>, before: Usage, report: (usage: Usage) => void) {
  let counted = before;
  const next = (event: StreamEvent) => isTurn(event) && (counted = addUsage(counted, event.usage));
  const error = (thrown: unknown) => {
    const left = addUsage(failedRunOf(thrown)?.usage ?? counted, negative(counted));
    if (Object.values(left).some((count: number) => count > 0)) report(left);
  };
  return run.pipe(tap({ next, error }));
}
