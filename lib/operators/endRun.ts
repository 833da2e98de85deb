import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { withoutNext } from '../core/event.js';
import type { ResultEvent, RunResult, RunState, StreamEvent, TurnEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { recordRun } from '../core/failedRun.js';
import { messageText } from '../core/message.js';
import type { Message, Metadata } from '../core/message.js';
import { MetadataCollector, metadataOfRetracted } from '../core/metadata.js';
import { usageOfError } from '../core/remainder.js';
import { StringBuilder } from '../core/stringBuilder.js';
import { addUsage } from '../core/usage.js';
import type { Usage } from '../core/usage.js';

/** Options of `endRun`. */
export interface EndRunOptions {
  /** Whether the `turn` events keep `next`, which contains the complete history. Default: true. */
  readonly checkpoints?: boolean | undefined;
  /** The name of the orchestrator, for `runOf(error)`. Default: none. */
  readonly orchestrator?: string | undefined;
  /** Returns the prompts that arrived and did not join the run. Default: none. */
  readonly unjoined?: (() => readonly Message[]) | undefined;
  /** Checks the result before it is emitted. If it throws, the run fails with that error. Default: no check. */
  readonly check?: ((result: RunResult) => void) | undefined;
}

/**
 * Emits the run's `result` after its last turn.
 *
 * <span class="informal">Collects all events of a run and emits one result.</span>
 *
 * ![](../../marbles/endRun.svg)
 *
 * The result is emitted when the source completes after a `turn` event without `next`. A run that fails or is
 * unsubscribed emits no result; `runOf(error)` returns what a run had done when it failed. `retract` discards the
 * content of the current turn, but the result includes the cost and the usage of the retracted attempt.
 *
 * ```ts
 * runTurns(turn, start).pipe(prefixAfterTools(), endRun(start));
 * ```
 *
 * @param start The state from which the run started; the result includes its usage and its turns. Default: a new run.
 * @param options `checkpoints` (default: true), `orchestrator` (default: none), `unjoined` (default: none), `check`
 * (default: no check).
 * @returns A function that returns an Observable of the source's events, and the `result`.
 */
export function endRun<E extends StreamEvent>(
  start?: RunState,
  options?: EndRunOptions,
): OperatorFunction<E, E | ResultEvent>;
export function endRun(
  start?: RunState,
  { checkpoints = true, orchestrator, unjoined = () => [], check }: EndRunOptions = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    const text = new StringBuilder();
    const thinking = new StringBuilder();
    const messages: Message[] = [];
    const metadata = new MetadataCollector();
    let usage = addUsage(start?.usage, undefined);
    let content = new TurnContent();
    let last: TurnEvent | undefined;

    const endTurn = (turn: TurnEvent) => {
      last = turn;
      usage = addUsage(usage, turn.usage);
      content.endText();
      text.add(content.text.toString());
      thinking.add(content.thinking.toString());
      messages.push(...content.messages);
      if (content.metadata.metadata) metadata.add(content.metadata.metadata);
      content = new TurnContent();
    };
    const fail = (thrown: unknown) => {
      out.error(
        recordRun(thrown, {
          messages: [...messages, ...content.messages],
          partialText: content.streamed.toString(),
          text: text.toString() + content.text.toString() + content.streamed.toString(),
          thinking: thinking.toString() + content.thinking.toString(),
          usage: addUsage(addUsage(usage, content.usage), usageOfError(thrown)),
          turn: last && !last.next ? last.turn : (last ?? start ?? { turn: 0 }).turn + 1,
          ...(orchestrator === undefined ? {} : { orchestrator }),
          ...promptsField(unjoined()),
        }),
      );
    };
    return {
      error: fail,
      next(event) {
        const known = asKnownEvent(event);
        switch (known.type) {
          case 'text':
            content.streamed.add(known.text);
            break;
          case 'thinking':
            content.thinking.add(known.text);
            break;
          case 'message':
            content.addMessage(known.message);
            break;
          case 'metadata':
            content.metadata.add(known.metadata);
            break;
          case 'retract':
            content = new TurnContent(
              metadataOfRetracted(content.metadata.metadata),
              addUsage(content.usage, known.usage),
            );
            break;
          case 'turn':
            endTurn(known);
            if (checkpoints) break;
            out.next(withoutNext(known));
            return;
          default:
        }
        out.next(event);
      },
      complete() {
        if (last && !last.next) {
          const { output, finishReason, rawReason, turn: turns } = last;
          const result: RunResult = {
            text: text.toString(),
            thinking: thinking.toString(),
            messages,
            output,
            finishReason,
            ...(rawReason === undefined ? {} : { rawReason }),
            usage,
            ...(metadata.metadata ? { metadata: metadata.metadata } : {}),
            turns,
            ...promptsField(unjoined()),
          };
          try {
            check?.(result);
          } catch (thrown) {
            fail(thrown);
            return;
          }
          out.next({ type: 'result', result } as ResultEvent);
        }
        out.complete();
      },
    };
  });
}

const promptsField = (prompts: readonly Message[]) => (prompts.length > 0 ? { prompts } : {});

/** The content of the current turn so far. */
class TurnContent {
  /** The text since the last message. */
  streamed = new StringBuilder();
  /** The text before the last message. */
  readonly text = new StringBuilder();
  readonly thinking = new StringBuilder();
  readonly messages: Message[] = [];

  readonly metadata: MetadataCollector;

  /** @param usage The usage of the retracted attempts at the turn. Its `turn` event includes it. */
  constructor(
    metadata?: Metadata,
    readonly usage?: Usage,
  ) {
    this.metadata = new MetadataCollector(metadata);
  }

  addMessage(message: Message): void {
    this.messages.push(message);
    this.endText(messageText(message));
  }

  /**
   * Adds the streamed text. If it ends with the text of the message, the message's string is kept instead of a second
   * copy. The text before it is the prefix after a tool round.
   */
  endText(ofMessage = ''): void {
    if (this.streamed.length === 0) return;
    const streamed = this.streamed.toString();
    const shared = streamed.endsWith(ofMessage) ? ofMessage : '';
    this.text.add(streamed.slice(0, streamed.length - shared.length));
    this.text.add(shared);
    this.streamed = new StringBuilder();
  }
}
