import { DestroyRef, DOCUMENT, ErrorHandler, inject, signal, type Signal } from '@angular/core';
import { takeUntilDestroyed } from '@angular/core/rxjs-interop';
import { filter, fromEvent, switchMap, type Observable } from 'rxjs';

export type ConversationStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export interface PageStorage {
  /** Undefined on a server, and if the browser forbids it. */
  readonly storage: ConversationStorage | undefined;
  /** The browser forbids storage, or has no room left. */
  readonly error: Signal<unknown>;
  readonly fail: (thrown: unknown) => void;
  /** Calls `changed` when another tab has changed a value, and `ready` has emitted. */
  onChange(isOwn: (key: string | null) => boolean, ready: () => Observable<unknown>, changed: () => void): void;
}

export function injectPageStorage(chosen: ConversationStorage | undefined): PageStorage {
  const destroyed = inject(DestroyRef);
  const errors = inject(ErrorHandler);
  const page = inject(DOCUMENT).defaultView;
  const error = signal<unknown>(undefined);
  let storage = chosen;
  try {
    storage ??= page?.localStorage;
  } catch (thrown) {
    error.set(thrown); // SecurityError: the user has blocked the data of sites
  }
  return {
    storage,
    error,
    fail: (thrown) => error.set(thrown),
    onChange(isOwn, ready, changed) {
      if (!page) return;
      const events = fromEvent<StorageEvent>(page, 'storage').pipe(
        filter(({ key, storageArea }) => storageArea === storage && isOwn(key)),
      );
      events
        .pipe(switchMap(ready), takeUntilDestroyed(destroyed))
        .subscribe({ next: changed, error: (thrown: unknown) => errors.handleError(thrown) });
    },
  };
}
