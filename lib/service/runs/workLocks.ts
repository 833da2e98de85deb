import { defer, filter, finalize, ignoreElements, of, retry, startWith, Subject, take, throwError } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createSemaphore, type Semaphore } from '../../core/semaphore.js';
import { RunTakenError } from './runErrors.js';

/** How often the work for a request is retried when another process changes its record. */
const WORK_RETRIES = 5;

interface Lock {
  readonly queue: Semaphore;
  /** One for each request that does work, or waits for it. */
  readonly users: Set<object>;
  isStopped: boolean;
}

/** Each owner has locks of its own: nobody can keep, or stop, the work of another one. */
export class WorkLocks {
  private readonly locks = new Map<string, Lock>();
  private readonly unlocked = new Subject<void>();
  /** Completes when the work that is there has ended: other work may come. */
  readonly idle = defer(() => this.ended([...this.locks.values()]));

  locked<T>(id: string, owner: string): MonoTypeOperatorFunction<T> {
    return (work) =>
      defer(() => {
        const key = keyOf(id, owner);
        const lock = this.locks.get(key) ?? { queue: createSemaphore(1), users: new Set(), isStopped: false };
        this.locks.set(key, lock);
        const user = {};
        lock.users.add(user);
        return work.pipe(
          lock.queue.limit(),
          finalize(() => {
            lock.users.delete(user);
            if (lock.users.size === 0) this.locks.delete(key);
            this.unlocked.next();
          }),
        );
      });
  }

  has(id: string, owner: string): boolean {
    return this.locks.has(keyOf(id, owner));
  }

  /** Returns whether this owner has such work. */
  stop(id: string, owner: string): boolean {
    const lock = this.locks.get(keyOf(id, owner));
    if (lock) lock.isStopped = true;
    return lock !== undefined;
  }

  /** Stops the work of an owner, or that for one id. Completes when what was there has ended. */
  end(owner: string, id?: string): Observable<never> {
    return defer(() => {
      const start = keyOf(id ?? '', owner);
      const found = [...this.locks].filter(([key]) => (id === undefined ? key.startsWith(start) : key === start));
      for (const [, lock] of found) lock.isStopped = true;
      return this.ended(found.map(([, lock]) => lock));
    });
  }

  private ended(locks: readonly Lock[]): Observable<never> {
    const work = locks.flatMap(({ users }) => [...users].map((user) => [users, user] as const));
    const isOver = () => !work.some(([users, user]) => users.has(user));
    return this.unlocked.pipe(startWith(undefined), filter(isOver), take(1), ignoreElements());
  }

  isStopped(id: string, owner: string): boolean {
    return this.locks.get(keyOf(id, owner))?.isStopped ?? false;
  }
}

const keyOf = (id: string, owner: string): string => `${encodeURIComponent(owner)} ${id}`;

/** Does work again when another process has changed the record in the meantime. */
export const retryTaken = <T>(): MonoTypeOperatorFunction<T> =>
  retry({
    count: WORK_RETRIES,
    delay: (thrown: unknown) => (thrown instanceof RunTakenError ? of(0) : throwError(() => thrown)),
  });
