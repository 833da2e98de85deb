import { catchError, defer, filter, map, ReplaySubject, Subject, tap, throwError, type Observable } from 'rxjs';
import { answeredIds, pickAnswers, type Approve, type CallAnswers, type WaitingCall } from '../core/approval.js';
import { ASKED_CALL } from '../core/askingTool.js';
import type { Checkpoint, ResumedRun } from '../core/checkpoint.js';
import type { FinishReason, ToolCallFragment } from '../core/chunk.js';
import { errorText } from '../core/errors.js';
import type { CheckpointEvent, RunResult, StreamEvent } from '../core/event.js';
import { asKnownEvent, type KnownEvent } from '../core/eventGuards.js';
import type { Input } from '../core/input.js';
import { isSameJson } from '../core/json/equal.js';
import { omitUndefined, type JsonValue } from '../core/json/json.js';
import { messageText, type Message } from '../core/message.js';
import { innerAgentOf, innerAgentProperty } from '../core/innerAgent.js';
import { asOuterCall, innermost, laterAnswers, nestedId, withoutWaiting } from '../core/nested.js';
import type { InnerRunControl, OuterRun } from '../core/nested.js';
import type { Infer, InferInput, Schema } from '../core/schema.js';
import type { Nested, Tool } from '../core/tool.js';
import { ToolFailure } from '../operators/execute/toolFailure.js';
import type { Plain } from '../core/typesOf.js';
import { requireSync } from '../core/options.js';
import { withFailedTurn } from './failedTurn.js';

export interface AnyAgent {
  stream(input: string | Message | readonly Message[], ...options: never): Observable<StreamEvent>;
  run(input: string | Message | readonly Message[], ...options: never): Observable<RunResult>;
  /** Resumes a run. Without it, an agent whose calls wait has no answer. */
  resume?(checkpoint: Checkpoint, ...options: never): Observable<StreamEvent>;
}

export interface AgentToolOptions<Name extends string, S extends Schema> {
  /** The name by which the model calls the agent. */
  readonly name: Name;
  /** Tells the model what the agent does, and when to use it. */
  readonly description: string;
  /** The schema of the arguments. Default: an object with one text, `prompt`. */
  readonly parameters?: S | undefined;
  /** Returns the agent's input. Default: the argument `prompt`; with `parameters`, the arguments as JSON. */
  readonly prompt?: ((args: Infer<NoInfer<S>>) => string | Message | readonly Message[]) | undefined;
}

const promptParameters = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The task, with everything that is needed to do it.' },
  },
  required: ['prompt'],
  additionalProperties: false,
} as const;

type CallContext = Parameters<NonNullable<Tool['execute']>>[1];

type EventsOfAgent<A extends AnyAgent> = A extends { stream(...args: never): Observable<infer E> } ? E : never;

type NestedOfAgent<A extends AnyAgent> = Plain<Nested<Exclude<EventsOfAgent<A>, ToolCallFragment | CheckpointEvent>>>;

type ResultOfAgent<A extends AnyAgent> = A extends { run(...args: never): Observable<RunResult<infer O>> }
  ? [O] extends [undefined]
    ? string
    : O
  : never;

type ContextOfAgent<A extends AnyAgent> = A extends { run(input: never, ...options: infer Options): unknown }
  ? NonNullable<Options[0]> extends { readonly context?: infer C }
    ? C
    : unknown
  : unknown;

/**
 * Makes a tool of an agent.
 *
 * <span class="informal">An agent that another agent can ask.</span>
 *
 * ![](../../marbles/agentTool.svg)
 *
 * A call is a run of the agent, with a conversation of its own: the agent sees only its input, and the model that calls
 * it sees only the answer.
 *
 * - Events: each event of the run is the `event` of a `nested` event, typed.
 * - Result: the typed output, or the text of the last message.
 * - Waiting: if calls of the agent wait, they are waiting calls of the outer run, with their `path`. The outer run asks
 *   its own `approve` if the agent has none. Its checkpoint holds that of the inner run, and `resume` continues both.
 * - Usage: what each turn of the agent has used is added to the turn that called it (`toolUsage` events), so the usage
 *   of the outer run includes it, and so do `tokenBudget` and `costBudget`. Of a turn in which a run fails, as far as
 *   the provider has reported it; one that is unsubscribed (`toolDeadline`, `retract`) is not included.
 * - Stop: stopping the outer run stops the inner one, which ends with what it has. The error of the call holds it.
 * - Again: if a wrapper (`retryTool`) executes the call again, the run continues from its last result.
 * - Cancellation: unsubscribing the outer run, or its `toolDeadline`, unsubscribes the inner one.
 * - Errors: the model receives the message of the error, without the agent's conversation. Only a run that ends with
 *   `stop` has an answer. Any other end (`maxTurns`, `limit`, `length`, `contentFilter`) is an error with the code
 *   `incomplete`, whose `data` holds the `finishReason` and the `text` that the agent wrote.
 * - The `context` of the outer run is passed on to the agent's tools.
 *
 * ```ts
 * const researcher = createAgent({ model, system: 'Find sources.', tools: [search, read] });
 * const research = agentTool(researcher, { name: 'research', description: 'Researches a question on the web.' });
 * createAgent({ model, tools: [research] })
 *   .stream('Which river is longer, the Nile or the Amazon?')
 *   .subscribe((event) => {
 *     if (event.type === 'nested' && event.event.type === 'text') process.stderr.write(event.event.text);
 *   });
 * ```
 *
 * @param agent The agent.
 * @param options `name`, `description`; optionally `parameters` (default: one text, `prompt`) and `prompt`, which
 * returns the agent's input.
 * @returns A tool.
 */
export function agentTool<A extends AnyAgent, const Name extends string, S extends Schema = typeof promptParameters>(
  agent: A,
  options: AgentToolOptions<Name, S>,
): Tool<Name, Infer<S>, ResultOfAgent<A>, NestedOfAgent<A>, InferInput<S>, ContextOfAgent<A>> {
  const { name, description, parameters, prompt = parameters ? asJson : readPrompt } = options;
  const definition: Tool = {
    name,
    description,
    parameters: parameters ?? promptParameters,
    execute(args, toolContext) {
      const { outer, idempotencyKey } = toolContext;
      const task = outer && taskOf(outer, idempotencyKey, agent, args);
      return innerEvents(agent, () => requireSync('prompt', prompt(args as never)), toolContext, task).pipe(
        map((event) => report(event, name, toolContext, task)),
        filter((answer) => answer !== undefined),
        catchError((thrown: unknown) => throwError(() => withoutConversation(thrown))),
      );
    },
    ...innerAgentProperty(innerAgentOf(agent)),
  };
  // The types follow from the agent, but TypeScript cannot infer them from the Observable.
  return definition as ReturnType<typeof agentTool<A, Name, S>>;
}

function innerEvents(
  agent: AnyAgent,
  input: () => Input,
  { context, outer, usage, idempotencyKey }: CallContext,
  task: Task | undefined,
): Observable<StreamEvent> {
  const inner = outer?.wrapAgent?.(agent) ?? agent;
  const runOptions = { context, runId: task?.runId ?? idempotencyKey, ...(outer && task && optionsOf(outer, task)) };
  const { checkpoint, answers } = task?.rest() ?? {};
  if (!checkpoint || !inner.resume) return withFailedTurn(inner.stream(input(), ...([runOptions] as never)), {}, usage);
  const resumed = inner.resume(checkpoint, ...([{ ...runOptions, ...answers }] as never));
  return withFailedTurn(resumed, checkpoint.state.usage, usage);
}

function optionsOf({ call, approve, patience, written }: OuterRun, task: Task) {
  const approveInner: Approve | undefined = approve && ((request) => approve(asOuterCall(call.id, request)));
  const live = patience > 0 ? { answers: task.answers(), patience } : {};
  return {
    ...task.control.notifiers(),
    ...live,
    checkpoints: true,
    written,
    ...omitUndefined({ approve: approveInner }),
  };
}

function taskOf(outer: OuterRun, key: string, agent: AnyAgent, args: unknown): Task {
  const control = [...outer.controls].find((one) => one instanceof AgentControl) ?? new AgentControl(outer, key);
  outer.controls.add(control);
  return control.taskOf(agent, args);
}

/** What an agent has done. `retryTool`, or another wrapper, may execute the call again: that execution continues it. */
class Task {
  /** The inner calls that have begun or ended, or were answered while the run lived. */
  private readonly used = new Set<string>();
  private last: Checkpoint | undefined;

  constructor(
    readonly agent: AnyAgent,
    readonly args: unknown,
    readonly control: AgentControl,
    private readonly outer: OuterRun,
    readonly runId: string,
    private readonly resumed: ResumedRun | undefined,
  ) {
    this.last = resumed?.checkpoint;
  }

  answers(): Observable<CallAnswers> {
    const { control, used } = this;
    return defer(() => control.answers()).pipe(tap((given) => answeredIds(given).forEach((id) => used.add(id))));
  }

  observe(event: StreamEvent): void {
    const known = innermost(event);
    if (known.type === 'toolStart' || known.type === 'toolResult') this.used.add(known.id);
    this.control.observe(known);
  }

  /** A run that has ended without an answer repeats its last turn, unless this turn has called tools. */
  keep(checkpoint: Checkpoint): void {
    if (!checkpoint.ended || this.last?.open) this.last = checkpoint;
    this.outer.keep({ runId: this.runId, ...checkpoint });
  }

  /** What has a result keeps it, and an answer that was not used is used now. Any other call asks again. */
  rest(): Partial<ResumedRun> {
    const checkpoint = this.last && withoutWaiting(this.last, this.used);
    const waits = (id: string) => checkpoint?.open?.waiting.some((call) => call.id === id) ?? false;
    return { ...omitUndefined({ checkpoint }), answers: pickAnswers(this.resumed?.answers ?? {}, waits) };
  }
}

/** Passes a stop of the call, and the cancellation of an inner call, on to the inner run. */
class AgentControl implements InnerRunControl {
  private readonly stops = new ReplaySubject<void>(1);
  private readonly cancels = new Subject<string>();
  /** The inner calls that wait for a person. */
  private readonly open = new Map<string, WaitingCall>();
  private task: Task | undefined;
  /** The last of each agent and arguments, in their order: it is the same when the tool begins again. */
  private readonly tasks: Task[] = [];
  private isAgain = false;

  constructor(
    private readonly outer: OuterRun,
    private readonly key: string,
  ) {
    const runs = (outer.resumed ?? []).filter(({ checkpoint }) => checkpoint.orchestrator !== ASKED_CALL);
    const waiting = runs.flatMap(({ checkpoint }) => checkpoint.open?.waiting ?? []);
    for (const call of waiting) this.open.set(call.id, sameCall(call, this.open.get(call.id)));
    if (waiting.length > 0 && outer.patience > 0) outer.pause();
  }

  /** A tool may run several agents, or an agent several times: each is another task, with runs of its own. */
  taskOf(agent: AnyAgent, args: unknown): Task {
    const { task, tasks, outer, key } = this;
    if (task?.agent === agent && task.args === args) return task;
    const same = tasks.findIndex((one) => one.agent === agent && isSameJson(one.args, args));
    const order = same < 0 ? tasks.length : same;
    const runId = order === 0 ? key : `${key}.${order}`;
    const isOwn = ({ checkpoint: { runId: stored = key, orchestrator } }: ResumedRun) =>
      orchestrator !== ASKED_CALL && runId === (stored.startsWith(`${key}.`) ? stored : key);
    const resumed = same < 0 ? outer.resumed?.find(isOwn) : undefined;
    return (this.task = tasks[order] = new Task(agent, args, this, outer, runId, resumed));
  }

  /** In another execution, what is answered before its call asks was a call of an earlier one. */
  answers(): Observable<CallAnswers> {
    const { outer, isAgain, open } = this;
    this.isAgain = true;
    const toOpen = (given: CallAnswers) => pickAnswers(given, (id) => open.has(id));
    return isAgain ? laterAnswers(outer.answers).pipe(map(toOpen)) : outer.answers;
  }

  notifiers() {
    return { stop: this.stops.asObservable(), cancel: this.cancels.asObservable() };
  }

  stop(): void {
    this.stops.next();
  }

  cancel(id: string): void {
    const path = nestedId(this.outer.call.id, '');
    if (id.startsWith(path)) this.cancels.next(id.slice(path.length));
  }

  /** The deadline of the outer call does not count the time of a person. */
  observe(known: KnownEvent): void {
    const { open, outer } = this;
    const hadOpen = open.size > 0;
    if (known.type === 'toolWaiting') open.set(known.id, sameCall(known, open.get(known.id)));
    else if (known.type === 'toolStart' || known.type === 'toolResult') open.delete(known.id);
    if (outer.patience === 0) return;
    if (!hadOpen && open.size > 0) outer.pause();
    else if (hadOpen && open.size === 0) outer.proceed(() => undefined); // the inner run continues by itself
  }
}

/** Two agents in a tool, or one that is not resumed, may repeat an id. An answer to one call is not for the other. */
function sameCall(call: WaitingCall, { name, arguments: args } = call): WaitingCall {
  if (name === call.name && isSameJson(args, call.arguments)) return call;
  throw new ToolFailure('failed', `Another call with the id "${call.id}" waits for a person.`);
}

/** Reports an event of the agent's run to the outer run. Returns the answer if the run has ended with one. */
function report(
  event: StreamEvent,
  name: string,
  { usage, outer }: CallContext,
  task: Task | undefined,
): JsonValue | undefined {
  const known = asKnownEvent(event);
  task?.observe(event);
  switch (known.type) {
    case 'checkpoint':
      task?.keep(known.checkpoint);
      return undefined;
    case 'turn': {
      const { checkpoint, ...turn } = known;
      if (known.usage) usage(known.usage);
      outer?.emit(turn);
      if (checkpoint) task?.keep(checkpoint);
      return undefined;
    }
    case 'result': {
      const { checkpoint, ...result } = known.result;
      if (checkpoint && task?.agent.resume) outer?.suspend({ runId: task.runId, ...checkpoint });
      else outer?.emit(event);
      return answerOf(name, result);
    }
    default:
      outer?.emit(event);
      return undefined;
  }
}

const readPrompt = (args: unknown): string => (args as { readonly prompt: string }).prompt;

const asJson = (args: unknown): string => JSON.stringify(args);

/** Only the message of an error: the error may hold the conversation (`failedRunOf`). */
const withoutConversation = (thrown: unknown): Error =>
  thrown instanceof ToolFailure ? thrown : new Error(errorText(thrown));

/** Throws ToolFailure if the run did not end with an answer. */
function answerOf(name: string, { output, messages, finishReason, text }: RunResult): JsonValue {
  const last = messages.findLast(({ role }) => role === 'model');
  const answer = output === undefined ? last && messageText(last) : (output as JsonValue);
  if (finishReason === 'stop' && answer !== undefined && answer !== '') return answer;
  const written = text === '' ? 'It wrote nothing.' : `It wrote, before that: ${text}`;
  const problem = `The agent "${name}" ended without an answer: ${endTexts[finishReason] ?? finishReason}. ${written}`;
  throw new ToolFailure(finishReason === 'stopped' ? 'cancelled' : 'incomplete', problem, { finishReason, text });
}

const endTexts: Partial<Record<FinishReason, string>> = {
  stop: 'its last message is empty',
  waiting: 'one of its tool calls waits for a person or a browser, which cannot answer here',
  maxTurns: 'it reached its maximum number of turns (maxTurns)',
  limit: 'it reached a limit of its run (limit)',
  length: 'its answer was cut off at the limit of tokens (length)',
  contentFilter: "the provider's filter stopped its answer (contentFilter)",
  stopped: 'it was stopped',
};
