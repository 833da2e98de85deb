import type { OperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import type { StreamEvent } from '../../core/event.js';
import { ChunkEncoder } from './chunkEncoder.js';
import type { UiMessageChunk } from './chunks.js';
import type { UiMessageStreamOptions } from './options.js';

/**
 * Converts the events of a run to the chunks of the AI SDK's UI message stream, which `useChat` reads.
 *
 * <span class="informal">A `useChat` front end with a Rivulet agent on its server.</span>
 *
 * ![](../../../marbles/toUiMessageStream.svg)
 *
 * A turn is a step. Text and thinking are blocks with an id, and each one is closed, also when the run fails or is
 * stopped. A failure is the chunk `error`, after which the output completes. A stop is `abort`, followed by `finish`
 * with the usage. If the run emits `fragments`, the input of calls is shown while it arrives. The progress of a tool is
 * a preliminary output, a retry is transient data (`data-retry`, for `onData`), a typed output is `data-output`, and a
 * tool that the provider runs is a call with `providerExecuted`. The run of a sub-agent is the preliminary output of
 * its call, as a view; a call of it that waits is a call of the message. Messages that join a run (`prompts`) are not
 * sent.
 *
 * ```ts
 * agent.stream('How warm is it in Oslo?', { fragments: true }).pipe(toUiMessageStream({ tools }));
 * ```
 *
 * @param options `tools`: the tools of the agent, to know those that run in the browser. `messageId`, `continues`,
 * `reasoning`, `sources`, `progress`, `version` (6 for AI SDK 6), `messageMetadata`, `errorText`, `onError`.
 * @returns A function that returns an Observable of chunks. It does not fail.
 */
export function toUiMessageStream<E extends StreamEvent>(
  options: UiMessageStreamOptions = {},
): OperatorFunction<E, UiMessageChunk> {
  return createOperator<E, UiMessageChunk>((out) => {
    const encoder = new ChunkEncoder(options, (chunk) => out.next(chunk));
    encoder.start();
    return {
      next: (event) => encoder.encode(event),
      error(thrown) {
        encoder.fail(thrown);
        out.complete();
      },
      complete() {
        encoder.end();
        out.complete();
      },
    };
  });
}
