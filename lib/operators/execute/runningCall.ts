import { hash } from '../../core/hash.js';
import { canonicalJson } from '../../core/json/canonical.js';
import type { NestedEvent, ToolProgressEvent, ToolResultEvent, ToolStartEvent } from '../../core/event.js';
import type { ToolUsageEvent } from '../../core/event.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Message, ToolCallPart } from '../../core/message.js';
import type { ResumedRun } from '../../core/checkpoint.js';
import type { Tool } from '../../core/tool.js';
import type { Usage } from '../../core/usage.js';
import { NestedRun, type NestedObserver, type NestedSettings } from './nestedRun.js';
import { createToolContext, ToolExecution, type ExecutionObserver } from './toolExecution.js';
import { cancellation, failedResult, ToolFailure } from './toolFailure.js';
import { validateArguments, validValue } from './validArguments.js';

export interface CallSettings extends NestedSettings {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly messages: readonly Message[];
  readonly context: unknown;
  /** What the idempotency key of the call begins with. */
  readonly idempotencyPrefix: string;
  /** Milliseconds in total. Infinity: no deadline. */
  readonly deadline: number;
  readonly onToolError: ((thrown: unknown, call: ToolCallPart) => void) | undefined;
}

export type RunningCallEvent = ToolStartEvent | ToolProgressEvent | ToolUsageEvent | NestedEvent | ToolResultEvent;

export interface CallObserver extends NestedObserver {
  emit(event: RunningCallEvent): void;
  /** The resources of the call have been released. */
  callEnded(id: string): void;
}

/** Emits exactly one result, or none if an agent in the tool waits. A resumed inner run does not start again. */
export class RunningCall implements ExecutionObserver {
  private readonly execution = new ToolExecution(this);
  private readonly nested: NestedRun;
  private readonly call: ToolCallPart;
  private readonly edited: { readonly arguments?: JsonObject };

  constructor(
    private readonly sent: ToolCallPart,
    private readonly settings: CallSettings,
    private readonly observer: CallObserver,
    resumed: ResumedRun | undefined,
    edited: JsonObject | undefined,
  ) {
    this.edited = edited ? { arguments: edited } : {};
    this.call = { ...sent, ...this.edited };
    this.nested = new NestedRun(this.call, settings, this.execution, observer, resumed);
  }

  start(): void {
    this.execution.limit(this.settings.deadline);
    this.execution.start(() => this.execute());
  }

  /** Stops an agent in the tool, so that the result has what it wrote; unsubscribes any other tool. */
  cancel(): void {
    this.nested.stop();
    this.execution.cancel(cancellation());
  }

  /** `id` is the id of the inner call in the outer run. */
  cancelInner(id: string): void {
    for (const control of this.nested.controls) control.cancel(id);
  }

  unsubscribe(): void {
    this.execution.unsubscribe();
  }

  progress(value: JsonValue): void {
    const { id, name } = this.call;
    this.observer.emit({ type: 'toolProgress', id, name, value });
  }

  usage(usage: Usage): void {
    const { id, name } = this.call;
    this.observer.emit({ type: 'toolUsage', id, name, usage });
  }

  result(value: JsonValue): void {
    const { id, name } = this.call;
    this.observer.emit({ type: 'toolResult', id, name, result: value, ...this.edited });
    this.observer.callEnded(this.call.id);
  }

  error(thrown: unknown): void {
    const failed = failedResult(this.call, thrown, this.settings.onToolError);
    this.observer.emit({ ...failed, ...this.edited });
  }

  afterFailure(): void {
    this.observer.callEnded(this.call.id);
  }

  private execute(): unknown {
    const tool = toolNamed(this.settings.tools, this.call.name);
    const validation = validateArguments(tool, this.call);
    return validation instanceof Promise
      ? validation.then((validated) => this.executeWith(tool, validValue(validated)))
      : this.executeWith(tool, validValue(validation));
  }

  private executeWith(tool: Tool, args: unknown): unknown {
    const { call, sent, observer, execution, nested: outer } = this;
    const { messages, context } = this.settings;
    const idempotencyKey = keyOf(sent, this.settings);
    if (!execution.isOpen()) return undefined; // the call has ended while its arguments were validated
    if (!outer.resumed) observer.emit({ type: 'toolStart', id: call.id, name: call.name, arguments: call.arguments });
    if (!execution.isOpen()) return undefined; // the handler of the event has ended it
    return tool.execute?.(args, createToolContext(execution, { call, messages, context, idempotencyKey, outer }));
  }
}

/** After a `retract`, another call may have the same id. The arguments of a person do not make another call of it. */
export const keyOf = ({ id, name, arguments: args }: ToolCallPart, { idempotencyPrefix }: CallSettings): string =>
  `${idempotencyPrefix}${id}.${hash(canonicalJson([name, args]))}`;

/** The model has the other tools, too: each of thousands of calls would be answered with all names. */
const MAX_NAMES = 50;

function toolNamed(tools: ReadonlyMap<string, Tool>, name: string): Tool {
  const tool = tools.get(name);
  if (tool) return tool;
  if (tools.size === 0) throw new ToolFailure('unknown_tool', `There is no tool "${name}". No tools are available.`);
  const names = [...tools.keys()].slice(0, MAX_NAMES).join(', ');
  const others = tools.size > MAX_NAMES ? `, and ${tools.size - MAX_NAMES} more` : '';
  throw new ToolFailure('unknown_tool', `There is no tool "${name}". Available: ${names}${others}.`);
}
