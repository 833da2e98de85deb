import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import type { SharedRun } from '../runs/sharedRun.js';
import { createResponse, type RunFormat } from '../http/runResponse.js';
import { ChunkEncoder } from './chunkEncoder.js';
import type { UiMessageStreamOptions } from './options.js';

export interface UiMessageResponseOptions extends UiMessageStreamOptions {
  /** More headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * After how many milliseconds without a chunk a comment is sent, so that proxies keep the connection open. Default:
   * 15000. `false`: none are sent.
   */
  readonly heartbeat?: number | false | undefined;
}

export interface EarlierEvents {
  readonly events: readonly StreamEvent[];
  readonly isSent: boolean;
}

/**
 * Creates a web `Response` (Hono, Next, Deno, Bun, edge) that sends a run to `useChat`. For Node, Express and Nest,
 * `nodeListener` converts it.
 *
 * The reader of the body sets the speed. Cancelling the body leaves a shared run, and unsubscribes a plain run.
 *
 * ```ts
 * const POST = async (request: Request) => {
 *   const { messages } = fromUiMessages((await request.json()).messages);
 *   return uiMessageResponse(agent.stream(messages, { fragments: true }));
 * };
 * ```
 *
 * @param run A shared run, or the Observable of a run.
 * @param options Those of `toUiMessageStream`; `headers`, `heartbeat` in milliseconds (default: 15000).
 */
export function uiMessageResponse(
  run: SharedRun | Observable<StreamEvent>,
  options: UiMessageResponseOptions = {},
): Response {
  return messageResponse(run, options);
}

/** For a message that began before the run. */
export const messageResponse = (
  run: SharedRun | Observable<StreamEvent>,
  options: UiMessageResponseOptions,
  earlier?: EarlierEvents,
): Response => {
  const headers = { 'x-vercel-ai-ui-message-stream': 'v1', ...options.headers };
  return createResponse(run, uiFormat(options, earlier), { ...options, headers });
};

function uiFormat(options: UiMessageStreamOptions, earlier?: EarlierEvents): RunFormat {
  let text = '';
  const write = (data: string) => (text += `data: ${data}\n\n`);
  const encoder = new ChunkEncoder(options, (chunk) => write(JSON.stringify(chunk)));
  const take = () => {
    const taken = text;
    text = '';
    return taken;
  };
  encoder.encodeEarlier(earlier?.events ?? []);
  const before = take();
  return {
    start() {
      encoder.start();
      if (earlier?.isSent === false) text += before;
      return take();
    },
    event({ event }) {
      encoder.encode(event);
      return take();
    },
    failure(thrown) {
      encoder.fail(thrown);
      write('[DONE]');
      return take();
    },
    end() {
      encoder.end();
      write('[DONE]');
      return take();
    },
  };
}
