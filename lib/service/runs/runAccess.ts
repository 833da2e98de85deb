import { catchError, concatMap, defaultIfEmpty, defer, endWith, from, ignoreElements, map, mergeMap, of } from 'rxjs';
import { take, tap, throwIfEmpty } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import { estimateSize } from './estimateSize.js';
import { RequestError } from '../http/requestError.js';
import type { RunRecord, RunStore, StoredRun } from '../ports/runStore.js';
import { settled } from '../../core/settled.js';

/** The client that sends a request. */
export interface Client<C> {
  readonly context: C;
  readonly owner: string;
}

/** Who may read and change which runs. */
export interface RunAccess<C> {
  /** Identifies the client with the option `context`. It fails with a RequestError 403. */
  authorize(context: (() => C | ObservableInput<C>) | undefined): Observable<Client<C>>;
  /** The record with an id; undefined if there is none, or if another owner has it. */
  find(id: string, owner: string): Observable<StoredRun | undefined>;
  /** The records with these ids. It fails with a RequestError 413 if they have more than the allowed bytes. */
  findAll(ids: readonly string[], owner: string): Observable<ReadonlyMap<string, StoredRun>>;
  /** Changes a record, or creates it, unless `change` returns undefined. Emits whether it was changed. */
  update(
    id: string,
    owner: string,
    change: (record: RunRecord | undefined) => RunRecord | undefined,
  ): Observable<boolean>;
}

/** How many records are read at a time for one request. */
const READS_AT_ONCE = 16;

/** How many times a change is retried after another request changed the record in the meantime. */
const MAX_RETRIES = 5;

/** The sizes of records: a store in memory returns the same one each time. */
const sizes = new WeakMap<RunRecord, number>();

/** About how many bytes a record adds to a conversation. */
export function sizeOfHistory(record: RunRecord): number {
  const { input, result, failure, protocol } = record;
  const size = sizes.get(record) ?? estimateSize([input, result?.messages, failure?.messages, protocol]);
  sizes.set(record, size);
  return size;
}

const tooLong = (max: number) =>
  new RequestError(413, `The conversation has more than ${max} bytes. Start another one, or send fewer earlier runs.`);

/** The owner, as the option says. Otherwise, all users without an id would share one owner. */
function requireOwner(owner: unknown): string {
  if (typeof owner === 'string') return owner;
  throw new ConfigurationError(
    'options',
    `The option \`owner\` has returned a value of the type ${typeof owner}.`,
    'Return the id of the user as a text, and throw in `context` if there is no user.',
  );
}

/** Creates the access to the records of a store: an owner sees only its own records. */
export function createRunAccess<C>(
  store: RunStore,
  ownerOf: ((context: C) => string) | undefined,
  onError: (thrown: unknown) => void,
  maxHistoryBytes: number,
): RunAccess<C> {
  const find = (id: string, owner: string) =>
    defer(() => store.get(id)).pipe(
      take(1),
      map((stored) => (stored?.record.owner === owner ? stored : undefined)),
      defaultIfEmpty(undefined),
    );
  const update: RunAccess<C>['update'] = (id, owner, change) => {
    const attempt = (retriesLeft: number): Observable<boolean> =>
      find(id, owner).pipe(
        concatMap((stored) => {
          const record = change(stored?.record);
          if (!record) return of(false);
          return store.put(record, stored?.version ?? 0).pipe(
            take(1),
            concatMap((isDone) => (isDone || retriesLeft === 0 ? of(isDone) : attempt(retriesLeft - 1))),
          );
        }),
      );
    return attempt(MAX_RETRIES);
  };
  return {
    find,
    update,
    findAll: (ids, owner) =>
      defer(() => {
        const all = new Map<string, StoredRun>();
        let size = 0;
        return from(new Set(ids)).pipe(
          mergeMap((id) => find(id, owner), READS_AT_ONCE),
          tap((stored) => {
            if (!stored) return;
            size += sizeOfHistory(stored.record);
            if (size > maxHistoryBytes) throw tooLong(maxHistoryBytes);
            all.set(stored.record.id, stored);
          }),
          ignoreElements(),
          endWith(all),
        );
      }),
    authorize: (context) =>
      defer(() => settled(context?.() as C | ObservableInput<C>)).pipe(
        take(1),
        throwIfEmpty(),
        map((value) => ({ context: value, owner: ownerOf ? requireOwner(ownerOf(value)) : '' })),
        catchError((thrown: unknown) => {
          onError(thrown);
          throw new RequestError(403, 'You may not use this agent.');
        }),
      ),
  };
}
