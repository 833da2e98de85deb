import type { Observable } from 'rxjs';
import { isSameJson } from '../../core/json/equal.js';

export function record<T>(source: Observable<T>) {
  const log = { values: [] as T[], error: undefined as unknown, completed: false };
  const subscription = source.subscribe({
    next: (value) => log.values.push(value),
    error: (error: unknown) => (log.error = error),
    complete: () => (log.completed = true),
  });
  return Object.assign(log, { subscription });
}

export function expectSame(what: string, actual: unknown, expected: unknown): void {
  if (isSameJson(actual, expected)) return;
  fail(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}.`);
}

export function fail(message: string): never {
  throw new Error(`The operator breaks its contract: ${message}`);
}
