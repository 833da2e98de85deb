import type { CallScope } from './callScope.js';
import type { InnerWork } from './innerWork.js';
import type { ObservableInput } from 'rxjs';
import { schemaError, toolsError } from './errors.js';
import type {
  NestedEvent,
  StreamEvent,
  ToolCallEvent,
  ToolProgressEvent,
  ToolStartEvent,
  ToolUsageEvent,
  ToolWaitingEvent,
} from './event.js';
import { isRecord, omitUndefined, type JsonObject, type JsonSchema } from './json/json.js';
import type { JsonOf } from './json/toJson.js';
import type { AnsweredCall, Message, ProviderOptions, ToolCallPart, UnansweredCall } from './message.js';
import type { OuterRun } from './nested.js';
import { objectRoot } from './objectRoot.js';
import { requireOptions, type OptionKinds } from './requireOptions.js';
import { toJsonSchema, type Infer, type InferInput, type Schema } from './schema.js';
import type { ProgressOf, ResultOf, ToolOutput } from './toolOutput.js';
import type { Usage } from './usage.js';
import type { Plain } from './typesOf.js';

/**
 * The second argument of `execute`. `P` is the type of the tool's progress, and `C` that of the user's own value. A
 * tool declares what it needs of that value: `execute: (args, { context }: { context: { userId: string } }) => ...`.
 */
export interface ToolContext<P = unknown, Call extends ToolCallPart<string, unknown> = ToolCallPart, C = unknown> {
  /**
   * Aborted when the run is unsubscribed, stopped or out of time, the call is cancelled, or the deadline is reached.
   * Its `reason` is an `AbortError` in all cases. Pass it to `fetch` and other functions that accept a signal.
   */
  readonly signal: AbortSignal;
  /** The call itself. */
  readonly call: Call;
  /** The conversation up to the call. */
  readonly messages: readonly Message[];
  /** The user's own value (a user's id, a database): the option `context` of the run, unchanged. */
  readonly context: C;
  /**
   * Emits a `toolProgress` event at once. After the end of the call it does nothing. It throws if JSON cannot represent
   * the value.
   */
  readonly progress: (value: P) => void;
  /**
   * Adds tokens that the tool itself has used (with a model of its own) to the usage of the turn and the run, and emits
   * a `toolUsage` event. After the end of the call it does nothing.
   */
  readonly usage: (usage: Usage) => void;
  /**
   * The same text in every execution of this call, also after a crash if the run has checkpoints: pass it to a service
   * that executes a request with the same key once. It consists of the run's id, the number of the turn, the call's id,
   * and a hash of its name and of the arguments that the model has sent.
   */
  readonly idempotencyKey: string;
  /** The run that has made the call, for a tool that runs an agent: `agentTool` uses it. */
  readonly outer?: OuterRun | undefined;
  /** The execution, for tools that execute others: `agentTool` and `askTool` use it. */
  readonly scope?: CallScope | undefined;
  /** The place of `limitTool` that the execution has, for tools that wait. Default: `outer`. */
  readonly work?: InnerWork | undefined;
}

/** The second argument of `needsApproval`: what is known of the call before it runs. */
export type ApprovalContext<C = unknown> = Omit<
  ToolContext<unknown, ToolCallPart, C>,
  'signal' | 'progress' | 'usage' | 'idempotencyKey' | 'outer' | 'scope' | 'work'
>;

/**
 * Whether a call must be approved: a value, or a function of its valid arguments; a Promise or an Observable may also
 * emit `details` for the person who decides. A method, for the same reason as `execute`.
 */
export type NeedsApproval<Arguments = unknown, C = unknown> =
  | boolean
  | { decide(args: Arguments, context: ApprovalContext<C>): NeededApproval }['decide'];

type NeededApproval = boolean | ObservableInput<boolean | JsonObject>;

/**
 * A function that the model can call. `execute` is declared as a method, so that an array of tools with different
 * arguments is assignable to `readonly Tool[]`.
 *
 * `Arguments` is the type of the validated arguments, and `Sent` that of the arguments as the model sends them.
 * `Result` and `ProgressValue` are the types that `execute` returns, before values are copied as JSON. `Context` is the
 * type of the user's own value, which the run must provide.
 */
export interface Tool<
  Name extends string = string,
  Arguments = unknown,
  Result = unknown,
  ProgressValue = unknown,
  Sent = unknown,
  Context = unknown,
> {
  readonly name: Name;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** The schema of the arguments: a Standard Schema (zod), or a plain JSON Schema. */
  readonly parameters: Schema;
  /** Fields for the provider's definition of this tool (`strict`, `cache_control`, `defer_loading`). Default: none. */
  readonly providerOptions?: ProviderOptions | undefined;
  /** Whether a call waits until it is approved. Default: false. */
  readonly needsApproval?: NeedsApproval<Arguments, Context> | undefined;
  /**
   * Whether a call that had begun when its process ended is never executed again: a service with `checkpoints` answers
   * it with the error `outcome_unknown`. If not, it is executed again with the same `idempotencyKey`. Default: true
   * with `needsApproval`, otherwise false.
   */
  readonly atMostOnce?: boolean | undefined;
  /** The schema of a result that is passed to `agent.resume`, for a tool without `execute`. Default: any JSON. */
  readonly result?: Schema | undefined;
  /**
   * Runs the call. If it throws, the error is reported to the model as the call's result, and the run continues.
   * Without `execute`, a call waits until its result is passed to `agent.resume`: a browser or a person answers it.
   */
  execute?(
    args: Arguments,
    context: ToolContext<ProgressValue, ToolCallPart<Name, Sent>, Context>,
  ): ToolOutput<Result, ProgressValue>;
}

/** The description of a tool that is sent to the model. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly parameters: JsonSchema;
  /** Fields for the provider's definition of this tool. Default: none. */
  readonly providerOptions?: ProviderOptions;
}

export const noParameters = { type: 'object', properties: {}, additionalProperties: false } as const;

/**
 * Defines a tool; the types of its arguments, its result and its progress are inferred.
 *
 * ```ts
 * const add = tool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => a + b,
 * });
 * const search = tool({
 *   name: 'search',
 *   description: 'Searches the archive.',
 *   parameters: z.object({ query: z.string() }),
 *   execute: ({ query }) => concat(of(progress({ step: 'opening the archive' })), find(query)),
 * });
 * ```
 *
 * A call of a tool with `needsApproval` waits for a decision before it runs. A call of a tool without `execute` waits
 * for a result from outside:
 *
 * ```ts
 * const remove = tool({
 *   name: 'remove_file',
 *   description: 'Removes a file.',
 *   parameters: z.object({ path: z.string() }),
 *   needsApproval: ({ path }) => !path.startsWith('/tmp/'),
 *   execute: ({ path }) => rm(path),
 * });
 * const location = tool({
 *   name: 'location',
 *   description: 'Returns the position of the user.',
 *   result: z.object({ latitude: z.number(), longitude: z.number() }),
 * });
 * ```
 *
 * @param definition The tool's `name` (by which the model calls it), `description`, `parameters` (default: none),
 * `execute` (see `ToolOutput` for its possible return values; without it, a call waits for its result),
 * `needsApproval` (default: false), `atMostOnce` (default: true with `needsApproval`), and optionally `progress`, a
 * schema that types the values of `context.progress` and of the tool's `toolProgress` events. Progress is not
 * validated. Without `execute`, `result` is the schema that validates and types the result (default: any JSON).
 * @returns The tool, for `createAgent`, `toolLoop` or `executeTools`.
 * @throws ConfigurationError `options` or `tools` for an option that has another name or type, and for a name that no
 * provider accepts.
 */
export function tool<
  const Name extends string,
  Output,
  S extends Schema = typeof noParameters,
  P extends Schema | undefined = undefined,
  C = unknown,
>(
  definition: ToolHead<Name, S> & {
    readonly progress?: P;
    readonly result?: never;
    readonly needsApproval?: boolean | ((args: Infer<NoInfer<S>>, context: ApprovalContext<C>) => NeededApproval);
    readonly atMostOnce?: boolean;
    readonly execute: (
      args: Infer<NoInfer<S>>,
      context: ToolContext<DeclaredProgress<NoInfer<P>>, ToolCallPart<Name, InferInput<NoInfer<S>>>, C>,
    ) => Output;
  },
): Tool<Name, Infer<S>, ResultOf<Output>, ProgressOf<Output, P>, InferInput<S>, C>;
export function tool<
  const Name extends string,
  S extends Schema = typeof noParameters,
  R extends Schema | undefined = undefined,
>(
  definition: ToolHead<Name, S> & {
    readonly result?: R;
    readonly execute?: never;
    readonly needsApproval?: never;
    readonly atMostOnce?: never;
  },
): Tool<Name, Infer<S>, R extends Schema ? Infer<R> : unknown, never, InferInput<S>>;
export function tool(definition: Omit<Tool, 'parameters'> & { readonly parameters?: Schema }): Tool {
  requireTool(definition);
  const { name, description, execute, needsApproval, atMostOnce, parameters = noParameters } = definition;
  const { providerOptions, result } = definition;
  const given = omitUndefined({ providerOptions, needsApproval, atMostOnce, result, execute });
  return { name, description, parameters, ...given };
}

const definitionKinds: OptionKinds<Tool & { progress: unknown }> = {
  name: 'string',
  description: 'string',
  parameters: 'any',
  providerOptions: 'object',
  needsApproval: ['boolean', 'function'],
  atMostOnce: 'boolean',
  result: 'any',
  execute: 'function',
  progress: 'any',
};

/** @throws ConfigurationError `options` or `tools` for what JavaScript may pass. */
export function requireTool(definition: unknown): void {
  const name = isRecord(definition) && typeof definition['name'] === 'string' ? definition['name'] : '';
  requireOptions(name === '' ? 'a tool' : `the tool "${name}"`, definition, definitionKinds);
  // Google also accepts dots and colons, Anthropic up to 128 characters.
  if (/^[\w.:-]{1,128}$/.test(name)) return;
  throw toolsError(
    `No provider accepts a tool with the name "${name}".`,
    'Use letters, digits, "_" and "-", at most 64 characters.',
  );
}

interface ToolHead<Name extends string, S extends Schema> {
  readonly name: Name;
  readonly description: string;
  readonly parameters?: S;
  readonly providerOptions?: ProviderOptions;
}

/** The type of the user's own value that the tools need: the intersection of the types that they declare. */
export type UserContextOf<T extends Tool> = [T] extends [never]
  ? unknown
  : (T extends Tool<string, never, unknown, unknown, unknown, infer C> ? (context: C) => void : never) extends (
        context: infer All,
      ) => void
    ? All
    : never;

type DeclaredProgress<P> = P extends Schema ? Infer<P> : unknown;

/** The type of the progress of a tool that runs an agent, whose events are `E`. It has no values. */
export interface Nested<E extends StreamEvent = StreamEvent> {
  readonly 'nested events': E;
}

/** The events of the calls of a tool. For a union of tools, the union of their events. */
export type EventsOf<T extends Tool> =
  T extends Tool<infer Name, never, infer R, infer P, infer Sent>
    ?
        | Plain<ToolCallEvent<Name, SentArguments<Sent>>>
        | Plain<ToolWaitingEvent<Name, SentArguments<Sent>>>
        | Plain<ToolStartEvent<Name, SentArguments<Sent>>>
        | ProgressEventOf<Name, P>
        | NestedEventOf<Name, P>
        | Plain<ToolUsageEvent<Name>>
        | Plain<AnsweredCall<Name, JsonOf<R>>>
        | Plain<UnansweredCall<Name>>
    : never;

type ProgressEventOf<Name extends string, P> = [P] extends [Nested]
  ? never
  : Plain<ToolProgressEvent<Name, JsonOf<Exclude<P, Nested>>>>;

/** Any tool may run an agent; a tool whose name is known has said so. */
type NestedEventOf<Name extends string, P> = unknown extends P
  ? string extends Name
    ? Plain<NestedEvent<Name>>
    : never
  : P extends Nested<infer E>
    ? Plain<NestedEvent<Name, E>>
    : never;

type SentArguments<Sent> = unknown extends Sent ? JsonObject : Sent;

/** Tools are immutable, and each turn needs the definition of each tool. */
const definitions = new WeakMap<Tool, ToolDefinition>();

/**
 * Describes a tool for the model. A tool has one definition in its lifetime.
 *
 * @throws ConfigurationError `schema` if the parameters do not describe an object.
 */
export function toolDefinition(tool: Tool): ToolDefinition {
  const known = definitions.get(tool);
  if (known) return known;
  const definition = createDefinition(tool);
  definitions.set(tool, definition);
  return definition;
}

function createDefinition({ name, description, parameters, providerOptions }: Tool): ToolDefinition {
  const schema = toJsonSchema(parameters, `Tool "${name}"`);
  if (!describesObject(schema)) {
    throw schemaError(
      `The parameters of tool "${name}" are not an object schema.`,
      "Pass z.object({ ... }), or a JSON Schema with type: 'object'.",
    );
  }
  return { name, description, parameters: objectRoot(schema), ...(providerOptions ? { providerOptions } : {}) };
}

const describesObject = (schema: JsonSchema): boolean =>
  schema['type'] === 'object' ||
  (schema['type'] === undefined &&
    ['properties', '$ref', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in schema));
