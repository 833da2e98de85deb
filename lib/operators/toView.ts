import { catchError, defer, distinctUntilChanged, map, of, startWith, type OperatorFunction } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import { emptyView, type View } from './view/view.js';
import { createViewFold } from './view/viewFold.js';

/**
 * Folds the events of a run into a view model, and emits it after each event that changes it.
 *
 * <span class="informal">Everything that a chat window shows, as one value.</span>
 *
 * ![](../../marbles/toView.svg)
 *
 * The view is immutable, and what did not change keeps its identity, so `OnPush` components and signals update only
 * what has changed. The first view has the status `sending`. If the run fails, the last view has the status `failed`
 * and the `error`, keeps what was received, and the output completes: a template needs no error handling of its own.
 *
 * A run emits far more events than a screen has frames. `auditTime(0, animationFrameScheduler)` limits the views.
 *
 * ```ts
 * const question = userMessage('How warm is it in Oslo?');
 * const view = toSignal(agent.stream(question).pipe(toView(viewOf([question]))), { initialValue: emptyView });
 * ```
 *
 * @param initial The view before the run, which shows the conversation and the input. Default: an empty view.
 * @returns A function that returns an Observable of views. With a run that emits `fragments`, the arguments of calls
 * are shown while they grow.
 */
export function toView<E extends StreamEvent>(initial: View = emptyView): OperatorFunction<E, View> {
  return (source) =>
    defer(() => {
      const fold = createViewFold(initial);
      return source.pipe(
        map((event) => fold.add(event)),
        catchError((thrown: unknown) => of(fold.fail(thrown))),
        startWith(fold.start),
        distinctUntilChanged(),
      );
    });
}
