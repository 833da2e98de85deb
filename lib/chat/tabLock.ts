import { noop, Observable, of } from 'rxjs';

/** The right of one tab to do something for a run or for a chat. */
export interface TabLock {
  /** Whether another tab had it before. */
  readonly hasWaited: boolean;
  release(): void;
}

/** The lock of every tab where the browser gives none. */
export const noLock: TabLock = { hasWaited: false, release: noop };

/**
 * The lock lasts until `release` or the end of the page. Without the API (no HTTPS, Node), every tab gets it, also if
 * the browser refuses it (a sandboxed frame). A tab gets it again if another script steals it. It never fails.
 */
export function lockTab(id: string): Observable<TabLock> {
  const { locks } = (globalThis as { readonly navigator?: { readonly locks?: LockManager } }).navigator ?? {};
  if (!locks) return of(noLock);
  return new Observable<TabLock>((out) => {
    const name = `rivulet ${id}`;
    const unsubscribed = new AbortController();
    /** The browser takes it back when the Promise resolves. */
    const emitLock = (hasWaited: boolean): Promise<void> => {
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => (release = resolve));
      if (out.closed) release();
      out.next({ hasWaited, release });
      return released;
    };
    const emitIfFree = (free: Lock | null) => (free ? emitLock(false).then(() => true) : false);
    const waitAndEmit = () => locks.request(name, { signal: unsubscribed.signal }, () => emitLock(true));
    locks
      .request(name, { ifAvailable: true }, emitIfFree)
      .then((wasFree) => (wasFree ? undefined : waitAndEmit()))
      .catch(() => out.next(noLock)); // after `abort`, the output is closed
    return () => unsubscribed.abort();
  });
}
