import type { StreamEvent } from '../../core/event.js';
import type { KnownEvent } from '../../core/eventGuards.js';
import { nestedId } from '../../core/nested.js';
import { emptyView } from './view.js';
import type { ToolCallView, View } from './view.js';

/** Builds the view of an inner run from its events. */
interface InnerFold {
  add(event: StreamEvent): View;
}

/** The views of the inner runs of one run. */
interface InnerFolds {
  /** Adds an event of the inner run of a call, and returns the call. */
  add(call: ToolCallView, event: StreamEvent): ToolCallView;
  clear(): void;
}

/**
 * Creates the views of the inner runs, each with the first event of its run.
 *
 * @param createFold Creates the view of an inner run, which continues an earlier one.
 */
export function createInnerFolds(createFold: (start: View, outerCall: string) => InnerFold): InnerFolds {
  const folds = new Map<string, InnerFold>();
  return {
    add(call, event) {
      const fold = folds.get(call.id) ?? createFold(call.nested ?? emptyView, call.id);
      folds.set(call.id, fold);
      const nested = fold.add(event);
      return { ...call, status: nested.status === 'waiting' ? 'waiting' : 'running', nested };
    },
    clear: () => folds.clear(),
  };
}

/** An event of an inner run, with the id that its call has in the outer run. */
export const withOuterId = (event: KnownEvent, outerCall: string): KnownEvent =>
  'id' in event && event.id ? { ...event, id: nestedId(outerCall, event.id) } : event;
