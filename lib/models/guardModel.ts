import { defer, Subject } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { callModelWrapper } from '../core/callWrapper.js';
import { createOperator } from '../core/createOperator.js';
import { deriveModel } from '../core/deriveModel.js';
import type { ToolCallEvent } from '../core/event.js';
import type { Model } from '../core/model.js';
import { requireAnswer, requireNumber } from '../core/options.js';
import { setUsageOfError } from '../core/usageOfError.js';
import { GuardError } from '../core/runErrors.js';
import type { Usage } from '../core/usage.js';
import { ToolCallAccumulator } from '../operators/accumulate/accumulator.js';
import { stopResponse } from '../core/response.js';
import { namesOf, withToolName } from '../core/toolNames.js';

export interface GuardedText {
  readonly type: 'text';
  /** The whole of `delta`, after at most `window` characters of the text before it. */
  readonly text: string;
  /** The text of the last chunk. */
  readonly delta: string;
  /** The length of the complete text so far. */
  readonly length: number;
}

export type GuardedCall = Pick<ToolCallEvent, 'type' | 'name' | 'arguments'>;

export interface GuardModelOptions {
  /**
   * `end`: the turn ends with the reason `contentFilter` and its text so far; `retract`: nothing of it remains; `fail`:
   * it fails with a `GuardError`, for `retryModel` or `fallback`. Default: `end`.
   */
  readonly whenRejected?: 'end' | 'retract' | 'fail' | undefined;
  /** How many characters before a delta the predicate receives with it: the time is then linear. Default: 10000. */
  readonly window?: number | undefined;
}

/**
 * A model whose text and tool calls are checked while they arrive.
 *
 * <span class="informal">Stops the model as soon as it says what it must not say.</span>
 *
 * ![](../../marbles/guardModel.svg)
 *
 * The predicate receives each delta after the end of the text before it, and each tool call when it is complete. If it
 * returns false, the request is aborted, and the content that it has rejected is not emitted. The finish reason
 * `contentFilter` ends the run, and no tool of the turn is executed: its calls are answered as not executed, so the
 * history stays valid. Thinking is not checked.
 *
 * A word may be cut anywhere, so its first half may have been emitted before the word is recognized. `holdBack` before
 * the guard prevents that: `pipe(pipeModel(holdBack(...)), guardModel(isAllowed))(model)`.
 *
 * ```ts
 * const model = guardModel(openai('gpt-6.1-terra'), (content) =>
 *   content.type === 'text' ? !content.text.includes('BEGIN PRIVATE KEY') : content.name !== 'delete_all',
 * );
 * ```
 *
 * @param model The model. It may be left out.
 * @param isAllowed Returns whether the content is allowed.
 * @param options `whenRejected` (default: `end`), `window` (default: 10000 characters).
 * @returns A model with the provider, the name and the capabilities of `model`. Its streams fail with a GuardError if
 * `whenRejected` is `fail`, and with what `isAllowed` throws. Without `model`, a function of a model, for rxjs's
 * `pipe`.
 */
export function guardModel(model: Model, isAllowed: IsAllowed, options?: GuardModelOptions): Model;
export function guardModel(isAllowed: IsAllowed, options?: GuardModelOptions): (model: Model) => Model;
export function guardModel(...args: readonly unknown[]) {
  return callModelWrapper(args, guarded);
}

type IsAllowed = (content: GuardedText | GuardedCall) => boolean;

function guarded(isAllowed: IsAllowed, { whenRejected = 'end', window = 10_000 }: GuardModelOptions = {}) {
  requireNumber('window', window, 1);
  const check = (reject: Subject<void>, names: ReadonlySet<string>) =>
    createOperator<Chunk, Chunk>((out, source) => {
      const content = new GuardedContent(window);
      let usage: Usage | undefined;
      let rejection: GuardedText | GuardedCall | undefined;
      return {
        next(chunk) {
          const wasRejected = rejection !== undefined;
          const arrived = content.completedBy(chunk).map((each) => withToolName(each, names));
          rejection ??= arrived.find((each) => !requireAnswer('isAllowed', isAllowed(each)));
          if (!rejection) {
            out.next(chunk);
          } else if (chunk.type === 'finish') {
            ({ usage } = chunk);
            source.unsubscribe();
          } else if (!wasRejected) reject.next(); // the response ends with a `finish`, which has the usage
        },
        afterTeardown() {
          if (rejection && whenRejected === 'fail') {
            const error = new GuardError(rejection.type === 'text' ? undefined : rejection.name);
            setUsageOfError(error, usage);
            out.error(error);
            return;
          }
          if (rejection && whenRejected === 'retract') out.next({ type: 'retract' });
          if (rejection)
            out.next({ type: 'finish', reason: 'contentFilter', rawReason: 'guard', ...(usage && { usage }) });
          out.complete();
        },
      };
    });
  return (model: Model) =>
    deriveModel(model, (request) =>
      defer(() => {
        const reject = new Subject<void>();
        return stopResponse(model, request, reject).pipe(check(reject, namesOf(request.tools)));
      }),
    );
}

class GuardedContent {
  private readonly calls = new ToolCallAccumulator();
  private tail = '';
  private length = 0;

  constructor(private readonly window: number) {}

  completedBy(chunk: Chunk): readonly (GuardedText | GuardedCall)[] {
    switch (chunk.type) {
      case 'text':
        return chunk.text === '' ? [] : [this.textWith(chunk.text)];
      case 'toolCallFragment':
        this.calls.addFragment(chunk);
        return this.calls.takeDone().map(toGuarded);
      case 'finish':
        return this.calls.finish(chunk.reason).map(toGuarded);
      case 'retract':
        this.calls.retract();
        this.tail = '';
        this.length = 0;
        return [];
      default:
        return [];
    }
  }

  private textWith(delta: string): GuardedText {
    this.length += delta.length;
    const text = this.tail + delta; // however large the delta is: its beginning is checked too
    this.tail = text.slice(-this.window);
    return { type: 'text', text, delta, length: this.length };
  }
}

const toGuarded = ({ type, name, arguments: args }: ToolCallEvent): GuardedCall => ({ type, name, arguments: args });
