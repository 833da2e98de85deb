import { asyncScheduler, catchError, concatMap, defer, EMPTY, map, Observable, of, take, tap } from 'rxjs';
import { ConfigurationError, RivuletError } from '../../core/errors.js';
import { isSameJson } from '../../core/json/equal.js';
import type { RecordStore, StorableRecord } from './recordStore.js';
import { isEnded } from './isEnded.js';
import { RunNotFoundError } from '../runs/runErrors.js';
import type { RunLog } from './runLog.js';

/** How a port is guarded. */
interface GuardOptions {
  /** How long a call may take with its repetitions, in milliseconds: that of a lease. Default: 30000. */
  readonly lease?: number | undefined;
  /** Called with the first error of a call that failed, also if a repetition succeeds. Default: nothing is called. */
  readonly onError?: ((thrown: unknown) => void) | undefined;
}

export const DEFAULT_LEASE = 30_000;

/** In leases: with the pauses before the repetitions, three calls that do not answer take less than one, 29 s of 30. */
const TIME_LIMIT = 0.3;
const PAUSES = [0, 1 / 15];

/** A call of a port. */
interface Call<T> {
  readonly name: string;
  readonly work: () => Observable<T>;
  /** The call after one whose outcome is not known. Default: the call is not repeated. */
  readonly again?: (() => Observable<T>) | undefined;
}

/** Limits the time of each call, repeats what is safe to repeat, and reports a failure once. */
const createGuard =
  ({ lease = DEFAULT_LEASE, onError }: GuardOptions, timeLimit = TIME_LIMIT * lease) =>
  <T>({ name, work, again }: Call<T>): Observable<T> =>
    new Observable<T>((out) => {
      let first: unknown;
      const attempt = (call: () => Observable<T>, repeated: number) => {
        const fail = (thrown: unknown) => {
          // An error of ours is an answer, such as that another process has the run.
          if (thrown instanceof RivuletError) {
            out.error(thrown);
            return;
          }
          if (first === undefined) onError?.(thrown);
          first ??= thrown;
          const pause = PAUSES[repeated];
          if (again && pause !== undefined && !isEnded(thrown))
            out.add(asyncScheduler.schedule(() => attempt(again, repeated + 1), pause * lease));
          else out.error(first);
        };
        // `timeout` of RxJS would leave a timer after a call that completes at once without a value.
        // eslint-disable-next-line no-restricted-syntax -- no handler of a user is called
        const calling = defer(call).subscribe({
          next: (value) => out.next(value),
          error: fail,
          complete: () => out.complete(),
        });
        if (calling.closed) return; // at once: no timer is needed
        const late = () => {
          calling.unsubscribe();
          fail(new Error(`\`${name}\` has not answered for ${timeLimit} ms.`));
        };
        calling.add(asyncScheduler.schedule(late, timeLimit));
        out.add(calling);
      };
      attempt(work, 0);
    });

/** Guards a store: a write whose answer was lost is repeated, and the record shows whether it was done before. */
export function guardStore<R extends StorableRecord>(
  store: RecordStore<R>,
  options: GuardOptions = {},
): RecordStore<R> {
  const guard = createGuard(options);
  const repeated = <T>(name: keyof RecordStore<R>, call: () => Observable<T>) => {
    const work = () => call().pipe(take(1));
    return guard({ name: `store.${name}`, work, again: work });
  };
  return {
    get: (id) => repeated('get', () => store.get(id)),
    delete: (id, version) => repeated('delete', () => store.delete(id, version)),
    list: (query) => repeated('list', () => store.list(query)),
    put(record, version) {
      const work = () => store.put(record, version).pipe(take(1));
      const isWritten = () =>
        store.get(record.id).pipe(
          take(1),
          map((stored) => stored?.version === version + 1 && isSameJson(asJson(stored.record), asJson(record))),
        );
      const again = () => work().pipe(concatMap((isDone) => (isDone ? of(true) : isWritten())));
      return guard({ name: 'store.put', work, again });
    },
  };
}

/** A store may omit what is undefined. */
const asJson = (record: StorableRecord): unknown => JSON.parse(JSON.stringify(record));

/** Guards a log, whose `state` shows whether a write whose answer was lost was done. Streams have no time limit. */
export function guardLog(log: RunLog, options: GuardOptions = {}): RunLog {
  const guard = createGuard(options);
  const report = (thrown: unknown) => {
    if (!(thrown instanceof RivuletError)) options.onError?.(thrown);
  };
  return {
    isShared: log.isShared,
    // A browser can send any position: there is no such run for it.
    read: (run, from, receiver) =>
      log.read(run, from, receiver).pipe(
        catchError((thrown: unknown) => {
          throw thrown instanceof ConfigurationError ? new RunNotFoundError() : thrown;
        }),
      ),
    messages: (run, from) => log.messages(run, from).pipe(tap({ error: report })),
    append(run, attempt, events) {
      const work = () => log.append(run, attempt, events);
      return guard({ name: 'log.append', work, again: events.length === 0 ? work : undefined });
    },
    end(run, attempt, end) {
      const work = () => log.end(run, attempt, end);
      const again = () =>
        log.state(run).pipe(
          take(1),
          concatMap((state) => (state?.hasEnded && state.attempt === attempt ? EMPTY : work())),
        );
      return guard({ name: 'log.end', work, again });
    },
    state(run) {
      const work = () => log.state(run).pipe(take(1));
      return guard({ name: 'log.state', work, again: work });
    },
    send(run, message, room) {
      const work = () => log.send(run, message, room).pipe(take(1));
      return guard({ name: 'log.send', work, again: message.type === 'prompt' ? undefined : work });
    },
  };
}
