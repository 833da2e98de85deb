import { defer, from, tap, type Observable } from 'rxjs';
import { agentOf, type Agent, type Input, type ResumeOptions, type RunOptions } from '../../agent/createAgent.js';
import type { CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { deriveModel } from '../../core/deriveModel.js';
import type { StreamEvent } from '../../core/event.js';
import { messagesOf } from '../../core/input.js';
import { asArray, finiteNumber, isRecord, nonEmptyString, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { Model } from '../../core/model.js';
import { innerAgentOf } from '../../core/innerAgent.js';
import type { Tool } from '../../core/tool.js';
import type { Orchestrator, TurnContext } from '../../agent/orchestrator.js';
import type { AgentEntry, StartEntry } from './entries.js';
import { recordStream, RequestLog } from './record.js';
import { RecordingOutput, type RecordingOptions, type RecordingSink } from './recordingOutput.js';
import { RunRecorder } from './runRecorder.js';

/** Options of `recordRun`. */
export interface RecordRunOptions extends RecordingOptions {
  /** A name for the runs, which drawings show. Default: none. */
  readonly name?: string | undefined;
}

/**
 * An agent whose runs are written to a sink: their events, the chunks and the requests of the model, with their times.
 *
 * <span class="informal">A flight recorder for an agent.</span>
 *
 * A recording can be drawn (`drawRun`), replayed (`replay`, `replayRun`) and turned into a spec (`writeSpec`). It has
 * the input, the settings of the agent, what the model emitted, what the tools emitted, prompts, a stop, and how the
 * run ended. Of a run that is resumed it also has the checkpoint, without the id of the run, and the answers. The other
 * checkpoints and the `context` of the run are not recorded. A recording is as confidential as the conversation in it.
 *
 * Each line is one entry as JSON. It is written when it happens, except for deltas, which are written together: at the
 * next other entry, and at the latest after a second. API keys and other secrets are replaced by `[key]` (see
 * `RecordingOptions`), also one that is split over several deltas.
 *
 * ```ts
 * const file = createWriteStream('runs.jsonl', { flags: 'a' });
 * file.on('error', (error) => console.warn(error)); // a full disk ends the recording, not the process
 * const agent = recordRun(createAgent({ model, tools: [weather] }), (line) => file.write(`${line}\n`));
 * agent.stream('How warm is it in Oslo?').subscribe();
 * ```
 *
 * @param agent The agent.
 * @param sink Receives the lines. If it throws, the error is reported as unhandled, and the recording ends; the run
 * does not.
 * @param options `name` (default: none), `content` (default: true), `secrets` (default: none), `maxLength` (default: 32
 * Mi characters per run), `maxLineLength` (default: 1 Mi characters).
 * @returns An agent of the same type.
 * @throws ConfigurationError `options` for a negative limit.
 */
export function recordRun<T extends readonly Tool[], O, C>(
  agent: Agent<T, O, C>,
  sink: RecordingSink,
  options: RecordRunOptions = {},
): Agent<T, O, C> {
  const output = new RecordingOutput(sink, options);
  const { name } = options;
  const untyped = agent as unknown as Agent;
  const stream = (input: Input, runOptions: RunOptions = {}) =>
    recordEvents(output, runOptions, (recordedOptions) => untyped.stream(input, recordedOptions), {
      name,
      input: messagesOf(input),
      history: runOptions.history,
    });
  const resume = (checkpoint: Checkpoint, runOptions: ResumeOptions = {}) =>
    recordEvents(output, runOptions, (recordedOptions) => untyped.resume(checkpoint, recordedOptions), {
      name,
      resumed: true,
      checkpoint: withoutRunIds(checkpoint),
      answers: answersOf(runOptions),
    });
  return agentOf(stream, resume, innerAgentOf(agent));
}

interface Start {
  readonly name: string | undefined;
  readonly input?: readonly Message[];
  readonly history?: readonly Message[] | undefined;
  readonly resumed?: true;
  readonly checkpoint?: Checkpoint;
  readonly answers?: CallAnswers | undefined;
}

/** With the id of a run, a client of its service can read and continue it. A replay does not need it. */
function withoutRunIds(checkpoint: Checkpoint): Checkpoint {
  // It may be anything.
  const {
    runId: _,
    task: _task,
    begun: _begun,
    open,
    beside,
    ...others
  } = objectOrEmpty(checkpoint) as unknown as Checkpoint;
  const rest = { ...others, ...(beside && { beside: asArray(beside).map((run) => withoutRunIds(run as Checkpoint)) }) };
  if (!open?.nested) return open ? { ...rest, open } : rest;
  const nested = Object.entries(open.nested).map(([id, inner]) => [id, withoutRunIds(inner)] as const);
  return { ...rest, open: { ...open, nested: Object.fromEntries(nested) } };
}

function answersOf({ decisions, results, errors }: CallAnswers): CallAnswers | undefined {
  const answers = omitUndefined({ decisions, results, errors });
  return Object.keys(answers).length > 0 ? answers : undefined;
}

function recordEvents<Options extends RunOptions | ResumeOptions>(
  output: RecordingOutput,
  runOptions: Options,
  run: (options: Options) => Observable<StreamEvent>,
  start: Start,
): Observable<StreamEvent> {
  return defer(() => {
    const recorder = new RunRecorder(output, output.nextRun());
    const head: StartEntry = { type: 'start', run: recorder.run, at: recorder.now(), kind: 'run' };
    recorder.write({ ...head, ...omitUndefined(start) });
    return run(recordOptions(runOptions, recorder)).pipe(
      recordStream({
        before: (event) => recorder.event(event),
        end: (outcome, error) => recorder.end(outcome, error),
      }),
    );
  });
}

function recordOptions<Options extends RunOptions | ResumeOptions>(options: Options, recorder: RunRecorder): Options {
  const { stop, prompts, wrapTurn = (turn: Orchestrator['turn']) => turn } = options as RunOptions;
  const { run } = recorder;
  const requests = new RequestLog(() => recorder);
  const recordModel = (model: Model) => deriveModel(model, (request) => requests.stream(model, request));
  let isFirst = true;
  return {
    ...options,
    ...(stop && { stop: from(stop).pipe(tap(() => recorder.write({ type: 'stop', run, at: recorder.now() }))) }),
    ...(prompts && {
      prompts: from(prompts).pipe(
        tap((input) => recorder.write({ type: 'prompt', run, at: recorder.now(), messages: messagesOf(input) })),
      ),
    }),
    wrapTurn: (turn: Orchestrator['turn']): Orchestrator['turn'] => {
      const wrapped = wrapTurn(turn) as Orchestrator['turn'] | undefined;
      if (typeof wrapped !== 'function') return wrapped as never; // the run rejects it
      return (state, context) => {
        if (isFirst) recorder.write(agentEntry(recorder, context));
        isFirst = false;
        return wrapped(state, { ...context, model: recordModel(context.model) });
      };
    },
  };
}

/** Options contain more than the settings of a turn, so they are read with care. */
function agentEntry(recorder: RunRecorder, { options }: TurnContext): AgentEntry {
  const { system, toolConcurrency, eagerTools, toolDeadline } = options;
  const { maxTurns, orchestrator } = options as Readonly<Record<string, unknown>>;
  return {
    type: 'agent',
    run: recorder.run,
    at: recorder.now(),
    ...omitUndefined({
      orchestrator: isRecord(orchestrator) ? nonEmptyString(orchestrator['name']) : undefined,
      system,
      toolConcurrency: toolConcurrency === Infinity ? ('unlimited' as const) : toolConcurrency,
      eagerTools,
      toolDeadline: finiteNumber(toolDeadline),
      maxTurns: finiteNumber(maxTurns),
    }),
  };
}
