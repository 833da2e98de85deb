import type { WaitingCall } from '../../core/approval.js';
import { createViewFold, type ViewFold } from '../../operators/view/viewFold.js';
import { emptyView } from '../../operators/view/view.js';
import type { NestedEvent } from '../../core/event.js';
import type { KnownEvent } from '../../core/eventGuards.js';
import type { JsonValue } from '../../core/json/json.js';
import { innermost } from '../../core/nested.js';
import type { ToolChunks } from './toolChunks.js';

/** The events that change a view too often to send it with each. */
const deltas: ReadonlySet<string> = new Set(['text', 'thinking', 'metadata']);

/**
 * Translates the events of inner runs. `useChat` shows tool calls, but no runs within them: the view of an inner run is
 * the preliminary output of its call. An inner call that waits becomes a call of the message, so that the browser can
 * answer it. The input of a question is what a form needs.
 */
export class NestedRuns {
  private readonly folds = new Map<string, ViewFold>();
  private readonly views = new Map<string, JsonValue>();

  constructor(private readonly tools: ToolChunks) {}

  add({ id, event }: NestedEvent): JsonValue | undefined {
    const fold = this.folds.get(id) ?? createViewFold(emptyView, id);
    this.folds.set(id, fold);
    const view = fold.add(event) as unknown as JsonValue;
    this.views.set(id, view);
    const inner = innermost(event, id);
    this.addCall(inner, id);
    return deltas.has(inner.type) ? undefined : view;
  }

  /** The calls whose inner run waits for an answer, with its view. */
  waitingViews(waiting: readonly WaitingCall[]): ReadonlyMap<string, JsonValue> {
    const outer = waiting.flatMap(({ path }) => path?.[0] ?? []);
    return new Map(outer.map((id) => [id, this.views.get(id) ?? null]));
  }

  private addCall(event: KnownEvent, outer: string): void {
    if (event.type === 'toolWaiting') {
      const { id, name, arguments: args, question, details } = event;
      const input = question ? { ...question, ...(details && { details }) } : args;
      this.tools.addCall({ type: 'toolCall', id, name, arguments: input }, outer);
      this.tools.addWaiting(event);
    } else if (event.type === 'toolStart') this.tools.addStart(event);
    else if (event.type === 'toolResult' && this.tools.isOpen(event.id)) this.tools.addResult(event);
  }
}
