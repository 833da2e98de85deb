import { ConfigurationError } from '../../core/errors.js';
import type { ListedRecord, RecordPage, StorableRecord } from '../ports/recordStore.js';

export const PAGE_SIZE = 100;

export type ListPlace = Pick<StorableRecord, 'id' | 'updated'>;

export function pageOf<R extends StorableRecord>(found: readonly ListedRecord<R>[]): RecordPage<R> {
  const records = found.slice(0, PAGE_SIZE);
  const last: ListPlace | undefined = found.length > PAGE_SIZE ? records.at(-1) : undefined;
  return { records, ...(last ? { next: `${last.updated}:${last.id}` } : {}) };
}

/** A cursor comes from a client: it may be any text. */
export function placeOf(cursor: string): ListPlace {
  const [, updated, id] = /^(\d{1,15}):([^\p{C}]{1,1000})$/u.exec(cursor) ?? [];
  if (updated !== undefined && id !== undefined) return { updated: Number(updated), id };
  throw new ConfigurationError(
    'options',
    `"${cursor.slice(0, 40)}" is not the cursor of a list.`,
    'Pass `next` of the page before, or omit it to read the first page.',
  );
}
