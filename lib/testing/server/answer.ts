import { catchError, concat, concatMap, defer, from, map, of, takeWhile, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { errorText } from '../../core/errors.js';
import { isJsonObject } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { linesFor, play } from '../script.js';
import type { Lines, Script } from '../script.js';
import type { Dialect, DialectWriter, Refusal } from './dialects/dialect.js';
import { bytesOf, framingOf, joined } from './framing.js';
import type { Framing } from './framing.js';
import type { Behaviour, ServedRequest, ServedTurn } from './options.js';

/** A piece of an answer's body, and what happens after it. */
export interface Piece {
  readonly bytes: Uint8Array;
  /** Whether it is a frame, to be counted. */
  readonly frame: boolean;
  readonly then?: 'end' | 'reset' | 'silence';
}

/** What is sent for a request. The last piece, and only that, says what happens after it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Observable<Piece>;
  /** How the bytes of the body are cut into writes. */
  readonly cut?: number | readonly number[];
}

const nothing = bytesOf('');

/** An answer that is no success. */
export function refused(
  dialect: Dialect,
  refusal: Refusal,
  { headers, body }: Pick<Behaviour, 'headers' | 'body'> = {},
): Answer {
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

/** The given frames, as they are. */
export function recorded(dialect: Dialect, behaviour: Behaviour, frames: readonly (string | Uint8Array)[]): Answer {
  const last = frames.length - 1;
  const pieces = frames.map((frame, at): Piece => ({
    bytes: bytesOf(frame),
    frame: true,
    ...(at === last ? { then: 'end' } : {}),
  }));
  return answer(
    dialect,
    behaviour,
    pieces.length > 0 ? from(pieces) : of({ bytes: nothing, frame: false, then: 'end' }),
  );
}

/** What the script says to a request. */
export function scripted(
  dialect: Dialect,
  behaviour: Behaviour,
  script: Script<ServedTurn>,
  turn: number,
  { path, body }: ServedRequest,
): Answer {
  const exchange = { turn, path, body: isJsonObject(body) ? body : ({} as JsonObject) };
  let lines: Lines;
  try {
    lines = linesFor(script, {
      turn,
      body: exchange.body,
      messages: dialect.messages(exchange.body),
      get history() {
        return dialect.history(exchange.body);
      },
    });
  } catch (error) {
    // Not a 5xx: a client would repeat the request, and wait before it does.
    return refused(dialect, { status: 400, type: 'invalid_request_error', code: 'script', message: errorText(error) });
  }
  return answer(
    dialect,
    behaviour,
    defer(() => written(play(lines, turn), dialect.writer(exchange), framingOf(dialect, behaviour))),
  );
}

/** The chunks in the words of the dialect. The last frame is known as the last, so that it can be written together with the end of the body. */
function written(chunks: ReturnType<typeof play>, writer: DialectWriter, framing: Framing): Observable<Piece> {
  const pieces = (frames: ReturnType<DialectWriter['end']>) =>
    frames.map((frame): Piece => ({ bytes: framing.frame(frame), frame: true }));
  const ending = (frames: ReturnType<DialectWriter['end']>): Piece[] => {
    const all = pieces(frames);
    const last = all.pop();
    return [...all, { bytes: joined([last?.bytes ?? nothing, framing.tail]), frame: last !== undefined, then: 'end' }];
  };
  return concat(
    chunks.pipe(map((chunk) => pieces(writer.next(chunk)))),
    defer(() => of(ending(writer.end()))),
  ).pipe(
    catchError((error: unknown) => of(ending(writer.error(error)))),
    concatMap((some) => some),
  );
}

function answer(dialect: Dialect, behaviour: Behaviour, body: Observable<Piece>): Answer {
  return {
    status: behaviour.status ?? 200,
    headers: { 'content-type': dialect.contentType, 'cache-control': 'no-cache', ...behaviour.headers },
    body: paced(broken(body, behaviour), behaviour.delay ?? 0),
    ...(behaviour.cut === undefined ? {} : { cut: behaviour.cut }),
  };
}

function paced(body: Observable<Piece>, delay: number): Observable<Piece> {
  if (delay <= 0) return body;
  return body.pipe(concatMap((piece, at) => (at === 0 ? of(piece) : timer(delay).pipe(map(() => piece)))));
}

/** Ends the body early, in the way that is wished for. */
function broken(body: Observable<Piece>, { reset, silent, endEarly }: Behaviour): Observable<Piece> {
  const wishes = [
    [reset, 'reset'],
    [silent, 'silence'],
    [endEarly, 'end'],
  ] as const;
  const [after, then] = wishes.find(([wish]) => wish !== undefined) ?? [];
  if (after === undefined || then === undefined) return body;
  if (after <= 0) return of({ bytes: nothing, frame: false, then });
  return body.pipe(
    map((piece, at) => (piece.frame && at + 1 === after ? { ...piece, then } : piece)),
    takeWhile((piece) => piece.then === undefined, true),
  );
}
