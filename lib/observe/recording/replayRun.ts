import { concat, NEVER, take, takeUntil, throwError, type Observable } from 'rxjs';
import type { AgentOptions, RunOptions } from '../../agent/createAgent.js';
import type { CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { recordingError } from '../../core/errors.js';
import type { RunEvent, StreamEvent } from '../../core/event.js';
import { omitUndefined, type JsonObject } from '../../core/json/json.js';
import { groupByKey } from '../../core/lists.js';
import type { Message } from '../../core/message.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import { maskedText } from './maskContent.js';
import { playCall, type CallOutput } from './playCall.js';
import type { RecordedRun, RunRecording } from './readRecording.js';
import {
  callsOf,
  cancelledCalls,
  eventsOf,
  eventsUntilLeft,
  generatedIdsOf,
  hasApprovals,
  isEvent,
  toolsOf,
  waitingCalls,
} from './recordedCalls.js';
import type { RecordedCall, RecordedTool, TimedEvent, WaitingStep } from './recordedCalls.js';
import { originOf, replayModel, runOf } from './replay.js';
import { playMoment, playMoments, ReplayClock, type ReplayOptions } from './timeline.js';

/** Everything that a recorded run needs to happen again. */
export interface RunReplay {
  /**
   * The options of an agent that repeats the run: the recorded model, tools that answer as the recorded ones did, the
   * recorded decisions about calls, ids and settings.
   */
  readonly agent: AgentOptions<readonly Tool[], undefined>;
  /** The input of the run. Empty if it was resumed. */
  readonly input: readonly Message[];
  /** The checkpoint from which the run was resumed. Absent for other runs. */
  readonly checkpoint?: Checkpoint;
  /**
   * The options of the run: its history, its prompts, its `stop` and the calls to `cancel` at the recorded times; the
   * answers of a run that was resumed.
   */
  readonly options: RunOptions & CallAnswers & { readonly fragments?: false };
  /**
   * Runs an agent as the recorded one: it calls `stream` or `resume` with these options, and unsubscribes when the run
   * was unsubscribed.
   */
  readonly play: (agent: PlayedAgent) => Observable<RunEvent>;
  /** Emits when the run was unsubscribed; never if it was not. */
  readonly left: Observable<unknown>;
  /** The events that the run emitted, with times at speed 1. */
  readonly events: readonly TimedEvent[];
}

interface PlayedAgent {
  stream(input: readonly Message[], ...options: never): Observable<StreamEvent>;
  resume(checkpoint: Checkpoint, ...options: never): Observable<StreamEvent>;
}

/**
 * Returns what a recorded run needs to happen again: a model, tools, decisions, a stop.
 *
 * <span class="informal">The world around a run, from its recording.</span>
 *
 * With an agent of these options, the run emits the recorded events at the recorded times. Replace parts by your own
 * (the tools, the orchestrator, operators around the model) to see whether they still do what they did.
 *
 * ```ts
 * const replayed = replayRun(readRecording(text), { speed: Infinity });
 * const agent = createAgent({ ...replayed.agent, tools: [weather] });
 * replayed.play(agent).subscribe();
 * ```
 *
 * The functions of an agent (`prepareTurn`, an orchestrator of its own) cannot be repeated: pass them yourself.
 *
 * @param recording A recording of `recordRun`.
 * @param options `run` (default: 1, the first one), `speed` (default: 1; Infinity does not wait), `scheduler` (default:
 * `asyncScheduler`).
 * @returns The options of the agent and of the run, and the recorded events.
 * @throws ConfigurationError `recording` if it has no such run, if the run is the recording of a model, or if it was
 * resumed and its checkpoint is missing; `options` if `speed` is not positive.
 */
export function replayRun(recording: RunRecording, options: ReplayOptions = {}): RunReplay {
  const run = runOf(recording, options);
  requireRepeatable(run);
  const origin = originOf(run);
  const clock = new ReplayClock(origin, options);
  const { input = [], checkpoint } = run.start;
  const leaving = run.end?.outcome === 'unsubscribed' ? run.steps.find(({ entry }) => entry.type === 'end') : undefined;
  const left = leaving ? playMoment(origin, leaving, undefined, clock) : NEVER;
  const replayOptions = runOptions(run, clock);
  const count = eventsUntilLeft(run);
  const play = (agent: PlayedAgent): Observable<RunEvent> => {
    const events = checkpoint
      ? agent.resume(checkpoint, ...([replayOptions] as never))
      : agent.stream(input, ...([replayOptions] as never));
    // Whoever left in the handler of an event left before anything else could happen in that millisecond.
    return (events as Observable<RunEvent>).pipe(count === undefined ? takeUntil(left) : take(count));
  };
  return {
    agent: {
      ...agentSettings(run),
      model: replayModel(run, clock),
      tools: replayTools(run, clock),
      newId: generatedIds(run),
      ...replayApprovals(run, clock),
    },
    input,
    ...omitUndefined({ checkpoint }),
    options: replayOptions,
    play,
    left,
    events: eventsOf(run),
  };
}

/** A recorded model has no run, and older recordings have no checkpoints. */
export const canRepeat = ({ start }: RecordedRun): boolean =>
  start.kind === 'run' && (!start.resumed || start.checkpoint !== undefined);

export function requireRepeatable(run: RecordedRun): void {
  if (canRepeat(run)) return;
  if (run.start.kind === 'model') {
    throw recordingError(
      'This is a recording of a model, without an agent: there is no run to repeat.',
      'Record the agent with recordRun, or give the model to an agent: createAgent({ model: replay(recording) }).',
    );
  }
  throw recordingError(
    'This run was resumed from a checkpoint that is not in the recording.',
    'Record it again with this release, which records the checkpoint of a resumed run.',
  );
}

/** Only the name of the orchestrator is recorded. */
function agentSettings({ agent, hasContent }: RecordedRun) {
  const prefix = hasContent ? {} : { prefix: maskedText('\n') }; // what the run inserted was masked too
  if (!agent) return prefix;
  const { system, toolConcurrency, eagerTools, toolDeadline, maxTurns } = agent;
  const concurrency = toolConcurrency === 'unlimited' ? Infinity : toolConcurrency;
  return { ...prefix, ...omitUndefined({ system, toolConcurrency: concurrency, eagerTools, toolDeadline, maxTurns }) };
}

function runOptions(run: RecordedRun, clock: ReplayClock): RunReplay['options'] {
  const origin = originOf(run);
  const stop = run.steps.find(({ entry }) => entry.type === 'stop');
  const prompts = run.steps.flatMap((step) =>
    step.entry.type === 'prompt' ? [{ step, value: step.entry.messages }] : [],
  );
  const cancels = cancelledCalls(run).map(({ step, event }) => ({ step, value: event.id }));
  const emits = (type: RunEvent['type'] | 'toolCallFragment') =>
    run.steps.some(({ entry }) => isEvent(entry) && entry.value.type === type);
  const options: RunOptions & CallAnswers = {
    ...omitUndefined({ history: run.start.history }),
    ...run.start.answers,
    ...(stop ? { stop: playMoment(origin, stop, undefined, clock) } : {}),
    ...(cancels.length > 0 ? { cancel: playMoments(origin, cancels, clock) } : {}),
    ...(prompts.length > 0 ? { prompts: playMoments(origin, prompts, clock) } : {}),
    ...(emits('checkpoint') ? { checkpoints: true } : {}),
    ...(emits('toolCallFragment') ? { fragments: true } : {}),
  };
  return options as RunReplay['options']; // fragments add events, which the caller may ignore
}

function replayTools(run: RecordedRun, clock: ReplayClock): readonly Tool[] {
  const nextCall = inOrder(callsOf(run), ({ id }) => id);
  const nextWaiting = inOrder(waitingCalls(run), ({ call }) => call.id);
  return toolsOf(run).map((recorded): Tool => {
    const { definition, isExternal, hasWaited } = recorded;
    const parameters = parametersOf(recorded);
    if (isExternal) return { ...definition, parameters };
    return {
      ...definition,
      parameters,
      ...(hasWaited ? { needsApproval: (_args: unknown, { call }) => playApproval(nextWaiting(call.id), clock) } : {}),
      execute: (_args: unknown, context: ToolContext) => playRecorded(nextCall(context.call.id), context, clock),
    };
  });
}

function parametersOf({ definition: { parameters }, rejected }: RecordedTool): Tool['parameters'] {
  if (rejected.size === 0) return parameters;
  const validate = (args: JsonObject) => {
    const problem = rejected.get(JSON.stringify(args));
    if (problem !== undefined) throw new Error(problem);
    return args;
  };
  return { ...parameters, validate };
}

function inOrder<T>(values: readonly T[], keyOf: (value: T) => string): (key: string) => T | undefined {
  const lists = groupByKey(values, keyOf);
  return (key) => lists.get(key)?.shift();
}

function playApproval(waiting: WaitingStep | undefined, clock: ReplayClock): boolean | Observable<true | JsonObject> {
  if (!waiting) return false;
  const { asked, step, call } = waiting;
  // The clock may have advanced by one.
  return step.at <= asked.at + 1 && !call.details ? true : playMoment(asked, step, call.details ?? true, clock);
}

function playRecorded(call: RecordedCall | undefined, context: ToolContext, clock: ReplayClock): Observable<unknown> {
  const { id, name } = context.call;
  if (!call) return throwError(() => new Error(`The recording has no call of ${name} with the id "${id}".`));
  const moments = call.outputs.map(({ step, output }) => ({ step, value: output }));
  const outputs = playMoments<CallOutput>(call.start, moments, clock);
  return playCall(call.isOpen ? concat(outputs, NEVER) : outputs, context);
}

/** A run that ended with open calls had nobody to ask. */
function replayApprovals(run: RecordedRun, clock: ReplayClock): Pick<AgentOptions, 'approve'> {
  if (!hasApprovals(run)) return {};
  const next = inOrder(waitingCalls(run), ({ call }) => call.id);
  return {
    approve: ({ id }) => {
      const { step, decided } = next(id) ?? {};
      // Without a decision, the call waited until it was cancelled, or the run ended.
      return step && decided ? playMoment(step, decided.step, decided.decision, clock) : NEVER;
    },
  };
}

function generatedIds(run: RecordedRun): () => string {
  const generated = generatedIdsOf(run);
  let count = 0;
  return () => {
    const id = generated[count];
    count += 1;
    return id ?? `generated_${count}`; // for a call that is not in the recording
  };
}
