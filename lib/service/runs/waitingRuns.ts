import { asyncScheduler, bufferCount, concatMap, filter, forkJoin, from, map, toArray, type Observable } from 'rxjs';
import type { WaitingCall } from '../../core/approval.js';
import { omitUndefined } from '../../core/json/json.js';
import { isUnguessable } from '../../transport/randomId.js';
import type { WaitingPage, WaitingRun } from '../../transport/waitingRun.js';
import { titleFrom } from '../chats/chatRequests.js';
import type { ListedRecord } from '../ports/recordStore.js';
import { waitingIn } from './liveAnswers.js';
import type { RunRecord, RunStore, StoredRun } from '../ports/runStore.js';

/** How many records are read at a time. */
const READS_AT_ONCE = 16;

/** Reads the records of a list that wait, in their order. One that does not wait any more is omitted. */
export const withWaiting = (
  store: RunStore,
  listed: readonly ListedRecord<RunRecord>[],
): Observable<readonly (readonly [ListedRecord<RunRecord>, StoredRun])[]> =>
  from(listed).pipe(
    bufferCount(READS_AT_ONCE),
    concatMap((some) =>
      forkJoin(some.map((record) => store.get(record.id).pipe(map((stored) => [record, stored] as const)))),
    ),
    concatMap((found) => found),
    filter((found): found is readonly [ListedRecord<RunRecord>, StoredRun] => found[1]?.record.state === 'waiting'),
    toArray(),
  );

/** A page of the runs of an owner that wait, as a browser may read it: those that it can resume. */
export const waitingPage = (store: RunStore, owner: string, cursor?: string): Observable<WaitingPage> =>
  store.list({ owner, state: 'waiting', cursor }).pipe(
    concatMap(({ records, next }) =>
      withWaiting(
        store,
        records.filter(({ id }) => isUnguessable(id)),
      ).pipe(map((found) => ({ runs: found.map(([, stored]) => publicRun(stored)), next }))),
    ),
  );

/** Whether the time of a question is over. */
export const hasExpired = (waiting: readonly WaitingCall[]): boolean =>
  waiting.some(({ question }) => (question?.expires ?? Infinity) <= asyncScheduler.now());

function publicRun(stored: StoredRun): WaitingRun {
  const { id, updated, input } = stored.record;
  const texts = input.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')));
  const calls = waitingIn(stored.record);
  const waiting = calls.map(({ id: call, name, arguments: args, details, question, path }) => ({
    ...{ id: call, name, arguments: args },
    ...omitUndefined({ details, question, path }),
  }));
  return { id, title: titleFrom(texts.join('\n')), updated, waiting, ...(hasExpired(calls) && { isOver: true }) };
}
