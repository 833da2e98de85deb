import { catchError, defer, EMPTY, ignoreElements, type Observable } from 'rxjs';
import { resumedTurn } from '../../agent/resumedTurn.js';
import type { CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { ConfigurationError } from '../../core/errors.js';
import { innerAgentOf } from '../../core/innerAgent.js';
import { readCheckpoint } from '../../core/readCheckpoint.js';
import type { HandledAgent } from '../handledAgent.js';
import { RequestError } from '../http/requestError.js';

/** Fails with 400 where `resume` of the agent would fail for its answers: the run then waits on, and has no record. */
export const checkAnswers = <C>(
  agent: HandledAgent<C>,
  checkpoint: Checkpoint,
  answers: CallAnswers,
): Observable<never> =>
  defer(() => {
    const inner = innerAgentOf(agent);
    if (!inner) return EMPTY; // an agent of another kind checks them itself
    return resumedTurn(readCheckpoint(checkpoint, inner.orchestrator).open, answers, inner.tools);
  }).pipe(
    ignoreElements(),
    catchError((thrown: unknown) => {
      if (!(thrown instanceof ConfigurationError)) throw thrown;
      if (thrown.subject === 'checkpoint') return EMPTY; // the run is parked for another version of the code
      throw invalidAnswers(thrown);
    }),
  );

/** The sentence names no tool or schema: the cause does, for a caller on the server. */
const invalidAnswers = (cause: ConfigurationError) =>
  Object.assign(
    new RequestError(400, 'The answers do not fit the calls that wait: an id, a decision or a result is not valid.'),
    { cause },
  );
