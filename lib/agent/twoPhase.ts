import { of, throwError, type Observable } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { stateAfter, type RunEvent, type RunState, type TurnEvent } from '../core/event.js';
import { nonEmptyString } from '../core/json/json.js';
import { toolCallsOf, type Message } from '../core/message.js';
import { hasEmitted } from '../core/notifier.js';
import { replaceTurnEvent } from '../operators/followUp.js';
import { stoppedTurn } from './openTurn.js';
import type { Orchestrator } from './orchestrator.js';
import { unrepairableError, type TypedTurn } from './outputRepair.js';
import { SuppressedText } from './suppressedText.js';
import { toolLoop } from './toolLoop.js';
import { typedOutput } from './typedOutput.js';

const PHASE = 'phase';

/**
 * Typed output in two phases, for models that do not accept tools and a schema together: first, turns with tools until
 * the model calls no tool; then a turn with the schema and without tools.
 *
 * In the first phase the model's text is suppressed and reported as metadata `suppressedText`. Its last response,
 * without calls, is not stored. The second phase is `typedOutput`.
 */
export const twoPhase: Orchestrator = {
  name: 'twoPhase',
  turn(state, context) {
    const { output: schema, ...withoutOutput } = context;
    if (!schema) return toolLoop.turn(state, context);
    if (state.memo?.[PHASE] === 'output') return typedOutput.turn(state, { ...context, tools: [] });
    const typed: TypedTurn = { orchestrator: 'twoPhase', state, context, schema };
    return toolLoop.turn(state, withoutOutput).pipe(
      suppressText(),
      replaceTurnEvent((turn, messages) => secondPhase(typed, turn, messages)),
    );
  },
};

/** Suppresses a model message without calls, too. */
function suppressText() {
  return createOperator<RunEvent, RunEvent>((out) => {
    const suppressed = new SuppressedText();
    return {
      next(event) {
        switch (event.type) {
          case 'text':
            suppressed.text += event.text;
            return;
          case 'message':
            if (event.message.role === 'model' && toolCallsOf(event.message).length === 0) return;
            break;
          case 'retract':
            suppressed.text = '';
            break;
          case 'turn':
            for (const last of suppressed.lastEvents(event)) out.next(last);
            return;
          default:
        }
        out.next(event);
      },
    };
  });
}

function secondPhase(typed: TypedTurn, turn: TurnEvent, messages: readonly Message[]): Observable<RunEvent> {
  if (turn.next || turn.finishReason === 'stopped') return of(turn);
  if (hasEmitted(typed.context.stop)) return of(stoppedTurn(turn));
  const failure = firstPhaseError(typed, turn);
  if (failure) return throwError(() => failure);
  const next: RunState = {
    ...stateAfter(typed.state, turn, messages),
    memo: { ...typed.state.memo, [PHASE]: 'output' },
  };
  return of({ ...turn, next });
}

/** A refused request would be refused again. A truncated response is not an error: its text is not needed. */
function firstPhaseError(typed: TypedTurn, turn: TurnEvent): Error | undefined {
  const text = nonEmptyString(turn.metadata?.['suppressedText']) ?? '';
  if (typed.context.last) return unrepairableError(typed, { ...turn, finishReason: 'maxTurns' }, text);
  return turn.finishReason === 'contentFilter' ? unrepairableError(typed, turn, text) : undefined;
}
