import { DEFAULT_MAX_TURNS } from '../core/options.js';
import { concat, defer, EMPTY, from, mergeMap, of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
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

/** A turn whose last event is being decided. */
export interface TypedTurn {
  /** The orchestrator's name, for errors. */
  readonly orchestrator: string;
  readonly state: RunState;
  readonly context: TurnContext;
  readonly schema: Schema;
}

/** The note in `memo` of how many replies were sent back. */
const REPAIRS = 'repairs';

/**
 * Runs a turn and lets `conclude` decide its last event, when all else of it is over.
 *
 * @param events The turn, its `turn` event last.
 * @param conclude Gets the `turn` event and the messages of the turn; gives the events in its place.
 */
export function replaceTurnEvent(
  events: Observable<RunEvent>,
  conclude: (turn: TurnEvent, messages: readonly Message[]) => Observable<RunEvent>,
): Observable<RunEvent> {
  return defer(() => {
    let messages: Message[] = [];
    let turn: TurnEvent | undefined;
    const held = createOperator<RunEvent, RunEvent>((out) => ({
      next(event) {
        if (event.type === 'turn') {
          turn = event;
          return;
        }
        if (event.type === 'message') messages.push(event.message);
        else if (event.type === 'retract') messages = [];
        out.next(event);
      },
    }));
    return concat(
      events.pipe(held),
      defer(() => (turn ? conclude(turn, messages) : EMPTY)),
    );
  });
}

/**
 * Ends the run with what its last text says, if that is valid; otherwise sends it back, or gives up.
 *
 * @param instead Where the text was not what was asked for: what the model is told of that, and the text, if it is valid all the same, is shown now.
 */
export function acceptOrRepair(
  typed: TypedTurn,
  turn: TurnEvent,
  messages: readonly Message[],
  instead?: string,
): Observable<RunEvent> {
  if (turn.next) return of(turn);
  const text =
    messages
      .filter(({ role }) => role === 'model')
      .map(messageText)
      .at(-1) ?? '';
  const failure = unrepairable(typed, turn, text);
  if (failure) return throwError(() => failure);
  return validateText(typed.schema, text).pipe(
    mergeMap((found) => {
      if ('invalid' in found) return requestRepair(typed, turn, messages, text, instead ?? found.invalid);
      const shown: readonly RunEvent[] = instead === undefined ? [] : [{ type: 'text', text }];
      return from<RunEvent[]>([...shown, { ...turn, output: found.value }]);
    }),
  );
}

/** Where asking again would not help. */
export function unrepairable(typed: TypedTurn, turn: TurnEvent, text: string): OutputError | undefined {
  const fail = failing(typed, turn, text);
  switch (turn.finishReason) {
    case 'contentFilter':
      return fail(
        'refused',
        `The model refused: "${text}".`,
        'The text of the refusal is in `text`; rephrase the request.',
      );
    case 'length':
      return fail('length', 'The output was cut by the token limit.', 'Raise maxOutputTokens, or ask for less.');
    case 'maxTurns':
      return fail('maxTurns', `The run ended after ${turn.turn} turns, before its output.`, 'Raise maxTurns.');
    default:
      return undefined;
  }
}

/** Errors of a turn. */
const failing =
  ({ orchestrator, context }: TypedTurn, { turn }: TurnEvent, text: string) =>
  (reason: OutputError['reason'], what: string, next: string) =>
    new OutputError(reason, what, next, { orchestrator, provider: context.model.provider, turn, text });

/** Shows the model what is wrong and asks again, as often as `maxRepairs` says; then it is an error that holds the text. */
export function requestRepair(
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
    `Your reply is not valid: ${invalid}. Give the whole result again, corrected, and nothing else.`,
  );
  const next: RunState = { ...stateAfter(state, turn, [...messages, feedback]), memo: withRepair(state) };
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
  const { maxRepairs = 2, maxTurns = DEFAULT_MAX_TURNS } = typed.context.options;
  const repairs = repairsOf(typed.state);
  if (repairs < maxRepairs && turn.turn < maxTurns) return undefined;
  const times = repairs === 0 ? '' : ` after ${repairs} ${repairs === 1 ? 'repair' : 'repairs'}`;
  return failing(typed, turn, text)(
    'invalid',
    `The output is not valid${times}: ${invalid}.`,
    'What the model said is in `text`; simplify the schema, raise maxRepairs, or take another model.',
  );
}

const repairsOf = ({ memo }: RunState): number => Number(memo?.[REPAIRS] ?? 0);

/** The memo of a state after one repair more. */
export const withRepair = (state: RunState) => ({ ...state.memo, [REPAIRS]: repairsOf(state) + 1 });

/** The JSON of a text, validated: some models wrap it in a fence. */
export function validateText(schema: Schema, text: string): Observable<Validation<unknown>> {
  const bare = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text;
  let value: JsonValue;
  try {
    value = JSON.parse(bare) as JsonValue;
  } catch (error) {
    return of({
      invalid: text.trim() === '' ? 'it is empty' : `it is not JSON (${errorText(error)})`,
    });
  }
  const found = validate(schema, omitOptionalNulls(value, jsonSchemaOf(schema, 'The output')));
  return found instanceof Promise ? from(found) : of(found);
}
