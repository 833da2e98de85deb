import { concat, defer, EMPTY, filter, NEVER, throwError, type Observable } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import { StreamInterruptedError, recordingError } from '../../core/errors.js';
import { nonEmptyString, type JsonObject } from '../../core/json/json.js';
import { obeyStop } from '../../core/response.js';
import type { RunEvent } from '../../core/event.js';
import type { Model } from '../../core/model.js';
import type { RequestEndEntry } from './entries.js';
import { withArguments } from './maskedArguments.js';
import type { RecordedRequest, RecordedRun, RecordedStep, RunRecording } from './readRecording.js';
import { playMoments, ReplayClock, type Moment, type ReplayOptions } from './timeline.js';

/**
 * A model that emits what a recording contains, with its times.
 *
 * <span class="informal">Yesterday's answers, again and again.</span>
 *
 * The first request receives the chunks of the first recorded request, whatever it asks for, and so on. A request that
 * failed fails again with an error of the same name, code and message. One that was unsubscribed stays open after its
 * last chunk, and one whose recording was cut off fails with a StreamInterruptedError.
 *
 * The order of what was recorded in the same millisecond is kept. In a TestScheduler's `run`, the times are virtual.
 *
 * ```ts
 * const recording = readRecording(await readFile('runs.jsonl', 'utf8'));
 * const agent = createAgent({ model: replay(recording, { speed: 4 }), tools: [weather] });
 * ```
 *
 * @param recording A recording of `record` or `recordRun`.
 * @param options `run` (default: 1, the first one), `speed` (default: 1; Infinity does not wait), `scheduler` (default:
 * `asyncScheduler`).
 * @returns A model with the provider and the name of the recorded one. A request after the last recorded one fails with
 * a ConfigurationError.
 * @throws ConfigurationError `recording` if it has no such run; `options` if `speed` is not positive.
 */
export function replay(recording: RunRecording, options: ReplayOptions = {}): Model {
  const run = runOf(recording, options);
  return replayModel(run, new ReplayClock(originOf(run), options));
}

/**
 * Emits the events of a recorded run at their times, without an agent: for a view, or for an operator.
 *
 * <span class="informal">A film of the run.</span>
 *
 * ```ts
 * replayEvents(readRecording(text), { speed: 2 }).pipe(toView()).subscribe(render);
 * ```
 *
 * @param recording A recording of `recordRun`; of `record`, for the chunks of all requests.
 * @param options `run` (default: 1, the first one), `speed` (default: 1; Infinity does not wait), `scheduler` (default:
 * `asyncScheduler`).
 * @returns A cold Observable of the events. It fails as the run failed, and completes when the run was unsubscribed.
 * @throws ConfigurationError `recording` if it has no such run; `options` if `speed` is not positive.
 */
export function replayEvents(recording: RunRecording, options: ReplayOptions = {}): Observable<RunEvent> {
  const run = runOf(recording, options);
  const isModel = run.start.kind === 'model';
  const moments = run.steps.flatMap((step): readonly Moment<RunEvent | undefined>[] => {
    const { entry } = step;
    if (entry.type === 'end') return [{ step, value: undefined }];
    const isEmitted = entry.type === 'both' || entry.type === (isModel ? 'chunk' : 'event');
    return isEmitted ? [{ step, value: entry.value as RunEvent }] : [];
  });
  return defer(() => {
    const events = playMoments(originOf(run), moments, new ReplayClock(originOf(run), options));
    const end =
      isModel || run.end?.outcome === 'unsubscribed'
        ? EMPTY
        : endOf(run.requests[0]?.entry.model.provider ?? 'recording', run.end);
    return concat(events.pipe(filter((event) => event !== undefined)), end);
  });
}

export function runOf({ runs }: RunRecording, { run: number = 1 }: Pick<ReplayOptions, 'run'>): RecordedRun {
  const run = typeof number === 'number' ? runs[number - 1] : undefined;
  if (run) return withArguments(run);
  throw recordingError(
    `The recording has ${runs.length} runs, and this is run ${number}.`,
    runs.length === 0 ? 'Record one with recordRun or record.' : `Pass a number from 1 to ${runs.length}.`,
  );
}

export const originOf = ({ start, steps }: RecordedRun) => ({
  at: start.at,
  position: (steps[0]?.position ?? 1) - 1,
});

export function replayModel(run: RecordedRun, clock: ReplayClock): Model {
  const { provider, name } = run.requests[0]?.entry.model ?? { provider: 'recording', name: 'recording' };
  const played = playedRequests(run);
  let sent = 0;
  return {
    provider,
    name,
    stream: obeyStop(() =>
      defer(() => {
        const request = run.requests[sent++];
        const steps = request && played.get(request.entry.request);
        return steps ? playRequest(request, steps, clock) : throwError(() => noRequest(run.requests.length, sent));
      }),
    ),
  };
}

const noRequest = (recorded: number, sent: number) =>
  recordingError(
    `The recording has ${recorded} requests, and this is request ${sent}.`,
    'Find out why there is another request: the run has left the recorded one.',
  );

function playRequest({ entry, end }: RecordedRequest, played: PlayedRequest, clock: ReplayClock): Observable<Chunk> {
  const { origin, moments } = played;
  const chunks = playMoments(origin, moments, clock).pipe(filter((chunk) => chunk !== undefined));
  return concat(chunks, endOf(entry.model.provider, end));
}

function endOf(provider: string, end: Pick<RequestEndEntry, 'outcome' | 'error'> | undefined): Observable<never> {
  switch (end?.outcome) {
    case 'completed':
      return EMPTY;
    case 'failed':
      return throwError(() => replayedError(end.error ?? {}));
    case 'unsubscribed':
      return NEVER; // it was open when it was unsubscribed
    default:
      return throwError(() => new StreamInterruptedError(provider, 'The recording of this response ends here.'));
  }
}

/** Of the user or of a tool: a later chunk is not emitted before such a step. */
function isOutsideStep({ entry }: RecordedStep): boolean {
  switch (entry.type) {
    case 'stop':
    case 'prompt':
      return true;
    case 'event':
      return ['toolStart', 'toolProgress', 'toolUsage', 'nested', 'toolResult'].includes(entry.value.type);
    default:
      return false;
  }
}

/** `undefined` is the end of the request. */
interface PlayedRequest {
  readonly origin: RecordedStep;
  readonly moments: readonly Moment<Chunk | undefined>[];
}

interface OpenRequest extends PlayedRequest {
  readonly moments: Moment<Chunk | undefined>[];
  previous?: Moment<Chunk>['step'];
  outside: number;
}

/** Chunks of one time with nothing in between get consecutive positions, and are emitted together. */
function playedRequests({ steps }: RecordedRun): ReadonlyMap<number, PlayedRequest> {
  const requests = new Map<number, OpenRequest>();
  let outside = 0;
  for (const step of steps) {
    const { entry, at } = step;
    if (isOutsideStep(step)) outside += 1;
    if (entry.type === 'request') requests.set(entry.request, { origin: step, moments: [], outside });
    const request = 'request' in entry ? requests.get(entry.request) : undefined;
    if (!request) continue;
    if (entry.type === 'requestEnd') request.moments.push({ step, value: undefined });
    if (entry.type !== 'chunk' && entry.type !== 'both') continue;
    const { previous } = request;
    const isTogether = previous?.at === at && request.outside === outside;
    request.previous = { at, position: isTogether ? previous.position + 1 : step.position };
    request.outside = outside;
    request.moments.push({ step: request.previous, value: entry.value as Chunk });
  }
  return requests;
}

function replayedError(json: JsonObject): Error {
  const message = nonEmptyString(json['message']) ?? 'The recorded request failed.';
  const error = new Error(message);
  for (const [field, value] of Object.entries(json)) Reflect.set(error, field, value);
  return Object.defineProperty(error, 'toJSON', { value: () => json });
}
