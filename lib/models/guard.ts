import { defer, Subject, takeUntil } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import { deriveModel } from '../core/deriveModel.js';
import type { ToolCallEvent } from '../core/event.js';
import type { Model } from '../core/model.js';
import { requireNumber } from '../core/options.js';
import { collectRemainder, setUsageOfError } from '../core/remainder.js';
import type { Remainder } from '../core/remainder.js';
import { GuardError } from '../core/runErrors.js';
import { ToolCallAccumulator } from '../operators/toolCalls/accumulator.js';

/** The text of a response so far. */
export interface GuardedText {
  readonly type: 'text';
  /** The end of the text so far, with `delta`: at most `window` characters. */
  readonly text: string;
  /** What has been added. */
  readonly delta: string;
  /** The length of the complete text so far. */
  readonly length: number;
}

/** A complete tool call, before anything is executed. */
export type GuardedCall = Pick<ToolCallEvent, 'type' | 'name' | 'arguments'>;

/** Options of `guard`. */
export interface GuardOptions {
  /**
   * What becomes of a turn with content that is not allowed. `end`: it ends with the finish reason `contentFilter`, and
   * keeps the text before that content. `retract`: the same, and nothing of the turn remains. `fail`: it fails with a
   * `GuardError`, so that `retryTurn` starts it over, or `fallback` asks the next model. Default: `end`.
   */
  readonly whenRejected?: 'end' | 'retract' | 'fail' | undefined;
  /**
   * How much of the text the predicate receives, in characters. With a limit, the time is linear in the length of the
   * text. Default: 10000.
   */
  readonly window?: number | undefined;
}

/**
 * A model whose text and tool calls are checked while they arrive.
 *
 * <span class="informal">Stops the model as soon as it says what it must not say.</span>
 *
 * ![](../../marbles/guard.svg)
 *
 * The predicate receives the text so far with each delta, and each tool call when it is complete. If it returns false,
 * the request is aborted, and the content that it has rejected is not emitted. The finish reason `contentFilter` ends
 * the run, and no tool of the turn is executed: its calls are answered as not executed, so the history stays valid.
 *
 * A word may be cut anywhere, so its first half may have been emitted before the word is recognized. `holdBack` before
 * the guard prevents that: `guard(withOperators(model, holdBack(...)), isAllowed)`.
 *
 * ```ts
 * const model = guard(openai('gpt-6.1-terra'), (content) =>
 *   content.type === 'text' ? !content.text.includes('BEGIN PRIVATE KEY') : content.name !== 'delete_all',
 * );
 * ```
 *
 * @param model The model.
 * @param isAllowed Returns whether the content is allowed.
 * @param options `whenRejected` (default: `end`), `window` (default: 10000 characters).
 * @returns A model with the provider, the name and the capabilities of `model`. Its streams error with a GuardError if
 * `whenRejected` is `fail`, and with what `isAllowed` throws.
 */
export function guard(
  model: Model,
  isAllowed: (content: GuardedText | GuardedCall) => boolean,
  { whenRejected = 'end', window = 10_000 }: GuardOptions = {},
): Model {
  requireNumber('window', window, 1);
  const checked = (source: Observable<Chunk>) =>
    defer(() => {
      const rejected = new Subject<void>();
      const check = checkChunks(isAllowed, window, whenRejected, rejected);
      return check(source.pipe(takeUntil(rejected)));
    });
  return deriveModel(model, (request) => model.stream(request).pipe(checked));
}

function checkChunks(
  isAllowed: (content: GuardedText | GuardedCall) => boolean,
  window: number,
  whenRejected: NonNullable<GuardOptions['whenRejected']>,
  rejected: Subject<void>,
): MonoTypeOperatorFunction<Chunk> {
  return createOperator((out) => {
    const calls = new ToolCallAccumulator();
    const remainder: Remainder = { chunks: [], usage: undefined };
    let tail = '';
    let length = 0;
    let rejection: GuardedText | GuardedCall | undefined;

    const textSoFar = (delta: string): GuardedText => {
      length += delta.length;
      tail = (tail + delta).slice(-window);
      return { type: 'text', text: tail, delta, length };
    };
    const toGuarded = ({ type, name, arguments: args }: ToolCallEvent): GuardedCall => ({
      type,
      name,
      arguments: args,
    });
    /** What a chunk completes. */
    const contentOf = (chunk: Chunk): readonly (GuardedText | GuardedCall)[] => {
      switch (chunk.type) {
        case 'text':
          return chunk.text === '' ? [] : [textSoFar(chunk.text)];
        case 'toolCallFragment':
          calls.add(chunk);
          return calls.takeDone().map(toGuarded);
        case 'finish':
          return calls.finish(chunk.reason).map(toGuarded);
        case 'retract':
          calls.retract();
          [tail, length] = ['', 0];
          return [];
        default:
          return [];
      }
    };
    return {
      next(chunk) {
        rejection = contentOf(chunk).find((content) => !isAllowed(content));
        if (!rejection) {
          out.next(chunk);
          return;
        }
        if (chunk.type === 'finish') remainder.usage = chunk.usage;
        collectRemainder(remainder, () => rejected.next());
      },
      afterTeardown() {
        const { usage } = remainder;
        if (rejection && whenRejected === 'fail') {
          const error = new GuardError(rejection.type === 'text' ? undefined : rejection.name);
          setUsageOfError(error, usage);
          out.error(error);
          return;
        }
        if (rejection && whenRejected === 'retract') out.next({ type: 'retract' });
        if (rejection)
          out.next({ type: 'finish', reason: 'contentFilter', rawReason: 'guard', ...(usage ? { usage } : {}) });
        out.complete();
      },
    };
  });
}
