import { defer, forkJoin, from, ignoreElements, isObservable, map, of } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { StreamEvent } from '../../core/event.js';
import { isRecord } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';

/** What a server keeps of a response, as plain JSON. */
export interface KeptResponse {
  /** The messages of the response, as the model wrote them. */
  readonly messages: readonly Message[];
  /** The run, if it waits for the browser. It is trusted: keep it at the server. */
  readonly checkpoint?: Checkpoint;
  /** What the run has emitted so far, if it waits: a browser that connects later receives it first. */
  readonly events?: readonly StreamEvent[];
}

/** Keeps responses by the ids of their messages. A `Map` fits; a database returns Promises or Observables. */
export interface ResponseStore {
  get(id: string): KeptResponse | undefined | ObservableInput<KeptResponse | undefined>;
  set(id: string, response: KeptResponse): unknown;
}

/** A store in memory, of the newest responses. */
export function recentResponses(count = 1000): ResponseStore {
  const responses = new Map<string, KeptResponse>();
  return {
    get: (id) => responses.get(id),
    set(id, response) {
      responses.delete(id);
      responses.set(id, response);
      const [oldest] = responses.keys();
      if (responses.size > count && oldest !== undefined) responses.delete(oldest);
    },
  };
}

/** Reads the responses that are kept, by their ids. */
export function readResponses(
  store: ResponseStore,
  ids: readonly string[],
): Observable<ReadonlyMap<string, KeptResponse>> {
  if (ids.length === 0) return of(new Map());
  const read = (id: string) => defer(() => settled(store.get(id))).pipe(map((kept) => [id, kept] as const));
  return forkJoin([...new Set(ids)].map(read)).pipe(
    map((entries) => new Map(entries.filter((entry): entry is [string, KeptResponse] => isRecord(entry[1])))),
  );
}

/** Writes a response, and completes when it is written. */
export const writeResponse = (store: ResponseStore, id: string, response: KeptResponse): Observable<never> =>
  defer(() => settled(store.set(id, response))).pipe(ignoreElements());

/** A value, or what a Promise or an Observable emits. A value is emitted at once, and an array is one value. */
export function settled<T>(value: T | ObservableInput<T>): Observable<T> {
  if (isObservable(value)) return value;
  return isThenable(value) ? from(value) : of(value as T);
}

/** The query builders of databases are thenable, and not Promises. */
const isThenable = (value: unknown): value is PromiseLike<never> =>
  typeof (value as PromiseLike<never> | null)?.then === 'function';
