import { concat, concatMap, defer, delay, ignoreElements, of, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunRecord, RunStore, StoredRun } from '../../lib/service/ports/runStore.js';

/** A delay of 1 to 4 ms. */
const randomDelay = () => 1 + Math.floor(Math.random() * 4);

/** A store that receives requests late and answers late: 1 to 4 ms each, so the answers are in any order. */
export function lateStore(store: RunStore = memoryStore(), pause: () => number = randomDelay): RunStore {
  const late = <T>(work: () => Observable<T>) => timer(pause()).pipe(concatMap(work), delay(pause()));
  return {
    get: (id) => late(() => store.get(id)),
    put: (record, version) => late(() => store.put(record, version)),
    delete: (id, version) => late(() => store.delete(id, version)),
    list: (query) => late(() => store.list(query)),
  };
}

/** A log that answers late. The order of the writes of one run is that of their subscriptions. */
export function lateLog(log: RunLog = memoryLog(), pause: () => number = randomDelay): RunLog {
  const late = <T>(work: Observable<T>) => timer(pause()).pipe(concatMap(() => work));
  const lateEnd = (work: Observable<never>) => concat(work, timer(pause()).pipe(ignoreElements()));
  return {
    isShared: true,
    append: (run, attempt, events) => lateEnd(log.append(run, attempt, events)),
    end: (run, attempt, end) => lateEnd(log.end(run, attempt, end)),
    state: (run) => late(log.state(run)),
    send: (run, message, room) => log.send(run, message, room).pipe(delay(pause())),
    read: (run, from, receiver) => late(log.read(run, from, receiver)),
    messages: (run, from) => late(log.messages(run, from)),
  };
}

/** A store in a Map, which a spec can read and change. `put` is called before each write, and may throw. */
export function mapStore(
  records = new Map<string, StoredRun>(),
  onPut: (record: RunRecord) => void = () => undefined,
): RunStore & { readonly records: Map<string, StoredRun> } {
  const isVersion = (id: string, version: number) => (records.get(id)?.version ?? 0) === version;
  return {
    records,
    get: (id) => defer(() => of(records.get(id))),
    put: (record, version) =>
      defer(() => {
        onPut(record);
        if (!isVersion(record.id, version)) return of(false);
        records.set(record.id, { record: JSON.parse(JSON.stringify(record)) as RunRecord, version: version + 1 });
        return of(true);
      }),
    delete: (id, version) =>
      defer(() => {
        if (isVersion(id, version)) records.delete(id);
        return of(!records.has(id));
      }),
    list: ({ owner, state }) =>
      defer(() => {
        const own = [...records.values()].filter(
          ({ record }) => (owner === null || record.owner === owner) && (state === undefined || record.state === state),
        );
        return of({ records: own.map(({ record, version }) => ({ ...record, version })) });
      }),
  };
}

/** What another process finds in the store after this one was killed, when its leases have ended. */
export const afterCrash = ({ records }: ReturnType<typeof mapStore>) =>
  mapStore(
    new Map(
      [...records].map(([id, { record, version }]) => [id, { version, record: { ...record, executor: undefined } }]),
    ),
  );
