import { defer, forkJoin, ignoreElements, map, of } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { StreamEvent } from '../../core/event.js';
import { isRecord } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import { settled } from '../../ui/settled.js';

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
