import type { WaitingCall } from '../../core/approval.js';
import { createViewFold, type ViewFold } from '../../operators/view/viewFold.js';
import { emptyView } from '../../operators/view/view.js';
import type { NestedEvent } from '../../core/event.js';
import type { KnownEvent } from '../../core/eventGuards.js';
import type { JsonValue } from '../../core/json/json.js';
import { innermost, outerIds } from '../../core/nested.js';
import type { ToolChunks } from './toolChunks.js';

/** The events that change a view too often to send it with each. */
const deltas: ReadonlySet<string> = new Set(['text', 'thinking', 'metadata']);

interface InnerRun {
  readonly fold: ViewFold;
  view: JsonValue;
  /** Without deltas. */
  events: number;
  /** The events since the view was sent. */
  unsent: number;
}

/** A long view is sent again when a sixteenth of its events is new: a call must not cost all calls before it. */
const SENT_PARTS = 16;

/**
 * Translates the events of inner runs. `useChat` shows tool calls, but no runs within them: the view of an inner run is
 * the preliminary output of its call. An inner call that waits becomes a call of the message, so that the browser can
 * answer it. The input of a question is what a form needs.
 */
export class NestedRuns {
  private readonly runs = new Map<string, InnerRun>();

  constructor(private readonly tools: ToolChunks) {}

  /** Returns the view, if it is time to send it. */
  add({ id, event }: NestedEvent): JsonValue | undefined {
    const run = this.runs.get(id) ?? { fold: createViewFold(emptyView, id), view: null, events: 0, unsent: 0 };
    this.runs.set(id, run);
    run.view = run.fold.add(event) as unknown as JsonValue;
    const inner = innermost(event, id);
    this.addCall(inner, id);
    if (deltas.has(inner.type)) return undefined;
    run.events++;
    run.unsent++;
    if (run.unsent < Math.floor(run.events / SENT_PARTS)) return undefined;
    run.unsent = 0;
    return run.view;
  }

  /** The calls of the message whose inner run waits for an answer, each with its view. */
  waitingViews(waiting: readonly WaitingCall[]): ReadonlyMap<string, JsonValue> {
    const outer = waiting.flatMap(({ id, path }) => (path ? outerIds(id) : []));
    const shown = outer.filter((id) => this.runs.has(id) || this.tools.isOpen(id));
    return new Map(shown.map((id) => [id, this.runs.get(id)?.view ?? null]));
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
