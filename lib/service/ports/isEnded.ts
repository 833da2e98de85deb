import { errorText } from '../../core/errors.js';

/** What `pg`, PGlite, postgres.js, `redis` and ioredis say once their connections were ended on purpose. */
const ended =
  /after calling end|was closed and is not queryable|(PGlite|client|Connection) is closed|CONNECTION_ENDED/i;

/** A port has not answered a call while the service ends: nothing waits for it again. */
export class SilentPortError extends Error {}

/** Whether a call has failed since this process ends, or has ended its connections: nobody waits until it passes. */
export const isEnded = (thrown: unknown): boolean => thrown instanceof SilentPortError || ended.test(errorText(thrown));
