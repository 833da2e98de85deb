import type { OperatorFunction, Subscriber } from 'rxjs';
import type { ToolCallFragment } from '../core/chunk.js';
import { createOperator, type OperatorHandlers } from '../core/createOperator.js';
import type { StreamEvent, ToolCallEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { isSameJson } from '../core/json/equal.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json/json.js';
import { setField } from '../core/json/merge.js';
import { createPartialJson, type DeepPartial } from '../core/json/partialJson.js';
import type { Tool } from '../core/tool.js';
import { SnapshotPacer, type Growing } from './snapshotPacer.js';

/** A tool call while its arguments grow. */
export interface PartialArguments<Arguments = JsonObject, Name extends string = string> {
  readonly type: 'partialArguments';
  /** The position of the call among the calls of its turn, from 0. */
  readonly index: number | string;
  /** The id of the call, once it is known. */
  readonly id?: string;
  readonly name: Name;
  /** The arguments so far; `{}` at first. They are neither validated nor repaired. */
  readonly arguments: DeepPartial<Arguments>;
}

/**
 * Emits the arguments of tool calls while they grow, instead of the run's events.
 *
 * <span class="informal">Show the e-mail while the model is still writing it.</span>
 *
 * ![](../../marbles/partialArguments.svg)
 *
 * The source must emit fragments: use `accumulateToolCalls({ fragments: true })`, or a run with `{ fragments: true }`.
 * For each call, at most one snapshot per network read is emitted. The last snapshot has the complete arguments, and is
 * emitted before the events that follow the call. As in `partialOutput`, snapshots share closed arrays and objects.
 * `retract` drops the calls. Indexes start from 0 again after `retract` and in each turn.
 *
 * ```ts
 * agent
 *   .stream('Write to Ann.', { fragments: true })
 *   .pipe(partialArguments(sendMail))
 *   .subscribe((mail) => draw(mail.arguments.body ?? ''));
 * ```
 *
 * @param tool The tool whose calls are emitted, or its name. Default: all tools.
 * @returns A function that returns an Observable of the arguments so far.
 */
export function partialArguments<Name extends string, Arguments>(
  tool: Tool<Name, Arguments>,
): OperatorFunction<StreamEvent, PartialArguments<Arguments, Name>>;

/** Emits the arguments of the calls to all tools, or to the tool of this name, while they grow. */
export function partialArguments<Arguments = JsonObject>(
  name?: string,
): OperatorFunction<StreamEvent, PartialArguments<Arguments>>;
export function partialArguments(tool?: Tool | string): OperatorFunction<StreamEvent, PartialArguments> {
  const toolName = typeof tool === 'object' ? tool.name : tool;
  return createOperator<StreamEvent, PartialArguments>((out) => new GrowingCalls(out, toolName));
}

class GrowingCalls implements OperatorHandlers<StreamEvent> {
  private readonly calls = new Map<number | string, GrowingCall>();

  constructor(
    private readonly out: Subscriber<PartialArguments>,
    private readonly toolName: string | undefined,
  ) {}

  next(event: StreamEvent): void {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'toolCallFragment':
        this.callAt(known.index ?? 0).append(known);
        break;
      case 'toolCall':
        this.end(known);
        break;
      case 'retract':
        this.reset();
        break;
      case 'turn':
        this.flush();
        this.reset();
        break;
      default:
    }
  }

  error(thrown: unknown): void {
    this.flush();
    this.out.error(thrown);
  }

  complete(): void {
    this.flush();
    this.out.complete();
  }

  private callAt(index: number | string): GrowingCall {
    let call = this.calls.get(index);
    if (!call) this.calls.set(index, (call = new GrowingCall(this.out, index, this.toolName)));
    return call;
  }

  private end(complete: ToolCallEvent): void {
    for (const call of this.calls.values()) {
      if (!call.isOpenFor(complete)) continue;
      call.end(complete);
      return;
    }
  }

  private flush(): void {
    for (const call of this.calls.values()) call.pacer.flush();
  }

  private reset(): void {
    for (const call of this.calls.values()) call.pacer.drop();
    this.calls.clear();
  }
}

class GrowingCall implements Growing {
  readonly pacer: SnapshotPacer;
  private readonly json = createPartialJson();
  private id: string | undefined;
  private name: string | undefined;
  private object: Record<string, JsonValue> | undefined; // for servers that send arguments as an object
  private hasEnded = false;
  private lastSnapshot: JsonObject | undefined;
  private lastId: string | undefined;

  constructor(
    private readonly out: Subscriber<PartialArguments>,
    private readonly index: number | string,
    private readonly toolName: string | undefined,
  ) {
    this.pacer = new SnapshotPacer(out, this);
  }

  append({ id, name, arguments: args }: ToolCallFragment): void {
    this.id = id ?? this.id;
    this.name = name ?? this.name;
    if (typeof args === 'string') this.json.push(args);
    // In place: a copy for each fragment would be quadratic.
    else if (args) for (const [field, value] of Object.entries(args)) setField((this.object ??= {}), field, value);
    if (!this.hasEnded) this.pacer.grown();
  }

  /** The call is open and its fragments belong to this complete call. */
  isOpenFor(complete: ToolCallEvent): boolean {
    return !this.hasEnded && (this.id === undefined ? this.name === complete.name : this.id === complete.id);
  }

  end({ id, name, arguments: args }: ToolCallEvent): void {
    this.hasEnded = true;
    this.id = id;
    this.name = name;
    this.pacer.flush();
    const { lastSnapshot } = this;
    this.emit(lastSnapshot && isSameJson(args, lastSnapshot) ? lastSnapshot : args);
  }

  isDue(): boolean {
    return this.json.isDue();
  }

  emitSnapshot(): void {
    const current = this.object ? { ...this.object } : this.json.snapshot();
    this.emit(isJsonObject(current) ? current : (this.lastSnapshot ?? {}));
  }

  private emit(args: JsonObject): void {
    const { id, name, index, toolName } = this;
    if (name === undefined || (toolName !== undefined && name !== toolName)) return;
    if (args === this.lastSnapshot && id === this.lastId) return;
    this.lastSnapshot = args;
    this.lastId = id;
    this.out.next({ type: 'partialArguments', index, ...(id === undefined ? {} : { id }), name, arguments: args });
  }
}
