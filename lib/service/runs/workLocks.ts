import { defer, filter, finalize, ignoreElements, of, retry, startWith, Subject, take, tap, throwError } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createSemaphore, type Semaphore } from '../../core/semaphore.js';
import { RequestError } from '../http/requestError.js';
import { RunTakenError } from './runErrors.js';

/** How often the work for a request is retried when another process changes its record. */
const WORK_RETRIES = 5;

interface Lock {
  readonly queue: Semaphore;
  /** How many requests do work, or wait for it. */
  users: number;
  /** The place of the request that does work. */
  holder: number;
}

/**
 * Each owner has locks of its own: nobody can keep, or stop, the work of another one. Each request has a place in the
 * order in which they arrive: a stop concerns those before it, whatever they wait for, and none that comes later.
 */
export class WorkLocks {
  /** The place of the last request that has arrived. */
  last = 0;
  private readonly locks = new Map<string, Lock>();
  /** The key of the lock of each request that is not answered, in order. Empty: it does no work, or not yet. */
  private readonly open = new Map<number, string>();
  /** Up to which place the work of a lock is stopped, while a request is open that may do such work. */
  private readonly stops = new Map<string, number>();
  /** Work has ended, or a request is answered. */
  private readonly left = new Subject<void>();
  /** Completes when the work that is there has ended: other work may come. */
  readonly idle = defer(() => this.ended((key) => key !== ''));

  /** Answers a request that may do work for an id which it does not know yet: see `locked`. */
  arrived<T>(answer: (place: number) => Observable<T>): Observable<T> {
    return defer(() => {
      const place = ++this.last;
      this.open.set(place, '');
      return defer(() => answer(place)).pipe(finalize(() => this.close(place)));
    });
  }

  /**
   * Does work after earlier work for an id. It fails with 409 if the data of the owner was deleted meanwhile.
   *
   * @param place That of the request. Default: it arrives now.
   */
  locked<T>(id: string, owner: string, place?: number): MonoTypeOperatorFunction<T> {
    if (place === undefined) return (work) => this.arrived((own) => work.pipe(this.locked(id, owner, own)));
    return (work) =>
      defer(() => {
        if (place <= (this.stops.get(keyOf('', owner)) ?? 0)) throw dataDeleted();
        const key = keyOf(id, owner);
        const lock = this.locks.get(key) ?? { queue: createSemaphore(1), users: 0, holder: Infinity };
        this.locks.set(key, lock);
        lock.users += 1;
        this.open.set(place, key);
        return work.pipe(
          tap({ subscribe: () => (lock.holder = place) }),
          lock.queue.limit(),
          finalize(() => {
            if (--lock.users === 0) this.locks.delete(key);
            if (this.open.has(place)) this.open.set(place, '');
            this.left.next();
          }),
        );
      });
  }

  has(id: string, owner: string): boolean {
    return this.locks.has(keyOf(id, owner));
  }

  /** Stops the work of the requests up to a place (default: the last one). Returns whether this owner has such work. */
  stop(id: string, owner: string, upTo = this.last): boolean {
    const key = keyOf(id, owner);
    const last = Math.max(upTo, this.stops.get(key) ?? 0);
    this.stops.delete(key); // the one that is removed last comes last
    this.stops.set(key, last);
    this.removeStops();
    return this.locks.has(key);
  }

  /** Stops the work of an owner (also of requests that arrive), or that for one id. Completes when it has ended. */
  end(owner: string, id?: string): Observable<never> {
    return defer(() => {
      const start = keyOf(id ?? '', owner);
      const isMeant = (key: string) => (id === undefined ? key.startsWith(start) : key === start);
      this.stop(id ?? '', owner);
      return this.ended(isMeant);
    });
  }

  /** Whether the request that does the work for an id is stopped. */
  isStopped(id: string, owner: string): boolean {
    const place = this.holder(id, owner);
    return ['', id].some((each) => place <= (this.stops.get(keyOf(each, owner)) ?? 0));
  }

  /** The place of the request that does the work for an id. */
  holder(id: string, owner: string): number {
    return this.locks.get(keyOf(id, owner))?.holder ?? Infinity;
  }

  private ended(isMeant: (key: string) => boolean): Observable<never> {
    const work = [...this.open].filter(([, key]) => isMeant(key));
    const isOver = () => !work.some(([place, key]) => this.open.get(place) === key);
    return this.left.pipe(startWith(undefined), filter(isOver), take(1), ignoreElements());
  }

  private close(place: number): void {
    this.open.delete(place);
    this.removeStops();
    this.left.next();
  }

  private removeStops(): void {
    const [oldest = Infinity] = this.open.keys();
    for (const [key, upTo] of this.stops) {
      if (upTo >= oldest) return;
      this.stops.delete(key);
    }
  }
}

const dataDeleted = () =>
  new RequestError(409, 'The data of this user was deleted while the request arrived. Send it again.');

const keyOf = (id: string, owner: string): string => `${encodeURIComponent(owner)} ${id}`;

/** Does work again when another process has changed the record in the meantime. */
export const retryTaken = <T>(): MonoTypeOperatorFunction<T> =>
  retry({
    count: WORK_RETRIES,
    delay: (thrown: unknown) => (thrown instanceof RunTakenError ? of(0) : throwError(() => thrown)),
  });
