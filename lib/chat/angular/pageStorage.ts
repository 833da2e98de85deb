import { DestroyRef, DOCUMENT, ErrorHandler, inject, signal, type Signal } from '@angular/core';
import { takeUntilDestroyed } from '@angular/core/rxjs-interop';
import { fromEvent } from 'rxjs';

export type ConversationStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export interface PageStorage {
  /** Undefined on a server, and if the browser forbids it. */
  readonly storage: ConversationStorage | undefined;
  /** The browser forbids storage, or has no room left. */
  readonly error: Signal<unknown>;
  readonly fail: (thrown: unknown) => void;
  onChange(changed: (key: string | null) => unknown): void;
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
    onChange(changed) {
      if (!page) return;
      fromEvent<StorageEvent>(page, 'storage')
        .pipe(takeUntilDestroyed(destroyed))
        .subscribe({
          next: ({ key, storageArea }) => storageArea === storage && changed(key),
          error: (thrown: unknown) => errors.handleError(thrown),
        });
    },
  };
}
