import { defer, finalize } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { requireNumber } from '../core/options.js';
import { RequestError } from './http/requestError.js';

/** Options that say what the requests of an owner may hold. */
export interface OwnerBytesOptions {
  /**
   * How many prompts may wait for a run: another one is rejected with 429, in whatever process it arrives. So is one
   * with which they have more bytes than a request may have (`maxBodyBytes`). Default: 100.
   */
  readonly maxWaitingPrompts?: number | undefined;
  /**
   * How many bytes the runs of an owner that are executed, and the prompts for them, may have in this process: their
   * input, the conversation before them, and what joined them. Another request is rejected with 429, and one that alone
   * has more with 413. Default: 16 MiB.
   */
  readonly maxOwnerBytes?: number | undefined;
}

const DEFAULT_OWNER_BYTES = 16_777_216;

/** Counts what the requests of each owner hold. */
export interface OwnerBytes {
  /** Does work that holds bytes. It fails with a RequestError 413 or 429 if the owner has no room for them. */
  admit<T>(owner: string, bytes: number, work: Observable<T>): Observable<T>;
  /** Counts what a run holds from its subscription to its end. It may grow. */
  count<T>(owner: string, bytes: () => number): MonoTypeOperatorFunction<T>;
}

export function createOwnerBytes({ maxOwnerBytes = DEFAULT_OWNER_BYTES }: OwnerBytesOptions): OwnerBytes {
  requireNumber('maxOwnerBytes', maxOwnerBytes, 0);
  const owners = new Map<string, Set<() => number>>();

  const count =
    <T>(owner: string, bytes: () => number): MonoTypeOperatorFunction<T> =>
    (source) =>
      defer(() => {
        const held = owners.get(owner) ?? new Set();
        owners.set(owner, held);
        const own = () => bytes(); // the same function may be counted twice
        held.add(own);
        return source.pipe(
          finalize(() => {
            held.delete(own);
            if (held.size === 0 && owners.get(owner) === held) owners.delete(owner);
          }),
        );
      });
  return {
    count,
    admit: (owner, bytes, work) =>
      defer(() => {
        if (bytes > maxOwnerBytes) throw tooLarge(maxOwnerBytes);
        let total = bytes;
        for (const held of owners.get(owner) ?? []) total += held();
        if (total > maxOwnerBytes) throw tooMuch(maxOwnerBytes);
        return work.pipe(count(owner, () => bytes));
      }),
  };
}

const tooLarge = (max: number) =>
  new RequestError(413, `A run may have at most ${max} bytes, with the conversation before it. Start another one.`);

const tooMuch = (max: number) =>
  new RequestError(429, `The runs of a user may have at most ${max} bytes. Ask again when one has ended.`, {
    'retry-after': '5',
  });
