import { defer, throwError, timeout as limitSilence, type Observable } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import { isRecord, tryParseJson } from '../../core/json/json.js';
import { MAX_TIMER_DELAY, requireNumbers, requireSync } from '../../core/options.js';
import { quoted, textError } from '../../protocol/errorDetails.js';
import { providerFailures } from '../../protocol/errorResponse.js';
import { post } from '../../protocol/post.js';
import { mergeHeaders } from '../../protocol/request.js';
import { createSseReader } from '../../protocol/sse.js';
import { AG_UI_VERSION } from '../../transport/agUi/marks.js';
import type { AgUiChunk, AgUiEvent, AgUiOtherEvent, RunAgentInput } from '../../transport/agUi/protocol.js';
import { answerTimeout, SilentError } from '../../transport/pageFetch.js';
import { notAnEvent } from './decoder.js';

/** The request that `fetchAgUi` sends. */
export type AgUiRequest = Pick<RunAgentInput, 'threadId' | 'runId' | 'messages'> & Partial<RunAgentInput>;

/** Options of `fetchAgUi`. */
export interface FetchAgUiOptions {
  /** The headers, or a function that returns them at each subscription (a fresh token). Default: none. */
  readonly headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>) | undefined;
  /**
   * How long the server may be silent, in milliseconds: until its `first` bytes, and between `each` two of them.
   * Default: 30000, with 100 for each KB of the request, and 300000: some servers send nothing while a tool runs.
   */
  readonly timeout?: { readonly first?: number | undefined; readonly each?: number | undefined } | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** The longest silence within a response, in milliseconds. */
const LONGEST_SILENCE = 300_000;

/**
 * Starts a run at a server that speaks AG-UI, and emits its events as they arrive.
 *
 * <span class="informal">`fromFetch` for AG-UI.</span>
 *
 * Cold: each subscription is a POST. Unsubscribing closes the connection in the same tick, which aborts the run. A
 * failed request is not retried: the run would start twice.
 *
 * ```ts
 * const messages = [{ id: crypto.randomUUID(), role: 'user', content: 'Hello' }] as const;
 * fetchAgUi(url, { threadId, runId: crypto.randomUUID(), messages })
 *   .pipe(fromAgUi({ messages }), takeUntilDestroyed(), toView())
 *   .subscribe(show);
 * ```
 *
 * @param url The URL of the server.
 * @param request `threadId`, `runId` (another one for each run), `messages`; `tools`, `context`, `state`, `resume`.
 * @param options `headers` (default: none), `timeout` (default: 30 s until the first bytes, 5 minutes between two),
 * `fetch`.
 * @returns The events. It fails with an HttpError, a ConnectionError, a StreamInterruptedError, also if the server is
 * silent, and a ProtocolError if it sends something that is not an event.
 */
export function fetchAgUi(
  url: string,
  request: AgUiRequest,
  { headers = {}, timeout = {}, fetch }: FetchAgUiOptions = {},
): Observable<AgUiEvent | AgUiChunk | AgUiOtherEvent> {
  requireNumbers({ 'timeout.first': timeout.first, 'timeout.each': timeout.each }, 0);
  return defer(() => {
    const body = JSON.stringify({ protocolVersion: AG_UI_VERSION, tools: [], context: [], ...request });
    const { first = answerTimeout(body), each = LONGEST_SILENCE } = timeout;
    return post({
      provider: 'the AG-UI server',
      url,
      headers: mergeHeaders(
        { 'content-type': 'application/json' },
        typeof headers === 'function' ? requireSync('headers', headers()) : headers,
      ),
      body,
      accept: 'text/event-stream',
      fetch,
      failures: providerFailures(),
    }).pipe(
      limitSilence({
        first: Math.min(first, MAX_TIMER_DELAY),
        each: Math.min(each, MAX_TIMER_DELAY),
        with: () => throwError(() => new SilentError()),
      }),
      readEvents(),
    );
  });
}

function readEvents() {
  return createOperator<Uint8Array, AgUiEvent | AgUiChunk | AgUiOtherEvent>((out) => {
    const reader = createSseReader({ provider: 'the AG-UI server', toError: textError, quote: quoted }, ({ data }) =>
      out.next(parseEvent(data)),
    );
    return {
      next: (bytes) => reader.push(bytes),
      complete() {
        reader.end();
        out.complete();
      },
    };
  });
}

function parseEvent(data: string): AgUiEvent {
  const event = tryParseJson(data);
  if (isRecord(event) && typeof event['type'] === 'string') return event as unknown as AgUiEvent;
  throw notAnEvent(data);
}
