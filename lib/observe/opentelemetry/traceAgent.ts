import { context, SpanKind, type Attributes } from '@opentelemetry/api';
import { defer, type Observable } from 'rxjs';
import { agentOf, type Agent, type Input, type ResumeOptions, type RunOptions } from '../../agent/createAgent.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { RunEvent } from '../../core/event.js';
import { omitUndefined } from '../../core/json/json.js';
import { innerAgentOf } from '../../core/innerAgent.js';
import type { Tool } from '../../core/tool.js';
import { addUsage, type Usage } from '../../core/usage.js';
import type { Orchestrator } from '../../agent/orchestrator.js';
import { finishAttributes, modelAttributes, nameText, totalAttributes } from './attributes.js';
import { inputAttributes, outputAttributes } from './content.js';
import { recordHistogram } from './metrics.js';
import { Operation, runOperation } from './operation.js';
import { createTelemetry, type TracedRun, type TraceOptions } from './telemetry.js';
import { deriveModel } from '../../core/deriveModel.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { ToolCalls } from './toolCalls.js';
import { tracedStream } from './traceModel.js';

/** Options of `traceAgent`. */
export interface TraceAgentOptions extends TraceOptions {
  /** The agent's name: `gen_ai.agent.name`, and a part of the name of the spans. Default: none. */
  readonly name?: string | undefined;
  /** The agent's description: `gen_ai.agent.description`. Default: none. */
  readonly description?: string | undefined;
}

/**
 * Records the runs of an agent as spans and metrics of OpenTelemetry.
 *
 * <span class="informal">Each run becomes a trace: its turns, its requests with their tokens, its tools.</span>
 *
 * The names are those of OpenTelemetry's conventions for generative AI:
 *
 * - a run is a span `invoke_agent <name>`, a child of the context that is active at the subscription, with the id of
 *   a run of a service as `rivulet.run`;
 * - a turn is a span `turn`, with `rivulet.turn`;
 * - a request is a span `chat <model>`, with the settings, the response's id and model, the finish reason, the tokens
 *   and the time to the first chunk. It covers the retries of the request, which are events of the span;
 * - a tool is a span `execute_tool <name>`. The tool runs in its context: the spans that it starts are its children,
 *   and so is the run of an agent (`agentTool`), with spans of its own. That requires a context manager.
 *
 * Each span ends once: with its event, with an error (`error.type`), or when it is unsubscribed (`error.type` is then
 * `cancelled`, and the status is not an error). The run's subscriber is called in the context in which it has
 * subscribed. The metrics are the durations of runs, requests and tools, the times to the first chunk, and the tokens.
 *
 * Spans contain no content unless `content` is true, and never an API key.
 *
 * ```ts
 * const agent = traceAgent(createAgent({ model: openai('gpt-6.1-terra'), tools: [weather] }), { name: 'weather' });
 * agent.stream('How warm is it in Oslo?').subscribe();
 * ```
 *
 * @param agent The agent.
 * @param options `name` and `description` (default: none), `content` (default: false), `conventions` (default: `1.41`),
 * `tracer` and `meter` (default: those of the global providers).
 * @returns An agent of the same type.
 */
export function traceAgent<T extends readonly Tool[], O, C>(
  agent: Agent<T, O, C>,
  options: TraceAgentOptions = {},
): Agent<T, O, C> {
  const untyped = agent as unknown as Agent;
  const stream = (input: Input, runOptions: RunOptions = {}) =>
    traceRun((traced) => untyped.stream(input, traced) as Observable<RunEvent>, runOptions, options);
  const resume = (checkpoint: Checkpoint, runOptions: ResumeOptions = {}) =>
    traceRun((traced) => untyped.resume(checkpoint, traced), runOptions, options);
  const traced = agentOf<T, O, C>(stream, resume, innerAgentOf(agent));
  tracedAgents.add(traced);
  return traced;
}

/** The agents that are traced: as a tool of a traced agent, none is traced twice. */
const tracedAgents = new WeakSet<object>();

function traceRun<Options extends RunOptions | ResumeOptions>(
  start: (options: Options) => Observable<RunEvent>,
  runOptions: Options,
  { name, description, ...options }: TraceAgentOptions,
): Observable<RunEvent> {
  return defer(() => {
    const telemetry = createTelemetry(options);
    const agent: Attributes = name === undefined ? {} : { 'gen_ai.agent.name': nameText(name) };
    let usage: Usage = {};
    const { runId } = runOptions as RunOptions;
    const operation = new Operation(
      telemetry,
      {
        name: name === undefined ? 'invoke_agent' : `invoke_agent ${name}`,
        kind: SpanKind.INTERNAL,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          ...agent,
          ...omitUndefined({
            'gen_ai.agent.description': description,
            'rivulet.run': runId === undefined ? undefined : nameText(runId),
          }),
        },
        parent: context.active(),
      },
      ({ seconds, error, context: inRun }) => {
        operation.span.setAttributes(totalAttributes(usage));
        recordHistogram(telemetry, 'gen_ai.invoke_agent.duration', seconds, { ...agent, ...error }, inRun);
      },
    );
    let hasTurn = false;
    const run: TracedRun = {
      telemetry,
      context: operation.context,
      agent,
      traceInner: (inner, tool) =>
        tracedAgents.has(inner) ? inner : (traceAgent(inner as unknown as Agent, { ...options, name: tool }) as never),
      onUsage: (used) => (usage = addUsage(usage, used)),
      onTurn(state, { model }) {
        if (hasTurn) return;
        hasTurn = true;
        operation.span.setAttributes(modelAttributes(model));
        if (telemetry.content) operation.span.setAttributes(inputAttributes(state));
      },
    };
    const { signal, wrapTurn = (turn: Orchestrator['turn']) => turn } = runOptions as RunOptions;
    const traced: Options = { ...runOptions, wrapTurn: (turn: Orchestrator['turn']) => wrapTurn(traceTurn(run, turn)) };
    return defer(() => start(traced)).pipe(
      runOperation<RunEvent>(operation, {
        error(thrown) {
          if (signal?.aborted && isReason(signal, thrown)) operation.cancel(); // an abort by a signal is not a failure
        },
        next(event) {
          if (event.type !== 'result') return;
          const { finishReason, messages } = event.result;
          const answer = messages.findLast(({ role }) => role === 'model');
          operation.end({ ...finishAttributes(finishReason), ...(telemetry.content ? outputAttributes(answer) : {}) });
        },
      }),
    );
  });
}

/** Whether a run failed because its signal was aborted. If two runs have one signal, the second wraps the reason. */
const isReason = ({ reason }: AbortSignal, thrown: unknown): boolean =>
  thrown === reason || (thrown instanceof Error && thrown.cause === reason);

function traceTurn(run: TracedRun, turn: Orchestrator['turn']): Orchestrator['turn'] {
  const { telemetry, onUsage } = run;
  return (state, turnContext) =>
    defer(() => {
      run.onTurn(state, turnContext);
      const operation = new Operation(telemetry, {
        name: 'turn',
        kind: SpanKind.INTERNAL,
        attributes: { 'rivulet.turn': state.turn + 1 },
        parent: run.context,
      });
      const calls = new ToolCalls(run, operation, turnContext.tools);
      const model = deriveModel(turnContext.model, (request) =>
        tracedStream(turnContext.model, request, telemetry, operation.context, onUsage),
      );
      return defer(() => turn(state, { ...turnContext, model, tools: calls.tools })).pipe(
        runOperation<RunEvent>(operation, {
          next(event) {
            const known = asKnownEvent(event);
            calls.observe(event);
            if (known.type === 'turn') operation.end(finishAttributes(known.finishReason));
            // `openCalls` is the last event of a turn whose calls wait.
            else if (known.type === 'openCalls' && known.waits) operation.end(finishAttributes('waiting'));
          },
          teardown: () => calls.cancelAll(),
        }),
      );
    });
}
