import { defer, EMPTY, identity, ReplaySubject, Subject, takeUntil } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { MAX_ANSWERS, type CallAnswers } from '../core/approval.js';
import type { Checkpoint, ResumedTurn } from '../core/checkpoint.js';
import type { RunEvent, RunState } from '../core/event.js';
import type { Message } from '../core/message.js';
import { omitUndefined } from '../core/json/json.js';
import { laterAnswers } from '../core/nested.js';
import type { Model } from '../core/model.js';
import { requireModel } from '../core/requireModel.js';
import { newRunId } from '../core/runId.js';
import type { Usage } from '../core/usage.js';
import type { Tool } from '../core/tool.js';
import { timeLimit } from '../core/timeLimit.js';
import { endRun } from '../operators/endRun.js';
import { prefixAfterTools } from '../operators/prefixAfterTools.js';
import type { Orchestrator, TurnContext, TurnOptions } from './orchestrator.js';
import { preparedTurn, type PrepareTurn } from './prepareTurn.js';
import { collectPrompts, joinPrompts, receiverOf, type PromptQueue } from './prompts.js';
import { dropReplay } from './replay.js';
import { requireTurn, type RunOptions } from './runOptions.js';
import { runTurns, type TurnPosition } from './runTurns.js';
import { firstOf, leaveOn, stoppable, stopTurn, withNotifier } from './stopRun.js';
import type { StopWhen } from './stopWhen.js';
import type { TypedOutput } from './typed.js';

export interface AgentSettings extends TurnOptions {
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly orchestrator: Orchestrator;
  readonly output?: TypedOutput | undefined;
  readonly prepareTurn?: PrepareTurn | undefined;
  readonly maxTurns?: number | undefined;
  readonly stopWhen?: StopWhen | undefined;
  readonly timeout?: { readonly turn?: number | undefined; readonly run?: number | undefined } | undefined;
  readonly prefix?: string | undefined;
}

/** What a run does besides its turns. */
export interface RunHooks {
  /** Applied to each turn, before prompts join. */
  turn(state: RunState, context: TurnContext): MonoTypeOperatorFunction<RunEvent>;
  readonly turns: MonoTypeOperatorFunction<RunEvent>;
  /** Adds what else a checkpoint has to have. */
  readonly extend: (checkpoint: Checkpoint) => Checkpoint;
  /** Those of the prompts that have not joined the run in another way. */
  left(prompts: readonly Message[]): readonly Message[];
}

export function startRun(
  settings: AgentSettings,
  start: RunStart,
  options: RunOptions,
  hooks?: RunHooks,
): Observable<RunEvent> {
  const { stop, cancel, answers, prompts } = options;
  const begin = (queue?: PromptQueue) =>
    withNotifier(stop && firstOf(stop), newReplay<unknown>(1), (stopped) =>
      withNotifier(cancel, newReplay<string>(MAX_ANSWERS), (ids) =>
        withNotifier(answers, newReplay<CallAnswers>(MAX_ANSWERS), (given) =>
          new AgentRun(
            settings,
            start,
            options,
            { stop: stopped, cancel: ids && firstWithEarlier(ids), answers: given },
            queue,
            hooks,
          ).events(),
        ),
      ),
    );
  return prompts ? collectPrompts(prompts, start.checkpoint?.emitted.messages, begin) : begin();
}

/** Late subscribers get the last values. */
const newReplay =
  <T>(size: number) =>
  () =>
    new ReplaySubject<T>(size);

/** The first subscriber, the first turn, gets what was emitted before. */
function firstWithEarlier<T>(values: Observable<T>): Observable<T> {
  let isFirst = true;
  return defer(() => {
    const given = isFirst ? values : laterAnswers(values);
    isFirst = false;
    return given;
  });
}

export interface RunStart {
  readonly state: RunState;
  readonly checkpoint?: Checkpoint;
  readonly resumed?: ResumedTurn | undefined;
}

interface Notifiers {
  readonly stop?: Observable<unknown> | undefined;
  readonly cancel?: Observable<string> | undefined;
  readonly answers?: Observable<CallAnswers> | undefined;
}

class AgentRun {
  private readonly context: TurnContext;
  private readonly runner: Orchestrator;
  private readonly runId: string;
  private readonly used = new Subject<Usage>();
  private model: Model | undefined;

  constructor(
    private readonly settings: AgentSettings,
    private readonly start: RunStart,
    private readonly runOptions: RunOptions,
    private readonly notifiers: Notifiers,
    private readonly prompts: PromptQueue | undefined,
    private readonly hooks: RunHooks | undefined,
  ) {
    const { model, tools, output, orchestrator } = settings;
    const { context, checkpoints = false, fragments = false, wrapTurn } = runOptions;
    const { approve = runOptions.approve, patience = runOptions.patience } = settings;
    const { written, outerCall } = runOptions;
    this.runId = start.checkpoint?.runId ?? runOptions.runId ?? newRunId();
    this.context = {
      model,
      tools,
      context,
      options: { ...settings, approve, patience, fragments },
      checkpoints,
      runId: this.runId,
      onUsage: (usage) => this.used.next(usage),
      ...omitUndefined({ output: output?.schema, written, outerCall, ...notifiers }),
    };
    this.runner = wrapTurn
      ? { ...orchestrator, turn: requireTurn(wrapTurn((...turn) => orchestrator.turn(...turn))) }
      : orchestrator;
  }

  events(): Observable<RunEvent> {
    const { maxTurns, stopWhen, prefix, timeout, model, output } = this.settings;
    const { checkpoints, signal } = this.runOptions;
    const { state, checkpoint } = this.start;
    const { prompts, runId, hooks } = this;
    const { name: orchestrator } = this.settings.orchestrator;
    const turns = runTurns((from: RunState, position: TurnPosition) => this.turn(from, position), state, {
      maxTurns,
      stopWhen,
      provider: model.provider,
    });
    const check = output?.check(orchestrator);
    // After a checkpoint of the last turn, only the result is missing.
    return (checkpoint?.ended ? EMPTY : turns).pipe(
      hooks?.turns ?? identity,
      timeLimit('run', timeout?.run),
      prefix === '' ? identity : prefixAfterTools(prefix, checkpoint && prefixPosition(checkpoint)),
      signal ? leaveOn<RunEvent>(signal) : identity,
      prompts ? takeUntil<RunEvent>(prompts.failure) : identity,
      endRun<RunEvent>(state, {
        checkpoints,
        orchestrator,
        runId,
        resumed: checkpoint,
        unjoined: prompts && (() => hooks?.left(prompts.take()) ?? prompts.take()),
        extend: hooks?.extend,
        used: this.used,
        check,
      }),
    );
  }

  /** A stop reaches the response by `controlled`, tools by `context.stop`, and the rest of the turn by `stopTurn`. */
  private turn(state: RunState, { last }: TurnPosition): Observable<RunEvent> {
    const { prepareTurn, timeout } = this.settings;
    const { resumed } = this.start;
    const { prompts, hooks } = this;
    const { stop } = this.notifiers;
    const isResumed = resumed !== undefined && state === this.start.state;
    const context = { ...this.context, last, ...(isResumed ? { resumed } : {}) };
    let events = preparedTurn(this.runner, prepareTurn, state, context, (model) => this.controlled(model));
    if (timeout?.turn !== undefined) events = events.pipe(timeLimit('turn', timeout.turn));
    if (stop) events = events.pipe(stopTurn(state, stop));
    if (hooks) events = events.pipe(hooks.turn(state, context));
    if (prompts) events = events.pipe(joinPrompts(prompts, state, context));
    return isResumed ? events.pipe(dropReplay(this.settings.orchestrator.name)) : events;
  }

  /** The same in each turn, unless `prepareTurn` returns a model, or the turn receives prompts. */
  private controlled(model: Model): Model {
    const { prompts } = this;
    const { stop } = this.notifiers;
    if (model === this.settings.model && !prompts) return (this.model ??= stoppable(model, stop));
    const receive = prompts && receiverOf(this.runOptions.whenPrompted, prompts);
    const received = receive?.(model) ?? model;
    requireModel(received, 'whenPrompted returned no model.');
    return stoppable(received, stop);
  }
}

const prefixPosition = ({ emitted: { text, needsSeparator } }: Checkpoint) => ({
  hasText: text !== '',
  needsSeparator,
});
