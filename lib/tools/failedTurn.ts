import { map, tap, type Observable } from 'rxjs';
import type { Checkpoint } from '../core/checkpoint.js';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { failedRunOf } from '../core/failedRun.js';
import { addUsage, negative, type Usage } from '../core/usage.js';

/** What was reported of an open turn, by the usage before it, in its checkpoint: a retry continues that turn. */
const reported = new WeakMap<Usage, Usage>();

/** A turn that fails has no `turn` event: what it has used is in the error. `before`: the usage of earlier turns. */
export function withFailedTurn(run: Observable<StreamEvent>, before: Usage, report: (usage: Usage) => void) {
  let repeated = reported.get(before) ?? {};
  let counted = addUsage(before, repeated);
  let last: Checkpoint | undefined;
  const next = (event: StreamEvent): StreamEvent => {
    const known = asKnownEvent(event);
    if (known.type === 'checkpoint' || known.type === 'turn') last = known.checkpoint ?? last;
    if (known.type !== 'turn' || !known.usage) return event;
    const usage = addUsage(known.usage, negative(repeated));
    repeated = {};
    counted = addUsage(counted, usage);
    return { ...known, usage } as StreamEvent;
  };
  const error = (thrown: unknown) => {
    const left = addUsage(failedRunOf(thrown)?.usage ?? counted, negative(counted));
    if (Object.values(left).some((count: number) => count > 0)) report(left);
    if (last?.open) reported.set(last.state.usage, addUsage(undefined, last.open.finish.usage));
  };
  return run.pipe(map(next), tap({ error }));
}
