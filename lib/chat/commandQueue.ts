import { concat, concatMap, defer, EMPTY, endWith, filter, finalize, ignoreElements, merge, observeOn } from 'rxjs';
import { queueScheduler, ReplaySubject, startWith, Subject, takeWhile, type Observable } from 'rxjs';
import { optionsError } from '../core/errors.js';
import type { Input } from '../core/input.js';

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
  /** Whether a run has taken its prompt. */
  taken: boolean | 'maybe';
  /** The exchange to whose run its prompt was offered. Undefined: it may be any of those that the page has given up. */
  offeredTo?: string | undefined;
  readonly stopped: Observable<void>;
  isStopped: boolean;
  stop(): void;
}

/** `start` receives the notifier that stops the run. */
export function createCommand(
  start: (stop: Observable<void>) => Observable<unknown>,
  prompt?: QueuedPrompt,
  replaces = !prompt,
): Command {
  const stopped = new ReplaySubject<void>(1);
  const command: Command = {
    ...{ prompt, replaces, stopped, taken: false },
    run$: defer(() => start(stopped)),
    isStopped: false,
    stop() {
      command.isStopped = true;
      stopped.next();
    },
  };
  return command;
}

interface PromptTaker {
  /** Offers a prompt to the current run, if no other run may take it. Returns the exchange, if there is one. */
  offer(prompt: QueuedPrompt, isNew: boolean): string | undefined;
  /** Completes when it is known whether a run, that of `offeredTo` or any, has taken a prompt: `joined` was called. */
  settleLost(offeredTo: string | undefined, stop: Observable<void>): Observable<unknown>;
  /** Reads again what `settleLost` waits for. */
  reconnect(): void;
}

export function createCommandQueue(whenBusy: WhenBusy, changed: () => void, early: Command[], runs: () => PromptTaker) {
  const added = new Subject<Command>();
  let pending: Command[] = [];
  /** With `merge`: how many of the prompts that wait the current run has received, but maybe not taken. */
  let offered = 0;
  /** `connecting`: a subscriber of the first view may add `early` commands before `run` is subscribed. */
  let state: 'idle' | 'connecting' | 'running' = 'idle';

  if (whenBusy === 'merge') for (const command of early) command.taken = !command.replaces && 'maybe';

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
    if (current && prompt && !replaces && whenBusy === 'merge') {
      // Prompts join in their order.
      const isNext = !current.isStopped && current.taken !== 'maybe' && offered === pending.length - 2;
      command.offeredTo = isNext ? runs().offer(prompt, !command.taken) : undefined;
      if (command.offeredTo) offered += 1;
      if (current.taken === 'maybe') runs().reconnect(); // the service may be there again
      command.taken = 'maybe'; // by another tab
    }
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
      return concat(settledRun(command, runs()), removed);
    });

  return {
    prompts: (): readonly QueuedPrompt[] => [...pending.filter(waits), ...early].flatMap(({ prompt }) => prompt ?? []),

    isIdle: (): boolean => state === 'running' && pending.length === 0,

    connect: (): void => void (state = 'connecting'),

    /** The current run has taken a prompt, which therefore waits no longer. */
    joined(id: string): void {
      const index = pending.findIndex(({ prompt }) => prompt?.id === id);
      const command = pending[index];
      if (!command) return;
      command.taken = true;
      if (index > 0) pending.splice(index, 1);
      if (index > 0 && index <= offered) offered -= 1;
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
        const waiting = [...pending.splice(0).filter(waits), ...early.splice(0)]; // without the executed one
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

/** Whether a command waits: the first one only until it is known whether a run has taken its prompt. */
const waits = ({ taken, isStopped }: Command, at: number) => at > 0 || (taken === 'maybe' && !isStopped);

/** The run of a command, when it is known that no other run has taken its prompt. */
function settledRun(command: Command, runs: PromptTaker): Observable<never> {
  const { taken, offeredTo, stopped } = command;
  const settled = taken ? runs.settleLost(offeredTo, stopped) : EMPTY;
  const run = defer(() => {
    if (command.taken === true || (taken && command.isStopped)) return EMPTY;
    command.taken = false;
    return command.run$;
  });
  return concat(settled, run).pipe(ignoreElements());
}

const notSubscribed = () =>
  optionsError(
    'Nobody is subscribed to the conversation, or its prompts have completed.',
    'Subscribe to `view$` first. Pass prompts that do not complete, or none.',
  );
