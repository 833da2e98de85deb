import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { StreamEvent } from '../core/event.js';
import { isResult } from '../core/eventGuards.js';
import { isRecord } from '../core/json/json.js';
import type { Exchange } from './exchanges.js';
import type { View } from './view.js';
import { failView, messagesOfFailed, shownMessages } from './viewChanges.js';
import { ViewFold } from './viewFold.js';

/**
 * Converts the events of a run to changes of its exchange. The last change contains all that the run has left, so that
 * what is saved is complete.
 *
 * @param base The view from which the run started.
 * @param shown What is shown now. A run that fails before its first event leaves it.
 * @returns A function that returns an Observable of changes. It does not fail. It completes without a last change if
 * the server cannot go on after the last event, because the page was suspended for too long: join the run again.
 */
export function exchangeChanges(base: View, shown: () => View): OperatorFunction<StreamEvent, Partial<Exchange>> {
  return createOperator<StreamEvent, Partial<Exchange>>((out) => {
    const fold = new ViewFold(base);
    let hasBegun = false;
    let isOver = false;
    const end = (change: Partial<Exchange>) => {
      isOver = true;
      out.next({ ...change, base: undefined });
    };
    return {
      next(event) {
        if (!hasBegun) out.next({ hasBegun: true });
        hasBegun = true;
        const before = fold.view;
        fold.add(event);
        const { view } = fold;
        if (isResult(event)) end({ view, messages: event.result.messages, checkpoint: event.result.checkpoint });
        else if (view !== before) out.next({ view });
      },
      error(thrown) {
        if (!isOver && (!hasBegun || !isRunNotFound(thrown))) {
          fold.fail(thrown);
          const view = hasBegun ? fold.view : failView(shown(), fold.view.error);
          end({ view, messages: messagesOfFailed(thrown) ?? shownMessages(view) });
        }
        out.complete();
      },
      complete() {
        if (!isOver) end({ view: failView(shown()), messages: shownMessages(shown()) }); // it ended without a result
        out.complete();
      },
    };
  });
}

const isRunNotFound = (thrown: unknown): boolean => isRecord(thrown) && thrown['code'] === 'run_not_found';
