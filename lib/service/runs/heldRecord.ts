import { AsyncSubject, concatMap, defaultIfEmpty, defer, finalize, ignoreElements, of } from 'rxjs';
import { onErrorResumeNext, take, tap, type Observable } from 'rxjs';
import { createSemaphore } from '../../core/semaphore.js';
import type { RunRecord, RunStore } from '../ports/runStore.js';
import { isSameRecord } from '../ports/guardPorts.js';
import { requireDone } from './changeRecord.js';

/** The writes of a process. Each is done to its end, also if nobody waits for it any more. */
export class Writes {
  private readonly open = new Set<Observable<never>>();
  /** Completes when nothing is being written. */
  readonly done: Observable<never> = defer(() => onErrorResumeNext(...this.open));

  complete(work: Observable<never>): Observable<never> {
    const result = new AsyncSubject<never>();
    this.open.add(result);
    work.pipe(finalize(() => this.open.delete(result))).subscribe(result);
    return result;
  }
}

/**
 * A record that this process may change: each change fails with a RunTakenError if another process has written it.
 * Changes are done one by one, each to its end: after one that was unsubscribed, the version would be unknown.
 */
export class HeldRecord {
  private readonly oneByOne = createSemaphore(1);
  /** What a write that has failed was to write: the store may have it. */
  private uncertain: RunRecord | undefined;

  constructor(
    private readonly store: RunStore,
    /** The record, as the store has it. */
    public record: RunRecord,
    private version: number,
    private readonly writes: Writes,
  ) {}

  write(changes: Partial<RunRecord>): Observable<never> {
    return this.change(() => {
      const next = { ...this.record, ...changes };
      this.uncertain = next;
      return this.store.put(next, this.version).pipe(
        tap((isDone) => {
          this.uncertain = undefined;
          if (!isDone) return;
          this.record = next;
          this.version += 1;
        }),
      );
    });
  }

  /** Writes the record that was there before. Nothing is written after it. */
  restore(before: RunRecord): Observable<never> {
    return this.change(() => this.store.put(before, this.version));
  }

  delete(): Observable<never> {
    return this.change(() => this.store.delete(this.record.id, this.version));
  }

  private change(work: () => Observable<boolean>): Observable<never> {
    return defer(() =>
      this.writes.complete(
        this.findVersion().pipe(
          concatMap(work),
          take(1),
          defaultIfEmpty(false),
          requireDone(undefined),
          ignoreElements(),
          this.oneByOne.limit(),
        ),
      ),
    );
  }

  private findVersion(): Observable<unknown> {
    const { attempt } = this.record;
    return defer(() => (this.uncertain ? this.store.get(this.record.id) : of(undefined))).pipe(
      tap((stored) => {
        if (stored?.record.attempt === attempt && this.isOurs(stored.record)) this.version = stored.version;
        this.uncertain = undefined;
      }),
    );
  }

  /** A record without an executor may have been changed by others, such as those that answer a run that waits. */
  private isOurs(found: RunRecord): boolean {
    if (found.executor) return found.executor.id === this.record.executor?.id;
    return this.uncertain !== undefined && isSameRecord(found, this.uncertain);
  }
}
