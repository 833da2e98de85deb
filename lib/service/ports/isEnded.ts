import { errorText } from '../../core/errors.js';

/** What `pg`, PGlite, postgres.js, `redis` and ioredis say once their connections were ended on purpose. */
const ended =
  /after calling end|was closed and is not queryable|(PGlite|client|Connection) is closed|CONNECTION_ENDED/i;

/** Whether a call has failed since this process has ended its connections: it is not an outage, and will not pass. */
export const isEnded = (thrown: unknown): boolean => ended.test(errorText(thrown));
