import type { RunResult } from '../core/event.js';
import { RequestError } from './http/requestError.js';
import { ExecutorLostError, RunNotFoundError, RunTakenError } from './runs/runErrors.js';
import { descriptionOf } from './runs/trustedDescription.js';

/** Something that the operator of a service should know: print it, or log it. */
interface ServiceNotice {
  /** `memory_store`: runs are stored in memory, and lost at a restart. */
  readonly code: 'memory_store';
  readonly message: string;
}

export interface NoticeOptions<C> {
  /** Called with what you should know about the service, for its log. Default: nothing is called. */
  readonly onNotice?: ((notice: ServiceNotice) => void) | undefined;
  /**
   * Called with the result of each run that has not failed, once it is stored, and with the `context` of the request
   * that started or resumed it: for bills and logs. It has everything, also what a browser does not receive. An error
   * that it throws goes to `onError`. Default: nothing is called.
   */
  readonly onResult?: ((result: RunResult, context: C) => void) | undefined;
}

/** Sent at once by a service without a store of its own. */
export const memoryStoreNotice: ServiceNotice = {
  code: 'memory_store',
  message:
    'Runs are stored in memory: after a restart, the service does not know the earlier conversations. ' +
    'Pass `store` to keep them.',
};

/**
 * Reports each error once, whoever sees it: the port, the run, its readers. One that says where the run is now, or that
 * answers a request, and one that another process has described, is not reported.
 */
export function reportOnce(onError: ((thrown: unknown) => void) | undefined): (thrown: unknown) => void {
  const reported = new WeakSet<object>();
  const isNoNews = (thrown: object) =>
    thrown instanceof RunTakenError ||
    thrown instanceof RunNotFoundError ||
    thrown instanceof ExecutorLostError ||
    thrown instanceof RequestError ||
    descriptionOf(thrown) !== undefined;
  return (thrown) => {
    if (typeof thrown === 'object' && thrown !== null) {
      if (reported.has(thrown) || isNoNews(thrown)) return;
      reported.add(thrown);
    }
    onError?.(thrown);
  };
}
