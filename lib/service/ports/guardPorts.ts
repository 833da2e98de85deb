import { asyncScheduler, catchError, concatMap, defer, EMPTY, map, Observable, take, tap, throwIfEmpty } from 'rxjs';
import type { Observer, Subscriber } from 'rxjs';
import { ConfigurationError, RivuletError } from '../../core/errors.js';
import { isSameJson } from '../../core/json/equal.js';
import type { RecordStore, StorableRecord, Stored } from './recordStore.js';
import { isEnded, SilentPortError } from './isEnded.js';
import { ExecutorLostError, RunNotFoundError } from '../runs/runErrors.js';
import type { LogState, RunLog } from './runLog.js';

/** How a port is guarded. */
interface GuardOptions {
  /** How long a call may take with its repetitions, in milliseconds: that of a lease. Default: 30000. */
  readonly lease?: number | undefined;
  /** Called with the first error of a call that failed, also if a repetition succeeds. Default: nothing is called. */
  readonly onError?: ((thrown: unknown) => void) | undefined;
  /** Whether the service ends: a call that is not answered then is not repeated. Default: it does not. */
  readonly isEnding?: (() => boolean) | undefined;
}

export const DEFAULT_LEASE = 30_000;

/** In leases: with the pauses before the repetitions, three calls that do not answer take less than one, 29 s of 30. */
const TIME_LIMIT = 0.3;
const PAUSES = [0, 0.066];

/** In leases: the time of a call after one that was not answered while the service ends. */
const LAST_TIME_LIMIT = 0.02;

type Work<T> = () => Observable<T>;

/** The one value of a call. Without a value, the call would count as done. */
function answerOf<T>(name: string, answer: Observable<T>): Observable<T> {
  const noAnswer = () => new Error(`\`${name}\` has completed without a value.`);
  return answer.pipe(take(1), throwIfEmpty(noAnswer));
}

/**
 * Limits the time of each call, repeats what is safe to repeat, and reports a failure once.
 *
 * @param again The call after one whose outcome is not known. `undefined`: the call is not repeated.
 */
const createGuard = (options: GuardOptions) => {
  const port: GuardedPort = { ...options, isSilent: false };
  return <T>(name: string, work: Work<T>, again: Work<T> | undefined): Observable<T> =>
    new Observable<T>((out) => new GuardedCall(out, name, again, port).attempt(work));
};

interface GuardedPort extends GuardOptions {
  /** Whether the last call was not answered, and the service ends. */
  isSilent: boolean;
}

/** A class, and not closures: a run makes a call for each delta, and most are answered at once. */
class GuardedCall<T> implements Observer<T> {
  private first: unknown;
  private repeated = 0;

  constructor(
    private readonly out: Subscriber<T>,
    private readonly name: string,
    private readonly again: Work<T> | undefined,
    private readonly port: GuardedPort,
  ) {}

  attempt(work: Work<T>): void {
    const calling = defer(work).subscribe(this);
    if (calling.closed) return; // at once: no timer is needed
    const { port, lease } = this;
    const timeLimit = (port.isSilent ? LAST_TIME_LIMIT : TIME_LIMIT) * lease;
    const late = () => {
      calling.unsubscribe();
      port.isSilent = port.isEnding?.() ?? false;
      const message = `\`${this.name}\` has not answered for ${timeLimit} ms.`;
      this.error(port.isSilent ? new SilentPortError(message) : new Error(message));
    };
    // `timeout` of RxJS would leave a timer after a call that completes without a value.
    calling.add(asyncScheduler.schedule(late, timeLimit));
    this.out.add(calling);
  }

  next(value: T): void {
    this.out.next(value);
  }

  complete(): void {
    this.port.isSilent = false;
    this.out.complete();
  }

  error(thrown: unknown): void {
    const { again } = this;
    // An error of ours is an answer, such as that another process has the run.
    if (thrown instanceof RivuletError) {
      this.out.error(thrown);
      return;
    }
    if (this.first === undefined) this.port.onError?.(thrown);
    this.first ??= thrown;
    const pause = PAUSES[this.repeated++];
    if (again && pause !== undefined && !isEnded(thrown))
      this.out.add(asyncScheduler.schedule(() => this.attempt(again), pause * this.lease));
    else this.out.error(this.first);
  }

  private get lease(): number {
    return this.port.lease ?? DEFAULT_LEASE;
  }
}

/** Guards a store: a write whose answer was lost is repeated, and the record shows whether it was done before. */
export function guardStore<R extends StorableRecord>(
  store: RecordStore<R>,
  options: GuardOptions = {},
): RecordStore<R> {
  const guard = createGuard(options);
  const repeated = <T>(name: keyof RecordStore<R>, call: Work<T>) => {
    const work = () => answerOf(`store.${name}`, call());
    return guard(`store.${name}`, work, work);
  };
  return {
    get: (id) => repeated('get', () => store.get(id)),
    delete: (id, version) => repeated('delete', () => store.delete(id, version)),
    list: (query) => repeated('list', () => store.list(query)),
    put(record, version) {
      const work = () => answerOf('store.put', store.put(record, version));
      const isSame = (stored?: Stored<R>) => stored?.version === version + 1 && isSameRecord(stored.record, record);
      const isWritten = () => answerOf('store.get', store.get(record.id)).pipe(map(isSame));
      return guard('store.put', work, () => work().pipe(concatMap((isDone) => (isDone ? [true] : isWritten()))));
    },
  };
}

/** A store may omit what is undefined. */
const asJson = (record: StorableRecord): unknown => JSON.parse(JSON.stringify(record));

export const isSameRecord = (a: StorableRecord, b: StorableRecord): boolean => isSameJson(asJson(a), asJson(b));

/** Guards a log, whose `state` shows whether a write whose answer was lost was done. Streams have no time limit. */
export function guardLog(log: RunLog, options: GuardOptions = {}): RunLog {
  const guard = createGuard(options);
  const state = (run: string) => answerOf('log.state', log.state(run));
  const report = (thrown: unknown) => {
    if (!(thrown instanceof RivuletError)) options.onError?.(thrown);
  };
  return {
    isShared: log.isShared,
    // A browser can send any position: there is no such run for it. A read that fails says nothing of the run.
    read: (run, from, receiver) =>
      log.read(run, from, receiver).pipe(
        catchError((thrown: unknown) => {
          if (thrown instanceof ConfigurationError) throw new RunNotFoundError();
          report(thrown);
          throw thrown instanceof RivuletError ? thrown : new ExecutorLostError();
        }),
      ),
    messages: (run, from) => log.messages(run, from).pipe(tap({ error: report })),
    append(run, attempt, events) {
      const work = () => log.append(run, attempt, events);
      return guard('log.append', work, events.length === 0 ? work : undefined);
    },
    end(run, attempt, end) {
      const work = () => log.end(run, attempt, end);
      const isDone = (found: LogState | undefined) => found?.hasEnded === true && found.attempt === attempt;
      return guard('log.end', work, () => state(run).pipe(concatMap((found) => (isDone(found) ? EMPTY : work()))));
    },
    state(run) {
      const work = () => state(run);
      return guard('log.state', work, work);
    },
    send(run, message, room) {
      const work = () => answerOf('log.send', log.send(run, message, room));
      return guard('log.send', work, message.type === 'prompt' ? undefined : work);
    },
  };
}
