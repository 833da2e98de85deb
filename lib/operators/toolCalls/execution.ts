import { asyncScheduler, from, Observable } from 'rxjs';
import type { Subscriber, Subscription } from 'rxjs';
import { ignoreTeardownErrors } from '../../core/ignoreTeardownErrors.js';
import type { JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import { maxTimerDelay } from '../../core/options.js';
import { isMarkedProgress, progress, valueOfProgress } from '../../core/progress.js';
import type { Progress } from '../../core/progress.js';
import { TimeoutError } from '../../core/timeoutError.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import type { Usage } from '../../core/usage.js';
import { busy, isPromise, streamOf } from './toolOutput.js';

/** Receives what an execution emits: any number of `progress` and `usage`, and then one `result` or one `error`. */
export interface ExecutionObserver {
  progress(value: JsonValue): void;
  usage(usage: Usage): void;
  result(value: JsonValue): void;
  error(thrown: unknown): void;
  /** Called when the tool has been torn down after its `result` or its `error`. */
  afterTeardown?(): void;
}

/** The context of a tool, without what its execution adds. */
type GivenContext = Omit<ToolContext, 'signal' | 'progress' | 'usage'>;

/**
 * One execution of a tool. It decides which values of the tool are progress and which is the result. A value is held
 * until it is known to be progress: when another value follows, when the tool continues to run after it, or when the
 * execution fails.
 *
 * The state changes before anything is emitted, because the handler of an event may make the tool emit its next value.
 */
export class Execution {
  /** Whether nothing more is emitted. */
  private isClosed = false;
  /** Whether the tool has ended by itself. If it has not, its signal is aborted at the end. */
  private hasEnded = false;
  /** The calls of `start` that have not returned: the resources of the tool are known only afterwards. */
  private starting = 0;
  /** The last unmarked value. It is the result, unless another value follows. */
  private value: JsonValue = null;
  private isHeld = false;
  private output: Subscription | undefined;
  private timer: Subscription | undefined;
  private controller: AbortController | undefined; // created only if the tool reads its signal

  constructor(private readonly observer: ExecutionObserver) {}

  /**
   * Fails when the time has passed. Call it before the tool is started, so that the tool's own timers of the same frame
   * come later.
   */
  limit(deadline: number): void {
    if (deadline === Infinity) return;
    const fail = () => this.cancel(new TimeoutError('tool', deadline));
    this.timer = asyncScheduler.schedule(fail, Math.min(deadline, maxTimerDelay));
  }

  isOpen(): boolean {
    return !this.isClosed;
  }

  /** Calls a function and follows its output; see `ToolOutput` for the supported types. Anything else is a value. */
  start(call: () => unknown): void {
    if (this.isClosed) return;
    this.starting++;
    try {
      this.follow(call());
    } catch (thrown) {
      this.error(thrown);
    }
    this.starting--;
    this.afterTeardown();
  }

  /** Receives a value of the tool's output. */
  next(value: unknown): void {
    if (this.isClosed) return;
    try {
      this.accept(value);
    } catch (thrown) {
      this.error(thrown); // JSON cannot represent the value
    }
  }

  /** The tool has failed. */
  error(thrown: unknown): void {
    if (this.isClosed) return;
    this.hasEnded = true;
    this.cancel(thrown);
  }

  /** The tool has ended: its last value is the result. */
  complete(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.hasEnded = true;
    this.observer.result(this.value);
    this.unsubscribe();
    this.afterTeardown();
  }

  /** Fails before the tool has ended. */
  cancel(thrown: unknown): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.isHeld) this.observer.progress(this.value);
    this.observer.error(thrown);
    this.unsubscribe();
    this.afterTeardown();
  }

  /** Unsubscribes the tool and, if it has not ended, aborts its signal. */
  unsubscribe(): void {
    this.isClosed = true;
    this.timer?.unsubscribe();
    ignoreTeardownErrors(() => this.output?.unsubscribe());
    if (!this.hasEnded) this.controller?.abort();
  }

  progress(value: JsonValue): void {
    if (!this.isClosed) this.observer.progress(value);
  }

  usage(usage: Usage): void {
    if (!this.isClosed) this.observer.usage(usage);
  }

  /** Aborted if the execution has ended before the tool, also if it is first read afterwards. */
  signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.isClosed && !this.hasEnded) this.controller.abort();
    return this.controller.signal;
  }

  private afterTeardown(): void {
    if (this.isClosed && this.starting === 0) this.observer.afterTeardown?.();
  }

  private follow(output: unknown): void {
    if (isPromise(output)) {
      // Also if the tool has caused the end of the execution, so that a rejection is not unhandled.
      from(output).subscribe({
        next: (value) => this.start(() => value),
        error: (thrown: unknown) => this.error(thrown),
      });
    } else if (!this.isClosed) {
      const stream = streamOf(output);
      if (stream) {
        this.subscribe(stream);
      } else {
        this.accept(output);
        this.complete();
      }
    }
  }

  private subscribe(stream: Observable<unknown>): void {
    new Observable<unknown>((subscriber) => {
      this.output = subscriber; // now, so that it can be unsubscribed while `subscribe` still runs
      // eslint-disable-next-line no-restricted-syntax -- the subscriber itself is passed on
      ignoreTeardownErrors(() => void stream.subscribe(subscriber)); // throws if a synchronous teardown throws
    }).subscribe(this);
  }

  private accept(value: unknown): void {
    if (value === busy) this.releaseHeld();
    else if (isMarkedProgress(value)) this.observer.progress(toJson(valueOfProgress(value)));
    else this.hold(toJson(value));
  }

  private hold(value: JsonValue): void {
    const { value: previous, isHeld: wasHeld } = this;
    this.value = value;
    this.isHeld = true;
    if (wasHeld) this.observer.progress(previous);
  }

  private releaseHeld(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.observer.progress(this.value);
  }
}

/** The context of a tool. */
export function contextOf(execution: Execution, context: GivenContext): ToolContext {
  return {
    ...context,
    get signal() {
      return execution.signal();
    },
    progress: (value) => execution.progress(toJson(value)),
    usage: (usage) => execution.usage(usage),
  };
}

/** A value of a running tool: marked progress, or, last, the result. */
export type ToolValue = Progress<JsonValue> | JsonValue;

/**
 * One execution of a tool as an Observable.
 *
 * @param tool The tool.
 * @param args The validated arguments.
 * @param context The context of the call.
 * @param deadline The maximum total time in milliseconds. Default: none.
 * @returns The values of the tool. If it misses the deadline, a value that is held is emitted as progress, and a
 * TimeoutError follows.
 */
export function executionOf(
  tool: Tool,
  args: unknown,
  context: Parameters<NonNullable<Tool['execute']>>[1],
  deadline = Infinity,
): Observable<ToolValue> {
  return new Observable<ToolValue>((out) => {
    const { signal: _, progress: _progress, usage, ...given } = context as ToolContext;
    const execution = new Execution(new ToolValues(out, usage));
    out.add(execution);
    execution.limit(deadline);
    execution.start(() => tool.execute?.(args, contextOf(execution, given)));
  });
}

/** Emits the values of an execution. */
class ToolValues implements ExecutionObserver {
  constructor(
    private readonly out: Subscriber<ToolValue>,
    readonly usage: (usage: Usage) => void,
  ) {}

  progress(value: JsonValue): void {
    this.out.next(progress(value));
  }

  result(value: JsonValue): void {
    this.out.next(value);
    this.out.complete();
  }

  error(thrown: unknown): void {
    this.out.error(thrown);
  }
}
