import { concat, concatMap, defer, EMPTY, endWith, filter, finalize, ignoreElements, merge, observeOn } from 'rxjs';
import { queueScheduler, ReplaySubject, startWith, Subject, takeWhile, type Observable } from 'rxjs';
import { ConfigurationError } from '../core/errors.js';
import { messagesOf, type Input } from '../core/input.js';
import { messageText, type Message } from '../core/message.js';

/**
 * Defines how a prompt that arrives during a run is handled, in the words of RxJS: `concat` lets it wait, `switch`
 * stops the run and starts the next one, `exhaust` ignores the prompt, and `merge` lets it join the run, at the end of
 * the current turn; a prompt that arrives too late for that waits.
 */
export type WhenBusy = 'concat' | 'switch' | 'exhaust' | 'merge';

/** A prompt of the user that waits for the end of a run. */
export interface QueuedPrompt {
  /** The id of its exchange, and of its run. */
  readonly id: string;
  readonly input: Input;
  /** The exchange beside which it is a version. Default: it follows the selected one. */
  readonly beside?: string | undefined;
}

export interface Command {
  readonly prompt: QueuedPrompt | undefined;
  /** Whether it stops the current run: `regenerate` and `edit` do; a prompt, or joining a run again, does not. */
  readonly replaces: boolean;
  readonly run$: Observable<unknown>;
  readonly isStopped: boolean;
  stop(): void;
}

/** `start` receives the notifier that stops the run. */
export function createCommand(
  start: (stop: Observable<void>) => Observable<unknown>,
  prompt?: QueuedPrompt,
  replaces = !prompt,
): Command {
  const stopped = new ReplaySubject<void>(1);
  const command = {
    prompt,
    replaces,
    run$: defer(() => start(stopped)),
    isStopped: false,
    stop() {
      command.isStopped = true;
      stopped.next();
    },
  };
  return command;
}

export function createCommandQueue(
  whenBusy: WhenBusy,
  changed: () => void,
  early: Command[],
  offer: (input: Input) => boolean,
) {
  const added = new Subject<Command>();
  let pending: Command[] = [];
  /** With `merge`: how many of the prompts that wait the current run has received, but maybe not taken. */
  let offered = 0;
  /** `connecting`: a subscriber of the first view may add `early` commands before `run` is subscribed. */
  let state: 'idle' | 'connecting' | 'running' = 'idle';

  function accept(command: Command): boolean {
    const [current] = pending;
    const { prompt, replaces } = command;
    const isBusy = pending.some((other) => !other.isStopped && (other.prompt ?? other.replaces));
    if (isBusy && prompt && !replaces && whenBusy === 'exhaust') return false;
    if (replaces) {
      pending.splice(1); // the prompts that wait continue the exchange that is replaced
      offered = 0;
    }
    pending.push(command);
    if (replaces || (prompt && whenBusy === 'switch')) current?.stop();
    // Prompts join in their order.
    const isNext = current && !current.isStopped && offered === pending.length - 2;
    if (isNext && prompt && whenBusy === 'merge' && offer(prompt.input)) offered += 1;
    changed();
    return true;
  }

  const execute = (command: Command): Observable<never> =>
    defer(() => {
      if (!pending.includes(command)) return EMPTY; // `stop` removed it
      if (whenBusy === 'switch' && pending.length > 1) command.stop(); // a later prompt has arrived
      const removed = defer(() => {
        offered = 0;
        pending = pending.filter((other) => other !== command);
        if (pending.length === 0) changed(); // else, the next command changes the view at its start
        return EMPTY;
      });
      return concat(command.run$.pipe(ignoreElements()), removed);
    });

  return {
    prompts: (): readonly QueuedPrompt[] => [...pending.slice(1), ...early].flatMap(({ prompt }) => prompt ?? []),

    isIdle: (): boolean => state === 'running' && pending.length === 0,

    connect(): void {
      state = 'connecting';
    },

    /** The current run has taken a prompt, which therefore waits no longer. */
    joined(message: Message): void {
      const index = pending.findIndex(
        ({ prompt }, at) => at > 0 && prompt && isSame(messagesOf(prompt.input), message),
      );
      if (index < 0) return;
      pending.splice(index, 1);
      if (index <= offered) offered -= 1;
      changed();
    },

    add(command: Command): void {
      if (state === 'connecting') early.push(command);
      else if (added.observed) added.next(command);
      else throw notSubscribed();
    },

    requireSubscriber(): void {
      if (state === 'idle') throw notSubscribed();
    },

    stop(): void {
      pending.splice(1);
      offered = 0;
      pending[0]?.stop();
    },

    /** Executes the first command, then those that an earlier subscription left waiting. */
    run: (prompts: Observable<Command>, first?: Command): Observable<never> =>
      defer(() => {
        const waiting = [...pending.splice(0).slice(1), ...early.splice(0)]; // without the command that was executed
        state = 'running';
        return merge(prompts.pipe(startWith(...(first ? [first] : []), ...waiting), endWith(undefined)), added).pipe(
          takeWhile((command) => command !== undefined), // until `prompts` has completed: `added` never does
          observeOn(queueScheduler), // a command that a subscriber adds at a change does not overtake the one before it
          filter(accept),
          concatMap(execute),
          finalize(() => (state = 'idle')),
        );
      }),
  };
}

const notSubscribed = () =>
  new ConfigurationError(
    'options',
    'Nobody is subscribed to the conversation, or its prompts have completed.',
    'Subscribe to `view$` first. Pass prompts that do not complete, or none.',
  );

/** A service keeps the texts and files of a prompt, and no other fields. */
const isSame = (prompt: readonly Message[], message: Message): boolean => {
  const last = prompt.at(-1);
  return last?.parts.length === message.parts.length && messageText(last) === messageText(message);
};
