import { catchError, concat, defer, EMPTY, ignoreElements, type Observable } from 'rxjs';
import { resumedTurn } from '../../agent/resumedTurn.js';
import { hasAnswer, type CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { ConfigurationError } from '../../core/errors.js';
import { innerAgentOf } from '../../core/innerAgent.js';
import { readCheckpoint } from '../../core/readCheckpoint.js';
import { RequestError } from '../http/requestError.js';
import type { Kernel } from '../kernel.js';

/**
 * Does the work for valid answers. It fails with 400 where `resume` of the agent would fail for its answers, and with
 * 409 where it cannot resume the checkpoint, since the agent has changed: the run then waits on, and has no record. No
 * answer, and one after a wrong one, could be sent for ever: they count as prompts, and may fail with 429.
 */
export const checkAnswers = <C, T>(
  kernel: Kernel<C>,
  owner: string,
  checkpoint: Checkpoint,
  answers: CallAnswers,
  work: Observable<T>,
  agent = kernel.agentFor(),
): Observable<T> => {
  const checked = defer(() => {
    const inner = innerAgentOf(agent);
    if (!inner) return EMPTY; // an agent of another kind checks them itself
    return resumedTurn(readCheckpoint(checkpoint, inner.orchestrator).open, answers, inner.tools);
  }).pipe(
    ignoreElements(),
    catchError((thrown: unknown) => {
      if (!(thrown instanceof ConfigurationError)) throw thrown;
      const isOtherVersion = thrown.subject === 'checkpoint';
      if (isOtherVersion && kernel.durable) return EMPTY; // the run is parked for another version of the code
      throw Object.assign(isOtherVersion ? otherVersion() : invalidAnswers(), { cause: thrown });
    }),
  );
  const asked = (checkpoint.open?.waiting ?? []).filter(({ id }) => hasAnswer(answers, id));
  const isCounted = asked.every(({ question }) => question?.problem !== undefined);
  return concat(checked, isCounted ? kernel.limits.countPrompt(owner, work) : work);
};

const otherVersion = () =>
  new RequestError(409, 'This run waits for another version of the service.', {}, { code: 'other_version' });

/** The sentence names no tool or schema: the cause does, for a caller on the server. */
const invalidAnswers = () =>
  new RequestError(400, 'The answers do not fit the calls that wait: an id, a decision or a result is not valid.');
