import { catchError, concatMap, defer, EMPTY, ignoreElements, map, merge, mergeMap, NEVER, of } from 'rxjs';
import { repeat, retry, Subject, takeUntil, takeWhile, tap, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import type { CallAnswers } from '../core/approval.js';
import { HttpError } from '../core/errors.js';
import { CONNECTED_EVENT, NOTICE_EVENT, type Reconnection } from '../core/connectionEvents.js';
import type { StreamEvent } from '../core/event.js';
import { isRecord, objectOrEmpty, tryParseJson } from '../core/json/json.js';
import { messagesOf } from '../core/input.js';
import { MAX_EARLIER_RUNS } from '../transport/earlierRun.js';
import { isListOf } from '../transport/eventForm.js';
import { noticeOf, type ConversationAgent, type RunNotifiers } from './conversationAgent.js';
import { resumedRuns } from './resumedRuns.js';
import { fromServerSentEvents, RUN_ID_HEADER } from '../transport/fromServerSentEvents.js';
import { fileAddress, filesIn, MAX_PROMPT_BYTES } from '../transport/runFiles.js';
import { textsOf } from '../operators/view/view.js';
import { requireNumber } from '../core/options.js';
import type { Message } from '../core/message.js';
import { addressOf, contentTypeError, createRetryDelay, makeClient, pageFetch } from '../transport/pageFetch.js';
import { requireReconnection, SERVER, statusError, type PageRequestOptions } from '../transport/pageFetch.js';
import type { WaitingPage, WaitingRun } from '../transport/waitingRun.js';
import type { RunRequest } from '../transport/fromServerSentEvents.js';

/** Options of `remoteAgent`. */
export interface RemoteAgentOptions extends PageRequestOptions {
  /**
   * The size of the files of a prompt, in base64, that is refused before it is sent: the `maxBodyBytes` of the service.
   * Default: 20 MiB.
   */
  readonly maxBodyBytes?: number | undefined;
}

/** The first delay before a server is told again about a run that it does not know yet, in milliseconds. It doubles. */
const UNKNOWN_DELAY = 250;

/** How many times a server is told. The request that starts the run may arrive within half a minute. */
const UNKNOWN_COUNT = 8;

/**
 * The agent of a server, for a conversation in a browser.
 *
 * <span class="informal">An agent without a key: its model and its tools are at the server.</span>
 *
 * The server answers with `agentHandler`. It keeps what the model needs of each run (provider data, checkpoints), so
 * the browser sends only the input and the ids of the runs before it. A connection that breaks comes back by itself, as
 * with `fromServerSentEvents`.
 *
 * ```ts
 * const chat = conversation(remoteAgent('/api/chat', { headers: () => ({ authorization: `Bearer ${token()}` }) }));
 * ```
 *
 * @param url The URL of the handler, absolute or relative to the page.
 * @param options `headers` (default: none), `retries` (default: 5), `retryDelay` in milliseconds (default: 1000),
 * `maxBodyBytes` (default: 20 MiB), `fetch`.
 * @returns The agent.
 */
export const remoteAgent = (url: string, options: RemoteAgentOptions = {}): ConversationAgent =>
  makeClient((made) => createRemoteAgent(url, made), options);

function createRemoteAgent(
  url: string,
  { headers, maxBodyBytes = MAX_PROMPT_BYTES, ...options }: RemoteAgentOptions,
): ConversationAgent {
  requireReconnection(options);
  requireNumber('maxBodyBytes', maxBodyBytes, 0);
  const run = (
    id: string,
    body: RunRequest['body'],
    { cancel, prompts = NEVER, given = NEVER, reconnect }: RunNotifiers,
  ): Observable<StreamEvent> =>
    defer(() => {
      const notices = new Subject<StreamEvent>();
      const ended = new Subject<void>();
      let resumed = body?.['resume'];
      const onReconnect = (reconnection: Reconnection) => notices.next({ type: 'reconnecting', ...reconnection });
      const events = fromServerSentEvents<StreamEvent>(
        url,
        { id, body, headers },
        { ...options, joins: true, onReconnect, onConnect: () => notices.next({ type: CONNECTED_EVENT }), reconnect },
      );
      const cancelled = cancel.pipe(
        mergeMap((call) => tell(id, addressOf(url, { call }), { method: 'DELETE' })),
        catchError((thrown: unknown) => of({ type: NOTICE_EVENT, notice: noticeOf('not_cancelled', thrown) })),
      );
      const patch = (body: object) => tell(id, url, { method: 'PATCH', body: JSON.stringify(body) });
      // The conversation sends what the run has not taken after it.
      const prompted = prompts.pipe(
        concatMap((input) => patch({ input: messagesOf(input) })),
        catchError(() => EMPTY),
      );
      // One that has not arrived (also at a redirect), or comes as the run ends (409), is sent again after it.
      const refused = (answers: CallAnswers) => (thrown: unknown) =>
        thrown instanceof HttpError && !thrown.retryable && thrown.status >= 400 && thrown.status !== 409
          ? of({ type: NOTICE_EVENT, notice: noticeOf('not_answered', thrown), refused: answers })
          : EMPTY;
      const answered = given.pipe(mergeMap((answers) => patch(answers).pipe(catchError(refused(answers)))));
      const next = () => {
        if (typeof resumed === 'string') resumedRuns.next(resumed);
        resumed = undefined;
      };
      const told = events.pipe(tap({ next, complete: () => ended.next() }));
      return merge(notices, told, cancelled, prompted, answered).pipe(takeUntil(ended));
    });
  /**
   * Asks the server to stop a run, to cancel a call of it, or to add a prompt. A request that fails is retried. If the
   * server does not know the run (404), it is repeated for half a minute: the request that starts the run may arrive
   * later. Emits nothing; the events of the run show what it does.
   */
  const tell = (
    id: string,
    address: string,
    request: { readonly method: string; readonly body?: string },
  ): Observable<never> =>
    pageFetch({ ...options, headers }, address, {
      ...request,
      headers: { ...(request.body ? { 'content-type': 'application/json' } : {}), [RUN_ID_HEADER]: id },
    }).pipe(
      tap(([response, text]) => {
        if (!response.ok && response.status !== 404) throw statusError(response, text);
      }),
      retry({ delay: createRetryDelay({ ...options, headers }) }),
      repeat({ count: UNKNOWN_COUNT, delay: (count) => timer(UNKNOWN_DELAY * 2 ** (count - 1)) }),
      takeWhile(([{ status }]) => status === 404),
      ignoreElements(),
    );
  return {
    stream(prompt, { id, earlier, ...notifiers }) {
      const input = messagesOf(prompt);
      const size = sizeOfFiles(input);
      if (size > maxBodyBytes) return throwError(() => tooLarge(size, maxBodyBytes));
      const history = earlier.slice(-MAX_EARLIER_RUNS);
      // The files of prompts that have not arrived must not keep this one from the service.
      const isLong = size + sizeOfFiles(history.flatMap((before) => before.input)) > maxBodyBytes;
      const sent = isLong ? history.map((before) => ({ ...before, input: textsOf(before.input) })) : history;
      return run(id, { input, history: sent }, notifiers);
    },
    resume: (_, { id, earlier, decisions, results, errors, ...notifiers }) =>
      run(id, { resume: earlier.at(-1)?.id, decisions, results, errors }, notifiers),
    join: (id, notifiers) => run(id, {}, notifiers),
    stop: (id) => tell(id, url, { method: 'DELETE' }),
    waiting: () => waitingRuns(url, { ...options, headers }),
    fileAddress: (file) => fileAddress(url, file),
  };
}

const waitingRuns = (url: string, options: PageRequestOptions, cursor?: string): Observable<readonly WaitingRun[]> =>
  pageFetch(options, addressOf(url, { state: 'waiting', ...(cursor && { cursor }) }), { method: 'GET' }).pipe(
    map(([response, text]) => {
      if (!response.ok) throw statusError(response, text);
      const list = objectOrEmpty(tryParseJson(text));
      if (!isListOf(list['runs'], isRecord)) throw contentTypeError(response, 'a list of runs');
      return list as unknown as WaitingPage;
    }),
    retry({ delay: createRetryDelay(options) }),
    concatMap(({ runs, next }) =>
      next ? waitingRuns(url, options, next).pipe(map((rest) => [...runs, ...rest])) : of(runs),
    ),
  );

const sizeOfFiles = (messages: readonly Message[]): number =>
  filesIn(messages).reduce((sum, { data = '' }) => sum + data.length, 0);

function tooLarge(size: number, max: number): HttpError {
  const [all, most] = [size, max].map((bytes) => Math.ceil(bytes / 1e5) / 10);
  const message = `The files of this message have ${all} MB, at most ${most} MB can be sent. Attach fewer or smaller.`;
  const named = { providerCode: 'files_too_large', params: { size, max } };
  return new HttpError(message, { provider: SERVER, status: 413, retryable: false, ...named });
}
