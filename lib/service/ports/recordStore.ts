import type { Observable } from 'rxjs';

/** What a store reads in a record, to list it and to remove it in time. The rest is any JSON. */
export interface StorableRecord {
  readonly id: string;
  readonly owner: string;
  /** `waiting`: a memory that is full removes it only if its owner has no other record. */
  readonly state?: string | undefined;
  /** Shown in a list. */
  readonly title?: string | undefined;
  /** Its place in a list, in milliseconds since 1970. */
  readonly updated: number;
  /** When the store may remove it, in milliseconds since 1970. Default: as the store decides. */
  readonly expires?: number | undefined;
  /** Until `until`, in milliseconds since 1970, the store does not remove it. */
  readonly executor?: { readonly until: number } | undefined;
}

/** A record, and its version in the store. */
export interface Stored<R> {
  readonly record: R;
  /** 1 for a new record; each `put` adds 1. */
  readonly version: number;
}

/** Which records are listed. */
export interface RecordQuery {
  /** Whose records. `null`: those of all owners, for an administrator. */
  readonly owner: string | null;
  /** Default: records in any state. */
  readonly state?: string | undefined;
  /** `next` of the page before. Default: the first page. */
  readonly cursor?: string | undefined;
}

/** A record in a list, without its content. */
export type ListedRecord<R extends StorableRecord = StorableRecord> = Pick<
  R,
  keyof R & ('id' | 'owner' | 'state' | 'title' | 'updated')
> & { readonly version: number };

/** A page of a list. */
export interface RecordPage<R extends StorableRecord = StorableRecord> {
  readonly records: readonly ListedRecord<R>[];
  /** The `cursor` of the next page. Absent after the last page. */
  readonly next?: string | undefined;
}

/**
 * Stores records of one kind: the runs of a service, or its chats.
 *
 * Each function returns a cold Observable that emits one value. A store may answer late, and in any order; two services
 * may use one store at the same time. `storeContract` in `rivulet/testing` has the checks for an implementation.
 */
export interface RecordStore<R extends StorableRecord> {
  /** The record with an id; undefined if there is none. */
  get(id: string): Observable<Stored<R> | undefined>;
  /**
   * Writes a record if the store has exactly the named version of it, in one atomic step.
   *
   * @param record The record. It replaces the one with the same id.
   * @param version The version that it replaces; 0: there must be none. The new version is `version + 1`. A record that
   * was deleted and is created again begins at 1.
   * @returns Whether it was written. False: another version is there.
   */
  put(record: R, version: number): Observable<boolean>;
  /**
   * Deletes a record if the store has exactly the named version of it, in one atomic step.
   *
   * @returns Whether the store has no such record now, also if it had none: a call whose answer was lost is repeated.
   * False: another version is there.
   */
  delete(id: string, version: number): Observable<boolean>;
  /**
   * Lists records without their content. The one with the highest `updated` comes first; of those with the same, the
   * one with the highest id. A record that is changed while the pages are read may move to a page that was read.
   *
   * @returns A page. It fails with a ConfigurationError if the cursor is not one of a list.
   */
  list(query: RecordQuery): Observable<RecordPage<R>>;
}
