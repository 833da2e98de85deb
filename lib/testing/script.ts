import { concatMap, from, ignoreElements, isObservable, of, throwError, type Observable } from 'rxjs';
import type { Chunk, FinishChunk, ToolCallFragment } from '../core/chunk.js';
import { ConfigurationError } from '../core/errors.js';
import type { JsonObject } from '../core/json/json.js';
import { after } from '../core/timeLimit.js';
import type { OfType } from '../core/typesOf.js';

/**
 * A step of a scripted model: a text, any chunk, a pause of `delay` milliseconds (virtual in a `TestScheduler`), or a
 * failure.
 *
 * A server cannot throw an `Error`: it sends the error frame of its dialect, with the message, and ends the response
 * there.
 */
export type Step = string | Chunk | { readonly delay: number } | { readonly error: Error };

/**
 * A text, steps, or an Observable of chunks (`cold()` of a `TestScheduler`, a `Subject`). A text or steps need no
 * `finish`: the turn finishes with `toolCalls` if there were calls, otherwise with `stop`. An Observable is used
 * unchanged, so it can break the contract of a model, for example complete without `finish`.
 */
export type ScriptedOutput = string | readonly Step[] | Observable<Chunk>;

/**
 * The minimum that the functions of a script receive. A function that uses nothing else works for the scripted model
 * and for the server.
 */
export interface ScriptRequest {
  /** The number of the request, from 1. */
  readonly turn: number;
}

/** The output of a model in one turn, or a function of the request that returns it. */
export type ScriptedTurn<R extends ScriptRequest = ScriptRequest> = ScriptedOutput | ((request: R) => ScriptedTurn<R>);

/**
 * The outputs of a model: an array of turns (the first request receives the first turn), or one function of the
 * request. A request after the last turn is an error.
 */
export type Script<R extends ScriptRequest = ScriptRequest> =
  | readonly ScriptedTurn<R>[]
  | ((request: R) => ScriptedTurn<R>);

/**
 * Creates a complete tool call, as one chunk.
 *
 * ```ts
 * scriptedModel([[toolCall('add', { a: 1, b: 2 })], 'That makes 3.']);
 * ```
 *
 * @param name The tool.
 * @param args Its arguments. Default: `{}`.
 * @param id The id of the call. Default: a script numbers its calls `call_1_1` (turn and call), so that specs can name
 * them. `''` is a call without an id: several providers send such calls.
 */
export function toolCall(name: string, args: JsonObject = {}, id?: string): OfType<Chunk, 'toolCallFragment'> {
  return { type: 'toolCallFragment', ...(id === undefined ? {} : { id }), name, arguments: args, done: true };
}

export function outputFor<R extends ScriptRequest>(script: Script<R>, request: R): ScriptedOutput {
  let output = typeof script === 'function' ? script(request) : script[request.turn - 1];
  while (typeof output === 'function') output = output(request);
  if (output !== undefined) return output;
  const turns = script.length === 1 ? 'one turn' : `${script.length} turns`;
  throw new ConfigurationError(
    'script',
    `The script has ${turns}, and this is request ${request.turn}.`,
    'Add a turn, or find out why there is another request.',
  );
}

/** Synchronous, unless a `delay` or an Observable waits. */
export function play(output: ScriptedOutput, turn: number): Observable<Chunk> {
  if (isObservable(output)) return output;
  const steps = typeof output === 'string' ? [output] : output;
  return from(completeSteps(steps, turn)).pipe(concatMap(perform));
}

function perform(step: Exclude<Step, string>): Observable<Chunk> {
  if ('type' in step) return of(step);
  return 'delay' in step ? after(step.delay).pipe(ignoreElements()) : throwError(() => step.error);
}

function completeSteps(steps: readonly Step[], turn: number): Exclude<Step, string>[] {
  let calls = 0;
  const completed = steps.map((step) => {
    if (typeof step === 'string') return { type: 'text', text: step } as const;
    return isCompleteCall(step) && step.id === undefined ? { ...step, id: `call_${turn}_${++calls}` } : step;
  });
  const hasFinish = completed.some((step) => 'type' in step && step.type === 'finish');
  return hasFinish ? completed : [...completed, finishOf(completed)];
}

const isCompleteCall = (step: Exclude<Step, string>): step is ToolCallFragment =>
  'type' in step && step.type === 'toolCallFragment' && step.done === true && typeof step.arguments === 'object';

function finishOf(steps: readonly Exclude<Step, string>[]): FinishChunk {
  const types = steps.map((step) => ('type' in step ? step.type : undefined));
  const notRetracted = types.slice(types.lastIndexOf('retract') + 1);
  return { type: 'finish', reason: notRetracted.includes('toolCallFragment') ? 'toolCalls' : 'stop' };
}
