import { concatMap, from, ignoreElements, isObservable, of, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Chunk, FinishChunk, ToolCallFragment } from '../core/chunk.js';
import { ConfigurationError } from '../core/errors.js';
import type { JsonObject } from '../core/json/json.js';

/**
 * One thing that a scripted model does: a text, any chunk, a pause of `delay` milliseconds (virtual in a `TestScheduler`), or a failure.
 *
 * A server has no `Error` to throw: it sends the error frame of its dialect, with the message, and ends the answer there.
 */
export type Step = string | Chunk | { readonly delay: number } | { readonly error: Error };

/**
 * What a model says in one turn, in no provider's dialect: a text, steps, or an Observable of chunks (`cold()` of a `TestScheduler`, a `Subject`
 * that a spec drives).
 *
 * A text or steps need no `finish`: without one, the turn finishes with `toolCalls` if there were calls and with `stop` if not. An Observable is
 * taken as it is, so that it can also break the contract of a model: complete without `finish`, for one.
 */
export type Lines = string | readonly Step[] | Observable<Chunk>;

/** What a script's functions get at least. One that needs no more serves the scripted model and the server alike. */
export interface ScriptRequest {
  /** The number of the request, from 1. */
  readonly turn: number;
}

/** What a model says in one turn, or a function of the request that gives it. */
export type ScriptedTurn<R extends ScriptRequest = ScriptRequest> = Lines | ((request: R) => ScriptedTurn<R>);

/**
 * What a model says: a list of turns, of which the first request gets the first, or one function of the request. A request beyond the list is an
 * error that says so.
 */
export type Script<R extends ScriptRequest = ScriptRequest> =
  readonly ScriptedTurn<R>[] | ((request: R) => ScriptedTurn<R>);

/**
 * A whole tool call, as one chunk.
 *
 * ```ts
 * scriptedModel([[call('add', { a: 1, b: 2 })], 'That makes 3.']);
 * ```
 *
 * @param name The tool.
 * @param args Its arguments. Default: none.
 * @param id The id of the call. Default: a script numbers its calls `call_1_1` (turn and call), so that specs can name them. `''` is a call
 * without an id, as several providers send it.
 */
export function toolCall(name: string, args: JsonObject = {}, id?: string): ToolCallFragment {
  return { type: 'toolCallFragment', ...(id === undefined ? {} : { id }), name, arguments: args, done: true };
}

/**
 * Finds what a script says to a request.
 *
 * @throws ConfigurationError `script` when the script has no turn for it; whatever a function of the script throws.
 */
export function linesFor<R extends ScriptRequest>(script: Script<R>, request: R): Lines {
  let lines = typeof script === 'function' ? script(request) : script[request.turn - 1];
  while (typeof lines === 'function') lines = lines(request);
  if (lines !== undefined) return lines;
  throw new ConfigurationError(
    'script',
    `The script has ${script.length === 1 ? 'one turn' : `${script.length} turns`}, and this is request ${request.turn}.`,
    'Add a turn, or find out why the model is asked once more.',
  );
}

/**
 * Plays one turn. Synchronous, unless a `delay` or an Observable makes it wait.
 *
 * @param lines What the model says.
 * @param turn The number of the turn, for the ids of its calls.
 */
export function play(lines: Lines, turn: number): Observable<Chunk> {
  return isObservable(lines)
    ? lines
    : from(whole(typeof lines === 'string' ? [lines] : lines, turn)).pipe(concatMap(perform));
}

function perform(step: Exclude<Step, string>): Observable<Chunk> {
  if ('type' in step) return of(step);
  return 'delay' in step ? timer(step.delay).pipe(ignoreElements()) : throwError(() => step.error);
}

/** The steps with what may be left out of them: ids of whole calls, the finish. */
function whole(steps: readonly Step[], turn: number): Exclude<Step, string>[] {
  let calls = 0;
  const settled = steps.map((step) => {
    if (typeof step === 'string') return { type: 'text', text: step } as const;
    return isWholeCall(step) && step.id === undefined ? { ...step, id: `call_${turn}_${++calls}` } : step;
  });
  return settled.some((step) => 'type' in step && step.type === 'finish') ? settled : [...settled, finishOf(settled)];
}

const isWholeCall = (step: Exclude<Step, string>): step is ToolCallFragment =>
  'type' in step && step.type === 'toolCallFragment' && step.done === true && typeof step.arguments === 'object';

function finishOf(steps: readonly Exclude<Step, string>[]): FinishChunk {
  const types = steps.map((step) => ('type' in step ? step.type : undefined));
  const valid = types.slice(types.lastIndexOf('retract') + 1);
  return { type: 'finish', reason: valid.includes('toolCallFragment') ? 'toolCalls' : 'stop' };
}
