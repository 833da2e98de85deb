import { defer, filter, finalize, ignoreElements, startWith, Subject, take } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createSemaphore } from '../../core/semaphore.js';
import type { Semaphore } from '../../core/semaphore.js';

interface Lock {
  readonly queue: Semaphore;
  readonly owner: string;
  users: number;
  /** Whether the run was stopped before it has begun. */
  isStopped: boolean;
}

/** Does the work for an id after earlier work for it, in this process. */
export interface WorkLocks {
  locked<T>(id: string, owner: string): MonoTypeOperatorFunction<T>;
  has(id: string): boolean;
  /** Stops the run that the work for an id begins. Returns whether there is such work of this owner. */
  stop(id: string, owner: string): boolean;
  isStopped(id: string): boolean;
  /** Completes when there is no work. */
  readonly idle: Observable<never>;
}

export function createWorkLocks(): WorkLocks {
  const locks = new Map<string, Lock>();
  const unlocked = new Subject<void>();
  return {
    locked: (id, owner) => (work) =>
      defer(() => {
        const lock = locks.get(id) ?? { queue: createSemaphore(1), owner, users: 0, isStopped: false };
        locks.set(id, lock);
        lock.users += 1;
        return work.pipe(
          lock.queue.limit(),
          finalize(() => {
            lock.users -= 1;
            if (lock.users === 0) locks.delete(id);
            unlocked.next();
          }),
        );
      }),
    has: (id) => locks.has(id),
    stop(id, owner) {
      const lock = locks.get(id);
      if (lock?.owner !== owner) return false;
      lock.isStopped = true;
      return true;
    },
    isStopped: (id) => locks.get(id)?.isStopped ?? false,
    idle: defer(() =>
      unlocked.pipe(
        startWith(undefined),
        filter(() => locks.size === 0),
        take(1),
        ignoreElements(),
      ),
    ),
  };
}
