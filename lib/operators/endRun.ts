import type { OperatorFunction } from 'rxjs';
import type { RetractChunk, TextChunk, ThinkingChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { MessageEvent, ResultEvent, RunResult, RunState, StreamEvent, TurnEvent } from '../core/event.js';
import type { Message } from '../core/message.js';
import { StringBuilder } from '../core/stringBuilder.js';
import { addUsage } from '../core/usage.js';

/**
 * Emits the run's `result` after its last turn.
 *
 * <span class="informal">All of it, in one value, for those who did not watch.</span>
 *
 * ![](../../marbles/endRun.svg)
 *
 * The result comes when the source completes after a `turn` that none follows. A run that fails, or is left, has none.
 *
 * ```ts
 * runTurns(turn, start).pipe(prefixAfterTools(), endRun(start));
 * ```
 *
 * @param start Where the run started: its usage and turns count too.
 * @returns A function that returns an Observable of the source's events, and the `result`.
 */
export function endRun<E extends StreamEvent>(start?: RunState): OperatorFunction<E, E | ResultEvent>;
export function endRun(start?: RunState): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    const messages: Message[] = [];
    let done = { text: '', thinking: '', messages: 0 }; // with the last turn; what began since is void on a retract
    let text = new StringBuilder();
    let thinking = new StringBuilder();
    let usage = addUsage(start?.usage, undefined);
    let last: TurnEvent | undefined;
    const take = (event: Known) => {
      if (event.type === 'text') text.add(event.text);
      else if (event.type === 'thinking') thinking.add(event.text);
      else if (event.type === 'message') messages.push(event.message);
      else {
        if (event.type === 'turn') {
          last = event;
          usage = addUsage(usage, event.usage);
          done = {
            text: done.text + text.toString(),
            thinking: done.thinking + thinking.toString(),
            messages: messages.length,
          };
        } else messages.length = done.messages;
        text = new StringBuilder();
        thinking = new StringBuilder();
      }
    };
    return {
      next(event) {
        if (isKnown(event)) take(event);
        out.next(event);
      },
      complete() {
        if (last && !last.next) {
          const result: RunResult = {
            ...done,
            messages,
            output: last.output,
            finishReason: last.finishReason,
            usage,
            turns: last.turn,
          };
          out.next({ type: 'result', result } as StreamEvent);
        }
        out.complete();
      },
    };
  });
}

type Known = TextChunk | ThinkingChunk | MessageEvent | RetractChunk | TurnEvent;

const known: ReadonlySet<string> = new Set([
  'text',
  'thinking',
  'message',
  'retract',
  'turn',
] satisfies Known['type'][]);
const isKnown = (event: StreamEvent): event is Known => known.has(event.type);
