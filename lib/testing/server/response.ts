import { catchError, concat, concatMap, defer, from, map, of, takeWhile, type Observable } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import { errorText } from '../../core/errors.js';
import { isJsonObject, type JsonObject } from '../../core/json/json.js';
import { after } from '../../core/timeLimit.js';
import { usageOf, type Usage } from '../../core/usage.js';
import { outputFor, play, type ScriptedOutput, type Script } from '../script.js';
import type { Dialect, DialectFrame, DialectWriter, Refusal } from './dialects/dialect.js';
import { bytesOf, concatBytes, framingOf, type Framing } from './framing.js';
import type { Behaviour, ServedRequest, ServedTurn } from './options.js';
import type { PromptCache } from './promptCache.js';

export interface BodyChunk {
  readonly bytes: Uint8Array;
  readonly frame: boolean;
  readonly then?: 'end' | 'reset' | 'silence';
}

/** Only the last chunk of its body has `then`. */
export interface ServedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Observable<BodyChunk>;
  /** See `Behaviour.cut`. */
  readonly cut?: number | readonly number[];
}

const noBytes = bytesOf('');

export function errorResponse(
  dialect: Dialect,
  refusal: Refusal,
  { headers, body }: Pick<Behaviour, 'headers' | 'body'> = {},
): ServedResponse {
  const content = body ?? dialect.errorBody(refusal);
  return {
    status: refusal.status,
    headers: {
      'content-type': typeof content === 'string' ? 'text/plain; charset=utf-8' : 'application/json',
      ...headers,
    },
    body: of({
      bytes: bytesOf(typeof content === 'string' ? content : JSON.stringify(content)),
      frame: false,
      then: 'end',
    }),
  };
}

export function rawResponse(
  dialect: Dialect,
  behaviour: Behaviour,
  frames: readonly (string | Uint8Array)[],
): ServedResponse {
  const last = frames.length - 1;
  const body = frames.map((frame, at): BodyChunk => ({
    bytes: bytesOf(frame),
    frame: true,
    ...(at === last ? { then: 'end' } : {}),
  }));
  return response(dialect, behaviour, body.length > 0 ? from(body) : of({ bytes: noBytes, frame: false, then: 'end' }));
}

/** It can be played again. */
export interface PlayedTurn {
  readonly turn: number;
  readonly path: string;
  readonly body: JsonObject;
  readonly lines: ScriptedOutput;
  /** Default: the usage of the script stays as it is. */
  readonly promptUsage?: Usage | undefined;
}

export function scriptedResponse(
  dialect: Dialect,
  behaviour: Behaviour,
  script: Script<ServedTurn>,
  turn: number,
  { path, body }: ServedRequest,
  keep: (played: PlayedTurn) => void = () => undefined,
  cache?: PromptCache,
): ServedResponse {
  const exchange = { turn, path, body: isJsonObject(body) ? body : ({} as JsonObject) };
  let lines: ScriptedOutput;
  try {
    lines = outputFor(script, {
      turn,
      body: exchange.body,
      messages: dialect.messages(exchange.body),
      get history() {
        return dialect.history(exchange.body);
      },
    });
  } catch (error) {
    // Not a 5xx: a client would wait and repeat the request.
    return errorResponse(dialect, {
      status: 400,
      type: 'invalid_request_error',
      code: 'script',
      message: errorText(error),
    });
  }
  const prompt = cache && dialect.promptOf?.(exchange.body);
  const played = { ...exchange, lines, promptUsage: prompt && cache.usageOf(prompt) };
  keep(played);
  return playedResponse(dialect, behaviour, played);
}

export function playedResponse(
  dialect: Dialect,
  behaviour: Behaviour,
  { lines, promptUsage, ...exchange }: PlayedTurn,
  includes: (frame: DialectFrame) => boolean = () => true,
): ServedResponse {
  return response(
    dialect,
    behaviour,
    defer(() => {
      const complete = dialect.writer(exchange);
      const writer: DialectWriter = {
        next: (chunk) => complete.next(withPromptUsage(chunk, promptUsage)).filter(includes),
        error: (thrown) => complete.error(thrown).filter(includes),
        end: () => complete.end().filter(includes),
      };
      return encodeChunks(play(lines, exchange.turn), writer, framingOf(dialect, behaviour));
    }),
  );
}

function withPromptUsage(chunk: Chunk, promptUsage: Usage | undefined): Chunk {
  if (chunk.type !== 'finish' || !promptUsage) return chunk;
  return { ...chunk, usage: usageOf({ ...chunk.usage, total: undefined, ...promptUsage }) };
}

/** It can be written together with the end of the body. */
function encodeChunks(chunks: ReturnType<typeof play>, writer: DialectWriter, framing: Framing): Observable<BodyChunk> {
  const encode = (frames: ReturnType<DialectWriter['end']>) =>
    frames.map((frame): BodyChunk => ({ bytes: framing.frame(frame), frame: true }));
  const encodeLast = (frames: ReturnType<DialectWriter['end']>): BodyChunk[] => {
    const all = encode(frames);
    const last = all.pop();
    return [
      ...all,
      { bytes: concatBytes([last?.bytes ?? noBytes, framing.tail]), frame: last !== undefined, then: 'end' },
    ];
  };
  return concat(
    chunks.pipe(map((chunk) => encode(writer.next(chunk)))),
    defer(() => of(encodeLast(writer.end()))),
  ).pipe(
    catchError((error: unknown) => of(encodeLast(writer.error(error)))),
    concatMap((bodyChunks) => bodyChunks),
  );
}

function response(dialect: Dialect, behaviour: Behaviour, body: Observable<BodyChunk>): ServedResponse {
  return {
    status: behaviour.status ?? 200,
    headers: { 'content-type': dialect.contentType, 'cache-control': 'no-cache', ...behaviour.headers },
    body: delayFrames(endEarly(body, behaviour), behaviour.delay ?? 0),
    ...(behaviour.cut === undefined ? {} : { cut: behaviour.cut }),
  };
}

function delayFrames(body: Observable<BodyChunk>, delay: number): Observable<BodyChunk> {
  if (delay <= 0) return body;
  return body.pipe(concatMap((chunk, at) => (at === 0 ? of(chunk) : after(delay).pipe(map(() => chunk)))));
}

function endEarly(body: Observable<BodyChunk>, { reset, silent, endEarly: end }: Behaviour): Observable<BodyChunk> {
  const endings = [
    [reset, 'reset'],
    [silent, 'silence'],
    [end, 'end'],
  ] as const;
  const [after, then] = endings.find(([frames]) => frames !== undefined) ?? [];
  if (after === undefined || then === undefined) return body;
  if (after <= 0) return of({ bytes: noBytes, frame: false, then });
  return body.pipe(
    map((chunk, at) => (chunk.frame && at + 1 === after ? { ...chunk, then } : chunk)),
    takeWhile((chunk) => chunk.then === undefined, true),
  );
}
