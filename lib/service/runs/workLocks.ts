import { defer, filter, finalize, ignoreElements, of, retry, startWith, Subject, take, throwError } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createSemaphore, type Semaphore } from '../../core/semaphore.js';
import { RunTakenError } from './runErrors.js';

/** How often the work for a request is retried when another process changes its record. */
const WORK_RETRIES = 5;

interface Lock {
  readonly queue: Semaphore;
  readonly owner: string;
  users: number;
  isStopped: boolean;
}

export class WorkLocks {
  private readonly locks = new Map<string, Lock>();
  private readonly unlocked = new Subject<void>();
  readonly idle: Observable<never> = this.unlocked.pipe(
    startWith(undefined),
    filter(() => this.locks.size === 0),
    take(1),
    ignoreElements(),
  );

  locked<T>(id: string, owner: string): MonoTypeOperatorFunction<T> {
    return (work) =>
      defer(() => {
        const lock = this.locks.get(id) ?? { queue: createSemaphore(1), owner, users: 0, isStopped: false };
        this.locks.set(id, lock);
        lock.users += 1;
        return work.pipe(
          lock.queue.limit(),
          finalize(() => {
            lock.users -= 1;
            if (lock.users === 0) this.locks.delete(id);
            this.unlocked.next();
          }),
        );
      });
  }

  has(id: string): boolean {
    return this.locks.has(id);
  }

  /** Returns whether this owner has such work. */
  stop(id: string, owner: string): boolean {
    const lock = this.locks.get(id);
    if (lock?.owner !== owner) return false;
    lock.isStopped = true;
    return true;
  }

  isStopped(id: string): boolean {
    return this.locks.get(id)?.isStopped ?? false;
  }
}

/** Does work again when another process has changed the record in the meantime. */
export const retryTaken = <T>(): MonoTypeOperatorFunction<T> =>
  retry({
    count: WORK_RETRIES,
    delay: (thrown: unknown) => (thrown instanceof RunTakenError ? of(0) : throwError(() => thrown)),
  });
