import { AsyncLocalStorage } from 'node:async_hooks';
import { ignoreElements, merge, Observable, ReplaySubject, switchMap, take, tap } from 'rxjs';
import type { Message } from '../../../core/message.js';
import type { DurableEngine } from './engine.js';
import { StepPrompts } from './stepPrompts.js';
import type { WithPrompts } from './stepPrompts.js';

/** What a step does, and how its result is stored. */
export interface DurableStep<T, Stored> {
  /** What the step executes. It is subscribed once, unless the step has a stored result. */
  readonly source: Observable<T>;
  /** Whether a value is emitted only after the step is stored: what others build on. */
  isHeld(value: T): boolean;
  /** The result of the source; undefined if it must not be stored, since another process has the run. */
  store(values: readonly T[], end: StepEnd): Stored | undefined;
  /** The values of a stored step, and its error. */
  restore(stored: Stored): Observable<T>;
}

/** How the source of a step has ended. `left`: it was unsubscribed, by a stop, a cancellation or a deadline. */
export type StepEnd = 'complete' | 'left' | { readonly thrown: unknown };

/** The steps of one execution of a run. It is created in the function of the workflow. */
export class RunSteps {
  /** RxJS delivers events in the context of whoever caused them: a notification, another run. */
  private readonly enterWorkflow = AsyncLocalStorage.snapshot() as <R>(work: () => R) => R;
  private readonly isLive = new ReplaySubject<void>(1);
  private readonly prompts = new StepPrompts();
  private isAbandoned = false;

  constructor(
    private readonly engine: DurableEngine,
    private readonly fail: (thrown: unknown) => void,
  ) {}

  /** Whether a step has begun, so that the execution cannot start over. */
  hasBegun = false;

  /** Stores no step any more: another process has the run, or this one leaves it. */
  abandon(): void {
    this.isAbandoned = true;
  }

  /** Says that the stored steps have been replayed. */
  readonly replayed = (): void => this.isLive.next();

  /** Delays what arrived during an earlier execution, such as a stop, until the stored steps have been replayed. */
  whenLive<T>(source: Observable<T>): Observable<T> {
    return this.isLive.pipe(
      take(1),
      switchMap(() => source),
    );
  }

  /** The prompts of a run, each when a step has stored it: they join the run in the same turns in each execution. */
  storedPrompts(arrivals: Observable<Message>): Observable<Message> {
    const arriving = arrivals.pipe(
      tap((prompt) => this.prompts.add(prompt)),
      ignoreElements(),
    );
    return merge(this.prompts.stored, arriving);
  }

  /** Executes a step, or emits what it has stored. Steps must begin in the same order in each execution. */
  run<T, Stored extends object>(name: string, step: DurableStep<T, Stored>): Observable<T> {
    return new Observable<T>((out) => {
      this.hasBegun = true;
      const execution = new StepExecution<T, Stored & WithPrompts>(
        { ...step, store: (values, end) => this.prompts.addTo(step.store(values, end)) },
        (value) => out.next(value),
      );
      const work = (): Promise<Stored & WithPrompts> => {
        this.replayed();
        return execution.start();
      };
      out.add(() => execution.leave(this.isAbandoned));
      this.enterWorkflow(() => this.engine.runStep(work, { name })).then(
        (stored) => {
          this.prompts.release(stored);
          if (out.closed) return;
          if (!execution.hasStarted) step.restore(stored).subscribe(out);
          else {
            for (const value of execution.held) out.next(value);
            if (typeof execution.end === 'object') out.error(execution.end.thrown);
            else out.complete();
          }
        },
        (thrown: unknown) => this.fail(thrown),
      );
    });
  }
}

/** One execution of the source of a step. */
class StepExecution<T, Stored> {
  hasStarted = false;
  end: StepEnd | undefined;
  readonly held: T[] = [];
  private readonly values: T[] = [];
  private settle: (stored: Stored) => void = () => undefined;
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly step: DurableStep<T, Stored>,
    private readonly emit: (value: T) => void,
  ) {}

  start(): Promise<Stored> {
    this.hasStarted = true;
    return new Promise((resolve) => {
      this.settle = resolve;
      const subscription = this.step.source.subscribe({
        next: (value) => {
          this.values.push(value);
          if (this.step.isHeld(value)) this.held.push(value);
          else this.emit(value);
        },
        error: (thrown: unknown) => this.finish({ thrown }),
        complete: () => this.finish('complete'),
      });
      this.unsubscribe = () => subscription.unsubscribe();
      if (this.end !== undefined) subscription.unsubscribe(); // left during a synchronous source
    });
  }

  /** Ends the source. The step remains open if another process has the run. */
  leave(isAbandoned: boolean): void {
    if (!this.hasStarted || this.end !== undefined) return;
    if (isAbandoned) this.end = 'left';
    else this.finish('left');
    this.unsubscribe();
  }

  private finish(end: StepEnd): void {
    if (this.end !== undefined) return;
    this.end = end;
    const stored = this.step.store(this.values, end);
    if (stored !== undefined) this.settle(stored);
  }
}
