import { concat, defer, EMPTY, ignoreElements, merge, mergeMap, NEVER, of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import type { AgentOptions, RunOptions } from '../agent.js';
import type { Decision } from '../core/approval.js';
import type { RunEvent, ToolResultEvent, ToolStartEvent } from '../core/event.js';
import { asKnownEvent, isToolResult } from '../core/eventGuards.js';
import type { KnownEvent } from '../core/eventGuards.js';
import type { JsonObject, JsonValue } from '../core/json/json.js';
import { omitUndefined } from '../core/json/json.js';
import { toolErrorTexts } from '../core/message.js';
import type { Message } from '../core/message.js';
import { progress } from '../core/progress.js';
import type { Tool, ToolContext } from '../core/tool.js';
import type { ValueEntry } from './entries.js';
import type { RecordedRun, RecordedStep, RunRecording } from './readRecording.js';
import { originOf, replayModel, runOf } from './replay.js';
import { playMoment, playMoments, ReplayClock } from './timeline.js';
import type { ReplayOptions } from './timeline.js';

/** A value that a run emitted, and when. */
export interface TimedEvent {
  /** Milliseconds since the start of the run. */
  readonly at: number;
  readonly event: RunEvent;
}

/** Everything that a recorded run needs to happen again. */
export interface RunReplay {
  /**
   * The options of an agent that repeats the run: the recorded model, tools that answer as the recorded ones did, the
   * recorded decisions about calls, ids and settings.
   */
  readonly agent: AgentOptions<readonly Tool[], undefined>;
  /** The input of the run. */
  readonly input: readonly Message[];
  /** The options of the run: its history, its prompts, its `stop` and the calls to `cancel` at the recorded times. */
  readonly options: RunOptions & { readonly fragments?: false };
  /** Emits when the run was unsubscribed; never if it was not. */
  readonly left: Observable<unknown>;
  /** The events that the run emitted, with times at speed 1. */
  readonly events: readonly TimedEvent[];
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
 * agent.stream(replayed.input, replayed.options).subscribe();
 * ```
 *
 * A run that was resumed from a checkpoint cannot be repeated, since checkpoints are not recorded. Neither can the
 * functions of an agent (`prepareTurn`, an orchestrator of its own): pass them yourself.
 *
 * @param recording A recording of `recordRun`.
 * @param options `run` (default: 1, the first one), `speed` (default: 1; Infinity does not wait), `scheduler` (default:
 * `asyncScheduler`).
 * @returns The options of the agent and of the run, and the recorded events.
 * @throws ConfigurationError `recording` if it has no such run; `options` if `speed` is not positive.
 */
export function replayRun(recording: RunRecording, options: ReplayOptions = {}): RunReplay {
  const run = runOf(recording, options);
  const origin = originOf(run);
  const clock = new ReplayClock(origin, options);
  const isLeft = run.end?.outcome === 'unsubscribed';
  const leaving = isLeft ? run.steps.find(({ entry }) => entry.type === 'end') : undefined;
  return {
    agent: {
      ...agentSettings(run),
      model: replayModel(run, clock),
      tools: replayTools(run, clock),
      newId: generatedIds(run),
      ...replayApprovals(run, clock),
    },
    input: run.start.input ?? [],
    options: runOptions(run, clock),
    left: leaving ? playMoment(origin, leaving, undefined, clock) : NEVER,
    events: eventsOf(run),
  };
}

/** The recorded settings of the agent. Its orchestrator is a function, of which only the name is recorded. */
function agentSettings({ agent }: RecordedRun) {
  if (!agent) return {};
  const { system, toolConcurrency, eagerTools, toolDeadline, maxTurns } = agent;
  const concurrency = toolConcurrency === 'unlimited' ? Infinity : toolConcurrency;
  return omitUndefined({ system, toolConcurrency: concurrency, eagerTools, toolDeadline, maxTurns });
}

/** The events that a run emitted, with the time since its start. */
export function eventsOf(run: RecordedRun): readonly TimedEvent[] {
  return run.steps.flatMap(({ at, entry }) =>
    entry.type === 'event' || entry.type === 'both' ? [{ at: at - run.start.at, event: entry.value as RunEvent }] : [],
  );
}

function runOptions(run: RecordedRun, clock: ReplayClock): RunOptions & { readonly fragments?: false } {
  const origin = originOf(run);
  const stop = run.steps.find(({ entry }) => entry.type === 'stop');
  const prompts = run.steps.flatMap((step) =>
    step.entry.type === 'prompt' ? [{ step, value: step.entry.messages }] : [],
  );
  const cancels = cancelledCalls(run).map(({ step, event }) => ({ step, value: event.id }));
  const fragments = run.steps.some(({ entry }) => isEvent(entry) && entry.value.type === 'toolCallFragment');
  const options: RunOptions = {
    ...omitUndefined({ history: run.start.history }),
    ...(stop ? { stop: playMoment(origin, stop, undefined, clock) } : {}),
    ...(cancels.length > 0 ? { cancel: playMoments(origin, cancels, clock) } : {}),
    ...(prompts.length > 0 ? { prompts: playMoments(origin, prompts, clock) } : {}),
    ...(fragments ? { fragments } : {}),
  };
  return options as RunOptions & { readonly fragments?: false }; // fragments add events, which the caller may ignore
}

const isEvent = (entry: RecordedStep['entry']): entry is ValueEntry => entry.type === 'event' || entry.type === 'both';

/** An event about a tool call, and its step. */
interface CallStep<E extends KnownEvent = KnownEvent> {
  readonly step: RecordedStep;
  readonly event: E;
}

/** The events of a type, with their steps. */
function stepsOf<T extends KnownEvent['type']>(run: RecordedRun, type: T) {
  return run.steps.flatMap((step): readonly CallStep<Extract<KnownEvent, { readonly type: T }>>[] => {
    if (!isEvent(step.entry) || step.entry.value.type !== type) return [];
    return [{ step, event: asKnownEvent(step.entry.value) as Extract<KnownEvent, { readonly type: T }> }];
  });
}

/** The results of the calls that were cancelled one by one, not by the stop of the run. */
export function cancelledCalls(run: RecordedRun): readonly CallStep<ToolResultEvent>[] {
  const stop = run.steps.find(({ entry }) => entry.type === 'stop')?.position ?? Infinity;
  return stepsOf(run, 'toolResult').filter(({ step, event }) => event.code === 'cancelled' && step.position < stop);
}

/** The tools of the requests, which answer as the recorded ones did. */
function replayTools(run: RecordedRun, clock: ReplayClock): readonly Tool[] {
  const definitions = new Map(run.requests.flatMap(({ tools }) => tools.map((tool) => [tool.name, tool] as const)));
  const starts = stepsOf(run, 'toolStart');
  const waitingCalls = stepsOf(run, 'toolWaiting').map(({ event }) => event);
  const waitingIds = new Set(waitingCalls.map(({ id }) => id));
  const resultIds = new Set(stepsOf(run, 'toolResult').map(({ event }) => event.id));
  return [...definitions.values()].map((definition): Tool => {
    const firstWaiting = waitingCalls.find(({ name }) => name === definition.name);
    const isStarted = starts.some(({ event }) => event.name === definition.name);
    // Its calls waited for a result from outside of the run, so the tool had no `execute`.
    if (firstWaiting && !isStarted && !resultIds.has(firstWaiting.id)) return definition;
    return {
      ...definition,
      ...(firstWaiting ? { needsApproval: (_args: unknown, { call }) => waitingIds.has(call.id) } : {}),
      execute: (_args: unknown, context: ToolContext) => playTool(run, starts, context, clock),
    };
  });
}

/** What a recorded call emitted after its start. A call that has no recorded start fails. */
function playTool(
  run: RecordedRun,
  starts: readonly CallStep<ToolStartEvent>[],
  { call, usage, outer }: ToolContext,
  clock: ReplayClock,
): Observable<unknown> {
  const start = starts.find(({ event }) => event.id === call.id);
  if (!start) return throwError(() => new Error(`The recording has no call of ${call.name} with the id "${call.id}".`));
  const moments = run.steps.flatMap((step) => {
    if (!isEvent(step.entry) || step.position < start.step.position) return [];
    const event = asKnownEvent(step.entry.value);
    return 'id' in event && event.id === call.id ? [{ step, value: event }] : [];
  });
  const result = moments.find(({ value }) => value.type === 'toolResult');
  const before = moments.filter(
    (moment) => moment !== result && moment.step.position < (result?.step.position ?? Infinity),
  );
  const emitted = playMoments(start.step, before, clock).pipe(
    mergeMap((event) => {
      if (event.type === 'toolUsage') usage(event.usage);
      if (event.type === 'nested') outer?.emit(event.event);
      return event.type === 'toolProgress' ? of(progress(event.value)) : EMPTY;
    }),
  );
  if (!result) return concat(emitted, NEVER); // it ran until the run was unsubscribed
  return concat(
    merge(emitted, playMoment(start.step, result.step, undefined, clock).pipe(ignoreElements())),
    defer(() => resultOf(result.value)),
  );
}

function resultOf(event: KnownEvent): Observable<unknown> {
  if (event.type !== 'toolResult') return EMPTY;
  if (event.error === undefined) return of(event.result);
  const { code, error } = event;
  // By its stop, by `cancel` or by its deadline, which happen again.
  const isEndedByRun = code === 'cancelled' || code === 'timeout';
  return isEndedByRun ? NEVER : throwError(() => new Error(error));
}

/** The decisions about the calls that waited. A run that ended with open calls had nobody to ask. */
function replayApprovals(run: RecordedRun, clock: ReplayClock): Pick<AgentOptions, 'approve'> {
  const decided = decidedCalls(run);
  if (decided.length === 0) return {};
  return {
    approve: ({ id, arguments: args }) => {
      const call = decided.find(({ waiting }) => waiting.event.id === id);
      if (!call) return NEVER; // nobody had decided when the run ended
      const { waiting, answer } = call;
      if (isToolResult(answer.event) && answer.event.code === 'cancelled') return NEVER; // by `stop` or `cancel`
      return playMoment(waiting.step, answer.step, decisionOf(answer.event, args), clock);
    },
  };
}

/** The calls that waited for a decision and received one: its first event is the start of the tool, or a denial. */
function decidedCalls(run: RecordedRun) {
  const answers = [...stepsOf(run, 'toolStart'), ...stepsOf(run, 'toolResult')];
  return stepsOf(run, 'toolWaiting').flatMap((waiting) => {
    const answer = answers.find(({ event }) => event.id === waiting.event.id);
    return answer ? [{ waiting, answer }] : [];
  });
}

function decisionOf(answer: KnownEvent, sent: JsonObject): Decision {
  if (answer.type !== 'toolStart') return { approve: false, ...reasonOf(answer) };
  const isChanged = JSON.stringify(answer.arguments) !== JSON.stringify(sent);
  return isChanged ? { approve: true, arguments: answer.arguments } : { approve: true };
}

/** The reason of a denial: what follows the fixed text of its error. */
function reasonOf(answer: KnownEvent): { readonly reason?: string } {
  const prefix = `${toolErrorTexts.denied} Reason: `;
  const error = answer.type === 'toolResult' ? (answer.error ?? '') : '';
  return error.startsWith(prefix) ? { reason: error.slice(prefix.length) } : {};
}

/** The ids that the run generated for its calls, in order: those that the model did not send. */
function generatedIds(run: RecordedRun): () => string {
  const generated = generatedIdsOf(run);
  let count = 0;
  return () => {
    const id = generated[count];
    count += 1;
    return id ?? `generated_${count}`; // for a call that is not in the recording
  };
}

/** The ids that a run generated, in order. */
export function generatedIdsOf(run: RecordedRun): readonly string[] {
  const sent = new Set(
    run.steps.flatMap(({ entry }) =>
      (entry.type === 'chunk' || entry.type === 'both') && entry.value.type === 'toolCallFragment'
        ? [(entry.value as { readonly id?: string }).id]
        : [],
    ),
  );
  return stepsOf(run, 'toolCall')
    .map(({ event }) => event.id)
    .filter((id) => !sent.has(id));
}

/** A call that was executed: what it emitted, and when. Times are those of the recording. */
export interface RecordedCall {
  readonly id: string;
  readonly start: number;
  readonly progress: readonly { readonly at: number; readonly value: JsonValue }[];
  readonly result: { readonly at: number; readonly event: ToolResultEvent } | undefined;
}

/** The calls that were executed. */
export function callsOf(run: RecordedRun): readonly RecordedCall[] {
  const progress = stepsOf(run, 'toolProgress');
  const results = stepsOf(run, 'toolResult');
  return stepsOf(run, 'toolStart').map(({ step, event: { id } }) => {
    const result = results.find(({ event }) => event.id === id);
    return {
      id,
      start: step.at,
      progress: progress
        .filter(({ event }) => event.id === id)
        .map((each) => ({ at: each.step.at, value: each.event.value })),
      result: result && { at: result.step.at, event: result.event },
    };
  });
}

/** The decisions about calls, and how long each call waited for its decision. */
export function decisionsOf(run: RecordedRun) {
  return decidedCalls(run).map(({ waiting: { step, event }, answer }) => ({
    id: event.id,
    wait: answer.step.at - step.at,
    decision: decisionOf(answer.event, event.arguments),
  }));
}
