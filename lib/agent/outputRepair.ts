import { concat, from, map, mergeMap, NEVER, of, race, take, throwError, type Observable } from 'rxjs';
import { errorText } from '../core/errors.js';
import { stateAfter, type RunEvent, type RunState, type TurnEvent } from '../core/event.js';
import { isDeeperThan, MAX_JSON_DEPTH } from '../core/json/depth.js';
import { hasInfinity, type JsonValue } from '../core/json/json.js';
import { omitOptionalNulls } from '../core/json/optionalNulls.js';
import { messageText, userMessage, type Message } from '../core/message.js';
import { hasEmitted } from '../core/notifier.js';
import { OutputError } from '../core/runErrors.js';
import { toJsonSchema, validate, type Schema, type Validation } from '../core/schema.js';
import { stoppedTurn } from './openTurn.js';
import type { TurnContext } from './orchestrator.js';

export interface TypedTurn {
  readonly orchestrator: string;
  readonly state: RunState;
  readonly context: TurnContext;
  readonly schema: Schema;
}

const REPAIRS = 'repairs';

/** `problem` is for a text instead of `return_result`; if that suppressed text is valid, it is emitted now. */
export function acceptOrRepair(
  typed: TypedTurn,
  turn: TurnEvent,
  messages: readonly Message[],
  problem?: string,
): Observable<RunEvent> {
  if (turn.next || turn.finishReason === 'stopped') return of(turn);
  const text = lastModelText(messages);
  const failure = unrepairableError(typed, turn, text);
  if (failure) return throwError(() => failure);
  return race(validateText(typed.schema, text), undefinedAtStop(typed)).pipe(
    mergeMap((validation) => {
      if (!validation) return of(stoppedTurn(turn));
      if ('invalid' in validation) return requestRepair(typed, turn, messages, text, problem ?? validation.invalid);
      const suppressed: readonly RunEvent[] = problem === undefined ? [] : [{ type: 'text', text }];
      return from<RunEvent[]>([...suppressed, { ...turn, output: validation.value }]);
    }),
  );
}

/** A stop takes the place of an asynchronous validation. Without one, the Observable does not complete. */
const undefinedAtStop = ({ context: { stop = NEVER } }: TypedTurn) =>
  concat(stop, NEVER).pipe(
    take(1),
    map(() => undefined),
  );

function lastModelText(messages: readonly Message[]): string {
  const message = messages.findLast(({ role }) => role === 'model');
  return message ? messageText(message) : '';
}

/** Undefined if a repair may fix the turn. */
export function unrepairableError(typed: TypedTurn, turn: TurnEvent, text: string): OutputError | undefined {
  switch (turn.finishReason) {
    case 'contentFilter':
      return outputError(typed, turn, text, {
        reason: 'refused',
        problem: `The response was refused or filtered${text === '' ? '' : `: "${text}"`}.`,
        nextStep: 'Rephrase the request.',
      });
    case 'length':
      return outputError(typed, turn, text, {
        reason: 'length',
        problem: 'The output was cut off by the token limit.',
        nextStep: 'Raise maxOutputTokens, or ask for a shorter output.',
      });
    case 'maxTurns':
      return outputError(typed, turn, text, {
        reason: 'maxTurns',
        problem: `The run reached maxTurns (${turn.turn}) without producing an output.`,
        nextStep: 'Raise maxTurns.',
      });
    default:
      return undefined;
  }
}

interface Failure {
  readonly reason: OutputError['reason'];
  readonly problem: string;
  readonly nextStep: string;
}

function outputError(
  { orchestrator, context }: TypedTurn,
  { turn }: TurnEvent,
  text: string,
  { reason, problem, nextStep }: Failure,
): OutputError {
  const details = { orchestrator, provider: context.model.provider, turn, text };
  return new OutputError(reason, problem, nextStep, details);
}

/** Asks at most `maxRepairs` times; then fails with an OutputError that contains the text. */
function requestRepair(
  typed: TypedTurn,
  turn: TurnEvent,
  messages: readonly Message[],
  text: string,
  problem: string,
): Observable<RunEvent> {
  const { state } = typed;
  if (hasEmitted(typed.context.stop)) return of(stoppedTurn(turn));
  const failure = exhaustedError(typed, turn, text, problem);
  if (failure) return throwError(() => failure);
  const feedback = userMessage(
    `Your reply is not valid: ${problem}. Send the complete, corrected result, and nothing else.`,
  );
  const next: RunState = { ...stateAfter(state, turn, [...messages, feedback]), memo: memoWithRepair(state) };
  return from<RunEvent[]>([
    { type: 'message', message: feedback },
    { ...turn, next },
  ]);
}

export function exhaustedError(
  typed: TypedTurn,
  turn: TurnEvent,
  text: string,
  problem: string,
): OutputError | undefined {
  const { options, last = false } = typed.context;
  const repairs = repairCount(typed.state);
  if (repairs < (options.maxRepairs ?? 2) && !last) return undefined;
  const attempts = repairs === 0 ? '' : ` after ${repairs} repair ${repairs === 1 ? 'attempt' : 'attempts'}`;
  return outputError(typed, turn, text, {
    reason: 'invalid',
    problem: `The output is not valid${attempts}: ${problem}.`,
    nextStep:
      `The model's text is in \`error.text\`. Simplify the schema, raise ${last ? 'maxTurns' : 'maxRepairs'}, ` +
      'or use another model.',
  });
}

const repairCount = ({ memo }: RunState): number => Number(memo?.[REPAIRS] ?? 0);

export const memoWithRepair = (state: RunState) => ({ ...state.memo, [REPAIRS]: repairCount(state) + 1 });

/** The text may be in a markdown code fence. */
export function validateText(schema: Schema, text: string): Observable<Validation<unknown>> {
  let value: JsonValue;
  try {
    value = JSON.parse(withoutFence(text)) as JsonValue;
  } catch (error) {
    return of({
      invalid: text.trim() === '' ? 'it is empty' : `it is not JSON (${errorText(error)})`,
    });
  }
  if (hasInfinity(value)) return of({ invalid: 'it has a number beyond 1.8e308' });
  if (isDeeperThan(value, MAX_JSON_DEPTH))
    return of({ invalid: `it has more than ${MAX_JSON_DEPTH} levels of objects and arrays` });
  const validation = validate(schema, omitOptionalNulls(value, toJsonSchema(schema, 'The output')));
  return validation instanceof Promise ? from(validation) : of(validation);
}

const FENCE = '```';

/** A fence has no language, or `json`; any other text is unchanged. */
function withoutFence(text: string): string {
  const fenced = text.trim();
  const start = fenced.indexOf('\n');
  if (start < 0 || !fenced.startsWith(FENCE) || !fenced.endsWith(FENCE)) return text;
  const language = fenced.slice(FENCE.length, start).trim();
  return language === '' || language === 'json' ? fenced.slice(start, -FENCE.length) : text;
}
