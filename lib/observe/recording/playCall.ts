import { concatMap, defer, EMPTY, noop, of, throwError, type Observable } from 'rxjs';
import type { WaitingCall } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { RunEvent } from '../../core/event.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { ToolErrorCode } from '../../core/message.js';
import { innermost, type OuterRun } from '../../core/nested.js';
import { progress } from '../../core/progress.js';
import type { ToolContext } from '../../core/tool.js';
import type { Usage } from '../../core/usage.js';
import { ToolFailure } from '../../operators/execute/toolFailure.js';

/**
 * What a tool emitted, as the events of its call have it. `checkpoint` means that a run inside of it has changed the
 * checkpoint of the run, and `toolSuspended` that calls of its agent wait.
 */
export type CallOutput =
  | { readonly type: 'toolProgress'; readonly value: JsonValue }
  | { readonly type: 'toolUsage'; readonly usage: Usage }
  | { readonly type: 'nested'; readonly event: RunEvent }
  | { readonly type: 'checkpoint' }
  | { readonly type: 'toolSuspended'; readonly waiting: readonly WaitingCall[] }
  | { readonly type: 'toolResult'; readonly result: JsonValue }
  | {
      readonly type: 'toolResult';
      readonly error: string;
      readonly code?: ToolErrorCode | undefined;
      readonly data?: JsonObject | undefined;
      readonly reason?: string | undefined;
    };

/**
 * What `execute` of a tool returns so that its call emits these events again: progress, usage, the events of an agent
 * that the tool runs, and a result or an error. For the specs that `writeSpec` writes.
 *
 * ```ts
 * execute: (_args, context) =>
 *   playCall(
 *     playMarbles<CallOutput>('100ms a 200ms (b|)', {
 *       a: [{ type: 'toolProgress', value: 'asking the station' }],
 *       b: [{ type: 'toolResult', result: { celsius: -3 } }],
 *     }),
 *     context,
 *   );
 * ```
 *
 * @param outputs The events, without the id and the name of the call.
 * @param context The context of the call, the second argument of `execute`.
 * @returns The progress and the result. It fails with the error of a result that has one.
 */
export const playCall = (outputs: Observable<CallOutput>, context: ToolContext): Observable<unknown> =>
  defer(() => {
    const call = new PlayedCall(context);
    return outputs.pipe(concatMap((output) => call.perform(output)));
  });

class PlayedCall {
  private isAsking = false;

  constructor(private readonly context: ToolContext) {}

  perform(output: CallOutput): Observable<unknown> {
    const { usage, outer } = this.context;
    switch (output.type) {
      case 'toolProgress':
        return of(progress(output.value));
      case 'toolUsage':
        usage(output.usage);
        return EMPTY;
      case 'nested':
        if (outer) this.playNested(output.event, outer);
        return EMPTY;
      case 'checkpoint':
        outer?.keep(innerCheckpoint(outer));
        if (this.isAsking) outer?.pause(outer);
        return EMPTY;
      case 'toolSuspended':
        outer?.suspend(innerCheckpoint(outer, output.waiting));
        return EMPTY;
      case 'toolResult':
        return 'result' in output ? of(output.result) : throwError(() => failureOf(output));
    }
  }

  /** The time of a person does not count for the limits. A question is in the checkpoint before the call waits. */
  private playNested(event: RunEvent, outer: OuterRun): void {
    outer.emit(event);
    const known = innermost(event);
    if (known.type === 'toolWaiting' && known.question) {
      this.isAsking = true;
      if (!outer.checkpoints) outer.pause(outer);
    }
    if (known.type !== 'toolStart' && known.type !== 'toolResult') return;
    this.isAsking = false;
    outer.proceed(outer, noop);
  }
}

const failureOf = ({ error, code = 'failed', data, reason }: Extract<CallOutput, { readonly error: string }>) =>
  new ToolFailure(code, error, data, reason);

/** A checkpoint of an inner run that has nothing but calls that wait: the outer run reads only these. */
function innerCheckpoint({ resumed }: OuterRun, waiting: readonly WaitingCall[] = []): Checkpoint {
  const task = resumed?.at(-1)?.checkpoint.task;
  return {
    version: 1,
    orchestrator: 'recording',
    ...(task && { task }),
    state: { messages: [], turn: 0, usage: {} },
    emitted: { text: '', thinking: '', messages: [], needsSeparator: false },
    open: { messages: [], finish: { reason: 'toolCalls' }, results: [], waiting },
  };
}
