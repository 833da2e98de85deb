import { DEFAULT_MAX_TURNS } from '../core/options.js';
import { defer, of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { stateAfter } from '../core/event.js';
import type { RunEvent, RunState, TurnEvent } from '../core/event.js';
import { toolCallsOf } from '../core/message.js';
import type { Message } from '../core/message.js';
import type { Orchestrator, TurnContext } from './orchestrator.js';
import { replaceTurnEvent, unrepairable } from './outputRepair.js';
import { toolLoop } from './toolLoop.js';
import { typedOutput } from './typedOutput.js';

/** The note in `memo` that the tools are done with. */
const PHASE = 'phase';

/**
 * Typed output in two phases, for models that cannot have tools and a schema at once: tools until none is called, then the schema without tools.
 *
 * In the first phase the model's text is suppressed, and told as metadata `suppressedText`; its reply without calls is not stored: it leads to the second
 * phase, which is `typedOutput`.
 */
export const twoPhase: Orchestrator = {
  name: 'twoPhase',
  turn(state, context) {
    const { output, ...plain } = context;
    if (!output) return toolLoop.turn(state, context);
    if (state.memo?.[PHASE] === 'output') return typedOutput.turn(state, { ...context, tools: [] });
    return defer(() => {
      let words = '';
      const quiet = toolLoop.turn(state, plain).pipe(withoutWords((suppressed) => (words = suppressed)));
      return replaceTurnEvent(quiet, (turn, messages) => secondPhase(state, context, { turn, messages, words }));
    });
  },
};

/** Suppresses the text, and the message of a reply that calls nothing. */
function withoutWords(heard: (suppressed: string) => void) {
  return createOperator<RunEvent, RunEvent>((out) => {
    let suppressed = '';
    return {
      next(event) {
        if (event.type === 'text') suppressed += event.text;
        else if (event.type !== 'message' || event.message.role !== 'model' || toolCallsOf(event.message).length > 0) {
          if (event.type === 'retract') suppressed = '';
          if (event.type === 'turn' && suppressed !== '')
            out.next({ type: 'metadata', metadata: { suppressedText: suppressed } });
          if (event.type === 'turn') heard(suppressed);
          out.next(event);
        }
      },
    };
  });
}

interface FirstPhase {
  readonly turn: TurnEvent;
  readonly messages: readonly Message[];
  readonly words: string;
}

function secondPhase(
  state: RunState,
  context: TurnContext,
  { turn, messages, words }: FirstPhase,
): Observable<RunEvent> {
  if (turn.next || !context.output) return of(turn);
  const typed = { orchestrator: 'twoPhase', state, context, schema: context.output };
  const over = turn.turn >= (context.options.maxTurns ?? DEFAULT_MAX_TURNS);
  // A first phase that was refused would be refused again; one that was cut has done its part.
  const failure =
    over || turn.finishReason === 'contentFilter'
      ? unrepairable(typed, over ? { ...turn, finishReason: 'maxTurns' } : turn, words)
      : undefined;
  if (failure) return throwError(() => failure);
  return of({ ...turn, next: { ...stateAfter(state, turn, messages), memo: { ...state.memo, [PHASE]: 'output' } } });
}
