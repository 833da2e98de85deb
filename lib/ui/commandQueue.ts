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
  observeOn,
  queueScheduler,
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
  /** Commands that were added by a subscriber of the first view, before `run` is subscribed. */
  private early: Command[] = [];
  private state: 'idle' | 'connecting' | 'running' = 'idle';

  /** @param changed Called when a command was added or removed. */
  constructor(
    private readonly whenBusy: WhenBusy,
    private readonly changed: () => void,
  ) {}

  /** The prompts that wait. */
  get prompts(): readonly Input[] {
    return this.pending.slice(1).flatMap(({ prompt }) => (prompt === undefined ? [] : [prompt]));
  }

  /** Announces that `run` will be subscribed: from now on, commands can be added. */
  connect(): void {
    this.state = 'connecting';
  }

  /** @throws ConfigurationError `options` if nobody is subscribed, or the prompts have completed. */
  add(command: Command): void {
    if (this.state === 'connecting') this.early.push(command);
    else if (this.commands.observed) this.commands.next(command);
    else throw notSubscribed();
  }

  /** @throws ConfigurationError `options` if nobody is subscribed. */
  requireSubscriber(): void {
    if (this.state === 'idle') throw notSubscribed();
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
      const waiting = [...this.pending.splice(0).slice(1), ...this.early.splice(0)];
      this.state = 'running';
      const earlier = first ? [first, ...waiting] : waiting;
      return merge(prompts.pipe(startWith(...earlier), endWith(undefined)), this.commands).pipe(
        takeWhile((command) => command !== undefined),
        observeOn(queueScheduler), // a subscriber that adds a command at a change does not overtake the command before
        filter((command) => this.accept(command)),
        concatMap((command) => this.execute(command)),
        finalize(() => (this.state = 'idle')),
      );
    });
  }

  /** Adds a command to those that wait. Returns false if it is ignored. */
  private accept(command: Command): boolean {
    const [current] = this.pending;
    const isPrompt = command.prompt !== undefined;
    if (current && isPrompt && this.whenBusy === 'ignore') return false;
    if (!isPrompt) this.pending.splice(1); // the prompts that wait continue what is replaced
    this.pending.push(command);
    if (current && (!isPrompt || this.whenBusy === 'interrupt')) current.stop();
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
          this.pending = this.pending.filter((other) => other !== command);
          if (this.pending.length === 0) this.changed(); // else, the next command changes the view at its start
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
