import { asyncScheduler, catchError, concatMap, defer, from, ignoreElements, lastValueFrom } from 'rxjs';
import { map, of, take, toArray, type Observable, type ObservableInput } from 'rxjs';
import { isSameJson } from '../core/json/equal.js';

/** One check of the contract of a port, for any test runner. */
export interface PortContractCase {
  /** A sentence without its subject: `writes a record if the version is the one it has`. */
  readonly title: string;
  /** Rejects with an Error that says what was expected and what happened. */
  readonly run: () => Promise<void>;
}

export type Check<T> = (port: T) => Observable<unknown>;

export const casesOf = <T>(create: () => T | ObservableInput<T>, checks: Readonly<Record<string, Check<T>>>) =>
  Object.entries(checks).map(([title, check]): PortContractCase => ({
    title,
    run: () => {
      const port = defer(() => {
        const created = create();
        return isPort(created) ? of(created) : from(created);
      });
      const done = port.pipe(take(1), concatMap(check), ignoreElements());
      return lastValueFrom(done, { defaultValue: undefined });
    },
  }));

const isPort = <T>(value: T | ObservableInput<T>): value is T =>
  typeof value === 'object' && value !== null && ('put' in value || 'append' in value);

let count = 0;
/** An implementation may keep the data of all cases. */
export const newId = () => `contract-${asyncScheduler.now().toString(36)}-${(count += 1)}`;

export const expecting = <T>(subject: string, actual: Observable<T>, expected: unknown): Observable<unknown> =>
  actual.pipe(
    toArray(),
    map((values) => expectSame(subject, values, [expected])),
  );

export const failing = (subject: string, actual: Observable<unknown>, code: string): Observable<unknown> =>
  actual.pipe(
    toArray(),
    map((values) => ({ values })),
    catchError((thrown: unknown) => of({ code: (thrown as { code?: unknown }).code })),
    map((outcome) => expectSame(subject, outcome, { code })),
  );

export const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

export function expectSame(subject: string, actual: unknown, expected: unknown): void {
  const [got, wanted] = [actual, expected].map((value) => JSON.stringify(value));
  if (got === wanted || (got !== undefined && wanted !== undefined && isSameJson(JSON.parse(got), JSON.parse(wanted))))
    return;
  throw new Error(`The port breaks its contract: ${subject}: expected ${wanted}, got ${got}.`);
}
