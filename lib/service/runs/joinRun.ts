import { throwError, type Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import type { Runs } from './createRuns.js';
import { RunNotFoundError } from './runErrors.js';
import { RUN_ID_HEADER } from '../../transport/fromServerSentEvents.js';
import { isUnguessable } from '../../transport/randomId.js';
import { shareRun } from './shareRun.js';
import type { SharedRun } from './sharedRun.js';

/** The headers of a request: of `node:http`, or of the web. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>> | Headers;

/** A run, and where its reader continues. */
export interface JoinedRun<E extends StreamEvent> {
  /** The id of the run, for `runs.stop`; undefined if the run does not exist. */
  readonly id: string | undefined;
  readonly run: SharedRun<E>;
  /** The `Last-Event-ID` of the request: pass it to `runResponse`. */
  readonly after: string | undefined;
}

/**
 * Starts the run that a request of `fromServerSentEvents` asks for, or joins it if the client has connected again.
 *
 * <span class="informal">A repeated request never asks the question twice.</span>
 *
 * What the client has missed comes from the log of the run (`lateReader.ts`).
 *
 * ```ts
 * const { run, after } = joinRun(runs, request.headers, (stop) => agent.stream(input, { stop }));
 * return runResponse(run, { after });
 * ```
 *
 * @param runs The registry of the service.
 * @param headers The headers of the request. An id that is neither a UUID nor 32 hexadecimal digits could be guessed:
 * it is ignored.
 * @param create Creates the run, if it does not exist. It receives the notifier that `runs.stop(id)` triggers. If it
 * throws, the run fails with that error.
 * @returns The run. If the client asks to continue a run that does not exist, it fails with a RunNotFoundError.
 */
export function joinRun<E extends StreamEvent>(
  runs: Runs,
  headers: RequestHeaders,
  create: (stop: Observable<void>) => Observable<E>,
): JoinedRun<E> {
  const id = readHeader(headers, RUN_ID_HEADER);
  const after = readHeader(headers, 'last-event-id');
  const safeId = isUnguessable(id) ? id : undefined;
  if (after !== undefined && (safeId === undefined || !runs.get(safeId)))
    return { id: undefined, run: shareRun(throwError(() => new RunNotFoundError())), after: undefined };
  return { ...runs.start(create, safeId), after };
}

function readHeader(headers: RequestHeaders, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(name) : (headers as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}
