import { defer, from, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import { requireDatabase, retryUnreachable } from '../retryUnreachable.js';

/**
 * A connection to Redis 6.2 or newer. A client of `redis` has this function; for ioredis, pass
 * `{ sendCommand: ([name = '', ...values]) => client.call(name, ...values) }`.
 */
export interface RedisClient {
  /** Sends one command: its name and its arguments. */
  sendCommand(command: string[]): PromiseLike<unknown>;
}

/** Redis executes a script as one step. */
export const evaluate = (
  client: RedisClient,
  text: string,
  keys: readonly string[],
  values: readonly (string | number)[],
): Observable<unknown> =>
  defer(() => from(client.sendCommand(['EVAL', text, String(keys.length), ...keys, ...values.map(String)]))).pipe(
    requireDatabase(),
  );

/** A script that failed so may have been executed. */
export const retryConnection = <T>(retryTime: number): MonoTypeOperatorFunction<T> =>
  retryUnreachable(isUnreachable, retryTime);

/** Error codes are in capitals: the Redis protocol specification, "Simple errors". */
const serverError = /^[A-Z]{2,} /;

/** Before Redis 7, the code follows the place in the script: `ERR Error running script ...: -READONLY`. */
const transientErrors = /(^|: -)(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|NOREPLICAS|BUSY) /;

function isUnreachable(thrown: unknown): boolean {
  const message = thrown instanceof Error ? thrown.message : '';
  return serverError.test(message) ? transientErrors.test(message) : !(thrown instanceof TypeError);
}
