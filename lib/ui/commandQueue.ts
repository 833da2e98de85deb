import {
  concat,
  concatMap,
  defer,
  EMPTY,
  endWith,
  filter,
  finalize,
  ignoreElements,
  merge,
  ReplaySubject,
  startWith,
  Subject,
  takeWhile,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { ConfigurationError } from '../core/errors.js';
import type { Input } from '../core/input.js';

/** What happens to a prompt that arrives during a run. */
export type WhenBusy = 'queue' | 'interrupt' | 'ignore';

/** Something that starts a run. */
export class Command {
  private readonly stopped = new ReplaySubject<void>(1);

  /**
   * @param start Starts the run. It receives the notifier that stops it.
   * @param prompt The prompt, if it is one of the user. Any other command stops the run that is going on.
   */
  constructor(
    private readonly start: (stop: Observable<void>) => Observable<unknown>,
    readonly prompt?: Input,
  ) {}

  execute(): Observable<unknown> {
    return this.start(this.stopped);
  }

  stop(): void {
    this.stopped.next();
  }
}

/** Executes commands one after the other. */
export class CommandQueue {
  private readonly commands = new Subject<Command>();
  /** The command that is executed, then those that wait. */
  private pending: Command[] = [];
  private isSubscribed = false;

  /** @param changed Called when a command was added or removed. */
  constructor(
    private readonly whenBusy: WhenBusy,
    private readonly changed: () => void,
  ) {}

  /** The prompts that wait. */
  get prompts(): readonly Input[] {
    return this.pending.slice(1).flatMap(({ prompt }) => (prompt === undefined ? [] : [prompt]));
  }

  /** @throws ConfigurationError `options` if `run` is not subscribed. */
  add(command: Command): void {
    if (!this.commands.observed) throw notSubscribed();
    this.commands.next(command);
  }

  /** @throws ConfigurationError `options` if `run` is not subscribed. */
  requireSubscriber(): void {
    if (!this.isSubscribed) throw notSubscribed();
  }

  /** Stops the command that is executed, and drops those that wait. */
  stop(): void {
    this.pending.splice(1);
    this.pending[0]?.stop();
  }

  /**
   * Executes the commands until the prompts have completed. Commands that an earlier subscription left waiting come
   * after the first one.
   *
   * @param first Executed before the others. Default: none.
   */
  run(prompts: Observable<Command>, first?: Command): Observable<never> {
    return defer(() => {
      const waiting = this.pending.splice(0).slice(1);
      this.isSubscribed = true;
      const earlier = first ? [first, ...waiting] : waiting;
      return merge(prompts.pipe(startWith(...earlier), endWith(undefined)), this.commands).pipe(
        takeWhile((command) => command !== undefined),
        filter((command) => this.accept(command)),
        concatMap((command) => this.execute(command)),
        finalize(() => (this.isSubscribed = false)),
      );
    });
  }

  /** Adds a command to those that wait. Returns false if it is ignored. */
  private accept(command: Command): boolean {
    const [current] = this.pending;
    const whenBusy = command.prompt === undefined ? 'interrupt' : this.whenBusy;
    if (current && whenBusy === 'ignore') return false;
    this.pending.push(command);
    if (current && whenBusy === 'interrupt') current.stop();
    this.changed();
    return true;
  }

  private execute(command: Command): Observable<never> {
    return defer(() => {
      if (!this.pending.includes(command)) return EMPTY; // `stop` dropped it
      if (this.whenBusy === 'interrupt' && this.pending.length > 1) command.stop(); // a later prompt has arrived
      return concat(
        command.execute().pipe(ignoreElements()),
        defer(() => {
          this.pending.shift();
          this.changed();
          return EMPTY;
        }),
      );
    });
  }
}

const notSubscribed = () =>
  new ConfigurationError(
    'options',
    'Nobody is subscribed to the conversation, or its prompts have completed.',
    'Subscribe to `view$` first. Pass prompts that do not complete, or none.',
  );
