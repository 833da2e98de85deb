import { filter, fromEvent } from 'rxjs';

/** Reads a value from localStorage, which all tabs share. */
export const read = <T>(key: string): T | undefined => JSON.parse(localStorage.getItem(key) ?? 'null') ?? undefined;

/** Writes a value. A browser without room keeps what it has, and the conversation goes on. */
export function write(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch (error) {
    console.warn(`The browser has no room left for ${key}:`, error);
  }
}

/** Emits when another tab changes a value. */
export const changesElsewhere = (key: string) =>
  fromEvent<StorageEvent>(window, 'storage').pipe(filter((event) => event.key === key));
