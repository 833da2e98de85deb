import { catchError, defaultIfEmpty, defer, endWith, from, ignoreElements, map, mergeMap, of, take, tap } from 'rxjs';
import { throwIfEmpty, type Observable, type ObservableInput } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import { estimateSize } from './estimateSize.js';
import { inTime } from '../http/readBody.js';
import { conversationTooLarge, later, RequestError } from '../http/requestError.js';
import type { RunRecord, RunStore, StoredRun } from '../ports/runStore.js';
import { settled } from '../../core/settled.js';
import type { Client } from '../client.js';
import type { ServiceOptions } from '../serviceOptions.js';
import { OWNERS } from '../ownerUsage.js';
import { changeRecord } from './changeRecord.js';
import { requireSync } from '../../core/options.js';

/** How many records are read for one request, and how many of them at a time. */
const MAX_READS = 2000;
const READS_AT_ONCE = 16;

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
  conversationTooLarge(
    `The conversation has more than ${max} bytes. Start another one, or send fewer earlier runs.`,
    max,
  );

const lateContext = () => later(503, 'The service could not identify the client in time. Ask again.');

/** Owners are in keys of stores, where a character has up to 9 bytes: PostgreSQL refuses keys of more than 2,704. */
const MAX_OWNER_LENGTH = 256;

/** The owner, as the option says. Otherwise, all users without an id would share one owner. */
function requireOwner(owner: unknown): string {
  const isText = typeof owner === 'string' && owner.length <= MAX_OWNER_LENGTH && !/\p{Surrogate}/u.test(owner);
  if (isText && owner !== OWNERS) return owner;
  throw new ConfigurationError(
    'options',
    `The option \`owner\` has returned a value of the type ${typeof owner} that is not the id of a user.`,
    `Return the id of the user as a text of at most ${MAX_OWNER_LENGTH} characters, without halves of characters. ` +
      'Throw in `context` if there is no user.',
  );
}

/** Who asks, and which runs of a guarded store this owner may read and change: only its own. */
export class RunAccess<C> {
  /** What a handler has received beside a request. */
  readonly incoming = new WeakMap<Request, unknown>();

  constructor(
    private readonly store: RunStore,
    private readonly options: Pick<ServiceOptions<C>, 'context' | 'owner'>,
    private readonly onError: (thrown: unknown) => void,
    private readonly maxHistoryBytes: number,
  ) {}

  clientOf(context: C): Client<C> {
    const { owner } = this.options;
    return { context, owner: owner ? requireOwner(requireSync('owner', owner(context))) : '' };
  }

  /** Identifies the client of a request. It fails with a RequestError 403 or 503. */
  authorize(request: Request, chat = ''): Observable<Client<C>> {
    const { options } = this;
    if (!options.context && !options.owner) return of(this.clientOf(undefined as C));
    const incoming = this.incoming.get(request);
    return defer(() => settled(options.context?.(request, incoming, chat) as C | ObservableInput<C>)).pipe(
      take(1),
      throwIfEmpty(),
      map((context) => this.clientOf(context)),
      catchError((thrown: unknown) => {
        this.onError(thrown);
        throw new RequestError(403, 'You may not use this agent.');
      }),
      inTime(lateContext),
    );
  }

  /** The record with an id; undefined if there is none, or if another owner has it. */
  find(id: string, owner: string): Observable<StoredRun | undefined> {
    return this.store.get(id).pipe(
      map((stored) => (stored?.record.owner === owner ? stored : undefined)),
      defaultIfEmpty(undefined),
    );
  }

  /** The records with these ids. It fails with a RequestError 413 if they are too many, or have too many bytes. */
  findAll(ids: readonly string[], owner: string): Observable<ReadonlyMap<string, StoredRun>> {
    return defer(() => {
      const all = new Map<string, StoredRun>();
      const unique = new Set(ids);
      if (unique.size > MAX_READS) throw new RequestError(413, `Name at most ${MAX_READS} earlier runs.`);
      let size = 0;
      return from(unique).pipe(
        mergeMap((id) => this.find(id, owner), READS_AT_ONCE),
        tap((stored) => {
          if (!stored) return;
          size += sizeOfHistory(stored.record);
          if (size > this.maxHistoryBytes) throw tooLong(this.maxHistoryBytes);
          all.set(stored.record.id, stored);
        }),
        ignoreElements(),
        endWith(all),
      );
    });
  }

  /** Changes the record of an owner, or creates it, as `changeRecord` does. */
  update(
    id: string,
    owner: string,
    change: (record: RunRecord | undefined) => RunRecord | undefined,
  ): Observable<StoredRun | undefined> {
    return changeRecord(this.store, id, (record) => (record && record.owner !== owner ? undefined : change(record)));
  }
}

/** The error for a `context` without an `owner`. */
export const ownerIsMissing = () =>
  new ConfigurationError(
    'options',
    'The service has a `context`, but no `owner`: every user could read and continue the runs of any other.',
    'Pass `owner: (context) => context.userId`, or `() => ""` if all users share their runs.',
  );
