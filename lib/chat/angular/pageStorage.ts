import { DestroyRef, DOCUMENT, ErrorHandler, inject, InjectionToken, signal, type Signal } from '@angular/core';
import { takeUntilDestroyed } from '@angular/core/rxjs-interop';
import { fromEvent } from 'rxjs';

export type ConversationStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export interface PageStorage {
  /** That of the browser; in a server, and if the browser forbids it, that of the application. */
  readonly storage: ConversationStorage;
  /** The browser forbids storage, or has no room left. */
  readonly error: Signal<unknown>;
  readonly fail: (thrown: unknown) => void;
  onChange(changed: (key: string | null) => unknown): void;
}

/** The storage of a browser that forbids one, and of a server: it ends with the application. */
const MEMORY = /* @__PURE__ */ new InjectionToken<ConversationStorage>('rivulet storage', {
  factory: () => {
    const texts = new Map<string, string>();
    return {
      getItem: (key) => texts.get(key) ?? null,
      setItem: (key, text) => void texts.set(key, text),
      removeItem: (key) => void texts.delete(key),
    };
  },
});

export function injectPageStorage(chosen: ConversationStorage | undefined): PageStorage {
  const destroyed = inject(DestroyRef);
  const errors = inject(ErrorHandler);
  const page = inject(DOCUMENT).defaultView;
  const error = signal<unknown>(undefined);
  let own = chosen;
  try {
    own ??= page?.localStorage;
  } catch (thrown) {
    error.set(thrown); // SecurityError: the user has blocked the data of sites
  }
  const storage = own ?? inject(MEMORY);
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
