import { from, mergeMap, of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { errorText } from '../core/errors.js';
import { stateAfter } from '../core/event.js';
import type { RunEvent, RunState, TurnEvent } from '../core/event.js';
import type { JsonValue } from '../core/json/json.js';
import { omitOptionalNulls } from '../core/json/optionalNulls.js';
import { messageText, userMessage } from '../core/message.js';
import type { Message } from '../core/message.js';
import { OutputError } from '../core/runErrors.js';
import { jsonSchemaOf, validate } from '../core/schema.js';
import type { Schema, Validation } from '../core/schema.js';
import type { TurnContext } from './orchestrator.js';

/** A turn of a run with typed output. */
export interface TypedTurn {
  /** The orchestrator's name, for errors. */
  readonly orchestrator: string;
  readonly state: RunState;
  readonly context: TurnContext;
  readonly schema: Schema;
}

/** The key in `memo` that counts the replies that were sent back. */
const REPAIRS = 'repairs';

/**
 * Ends the run with the output in the turn's last text if that is valid; otherwise sends the text back for repair, or
 * fails.
 *
 * @param typed The turn.
 * @param turn Its `turn` event.
 * @param messages Its messages.
 * @param feedback For a model that should have called `return_result` instead: what the model is told. The text was
 * suppressed until now, so that it is emitted if it is valid all the same.
 * @returns The events in place of the `turn` event.
 */
export function acceptOrRepair(
  typed: TypedTurn,
  turn: TurnEvent,
  messages: readonly Message[],
  feedback?: string,
): Observable<RunEvent> {
  if (turn.next || turn.finishReason === 'stopped') return of(turn);
  const text = lastReply(messages);
  const failure = unrepairable(typed, turn, text);
  if (failure) return throwError(() => failure);
  return validateText(typed.schema, text).pipe(
    mergeMap((validation) => {
      if ('invalid' in validation) return requestRepair(typed, turn, messages, text, feedback ?? validation.invalid);
      const suppressed: readonly RunEvent[] = feedback === undefined ? [] : [{ type: 'text', text }];
      return from<RunEvent[]>([...suppressed, { ...turn, output: validation.value }]);
    }),
  );
}

function lastReply(messages: readonly Message[]): string {
  const reply = messages.findLast(({ role }) => role === 'model');
  return reply ? messageText(reply) : '';
}

/** The error of a turn that would fail again if the model were asked again. */
export function unrepairable(typed: TypedTurn, turn: TurnEvent, text: string): OutputError | undefined {
  switch (turn.finishReason) {
    case 'contentFilter':
      return outputError(typed, turn, text, {
        reason: 'refused',
        what: `The model refused: "${text}".`,
        next: 'The text of the refusal is in `text`; rephrase the request.',
      });
    case 'length':
      return outputError(typed, turn, text, {
        reason: 'length',
        what: 'The output was cut by the token limit.',
        next: 'Raise maxOutputTokens, or ask for less.',
      });
    case 'maxTurns':
      return outputError(typed, turn, text, {
        reason: 'maxTurns',
        what: `The run ended after ${turn.turn} turns, before its output.`,
        next: 'Raise maxTurns.',
      });
    default:
      return undefined;
  }
}

interface Failure {
  readonly reason: OutputError['reason'];
  /** What happened. */
  readonly what: string;
  /** What to do about it. */
  readonly next: string;
}

function outputError(
  { orchestrator, context }: TypedTurn,
  { turn }: TurnEvent,
  text: string,
  { reason, what, next }: Failure,
): OutputError {
  return new OutputError(reason, what, next, { orchestrator, provider: context.model.provider, turn, text });
}

/**
 * Sends an invalid reply back with what is wrong, as often as `maxRepairs` allows; after that it is an error that holds
 * the text.
 */
function requestRepair(
  typed: TypedTurn,
  turn: TurnEvent,
  messages: readonly Message[],
  text: string,
  invalid: string,
): Observable<RunEvent> {
  const { state } = typed;
  const failure = repairsExhausted(typed, turn, text, invalid);
  if (failure) return throwError(() => failure);
  const feedback = userMessage(
    `Your reply is not valid: ${invalid}. Send the complete result again, corrected, and nothing else.`,
  );
  const next: RunState = { ...stateAfter(state, turn, [...messages, feedback]), memo: memoWithRepair(state) };
  return from<RunEvent[]>([
    { type: 'message', message: feedback },
    { ...turn, next },
  ]);
}

/** The error when no repair is left, or no turn for it. */
export function repairsExhausted(
  typed: TypedTurn,
  turn: TurnEvent,
  text: string,
  invalid: string,
): OutputError | undefined {
  const { options, last = false } = typed.context;
  const repairs = repairsOf(typed.state);
  if (repairs < (options.maxRepairs ?? 2) && !last) return undefined;
  const after = repairs === 0 ? '' : ` after ${repairs} ${repairs === 1 ? 'repair' : 'repairs'}`;
  return outputError(typed, turn, text, {
    reason: 'invalid',
    what: `The output is not valid${after}: ${invalid}.`,
    next: 'The reply is in `text`; simplify the schema, raise maxRepairs, or use another model.',
  });
}

const repairsOf = ({ memo }: RunState): number => Number(memo?.[REPAIRS] ?? 0);

/** The memo of a state after one more repair. */
export const memoWithRepair = (state: RunState) => ({ ...state.memo, [REPAIRS]: repairsOf(state) + 1 });

/** Validates the JSON of a text. Some models wrap it in a code fence. */
export function validateText(schema: Schema, text: string): Observable<Validation<unknown>> {
  const json = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text;
  let value: JsonValue;
  try {
    value = JSON.parse(json) as JsonValue;
  } catch (error) {
    return of({
      invalid: text.trim() === '' ? 'it is empty' : `it is not JSON (${errorText(error)})`,
    });
  }
  const validation = validate(schema, omitOptionalNulls(value, jsonSchemaOf(schema, 'The output')));
  return validation instanceof Promise ? from(validation) : of(validation);
}
