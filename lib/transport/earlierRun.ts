import type { Message } from '../core/message.js';

/** An earlier run, by its id. If the service does not know it (the request never arrived), only the prompt is used. */
export interface EarlierRun {
  readonly id: string;
  readonly input: readonly Message[];
  /** Whether the client has received events of the run: the service had stored it. Default: not known. */
  readonly hasBegun?: boolean | undefined;
}

/** A request has the newest ones. */
export const MAX_EARLIER_RUNS = 1000;
