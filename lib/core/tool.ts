import { ConfigurationError } from './errors.js';
import type { ToolCallEvent, ToolProgressEvent, ToolResultEvent, ToolStartEvent } from './event.js';
import type { JsonObject, JsonSchema } from './json/json.js';
import type { JsonOf } from './json/toJson.js';
import type { Message, ToolCallPart } from './message.js';
import { jsonSchemaOf } from './schema.js';
import type { Infer, InferInput, Schema } from './schema.js';
import type { ProgressOf, ResultOf, ToolOutput } from './toolOutput.js';

/** What a tool receives besides its arguments. `P` is the type of its progress. */
export interface ToolContext<P = unknown, Call extends ToolCallPart<string, unknown> = ToolCallPart> {
  /**
   * Aborted when the run is unsubscribed, the call is cancelled, or the deadline passes. Pass it to `fetch` and the
   * like.
   */
  readonly signal: AbortSignal;
  /** The call itself. */
  readonly call: Call;
  /** The conversation up to the call. */
  readonly messages: readonly Message[];
  /**
   * Emits `toolProgress` at once. After the end of the call it does nothing. It throws if JSON cannot represent the
   * value.
   */
  readonly progress: (value: P) => void;
}

/**
 * Something the model can call. `execute` is a method, so that a list of different tools is assignable to a list of
 * tools.
 *
 * `Arguments` are the validated ones, `Sent` those that the model sends; `Result` and `ProgressValue` are as `execute`
 * returns them, before they are copied as JSON.
 */
export interface Tool<
  Name extends string = string,
  Arguments = unknown,
  Result = unknown,
  ProgressValue = unknown,
  Sent = unknown,
> {
  readonly name: Name;
  /** For the model: what it does, when to use it. */
  readonly description: string;
  /** What the arguments must look like: a Standard Schema (zod), or a plain JSON Schema. */
  readonly parameters: Schema;
  /** Runs the call. Whatever it throws is answered to the model as an error, and the run continues. */
  execute(
    args: Arguments,
    context: ToolContext<ProgressValue, ToolCallPart<Name, Sent>>,
  ): ToolOutput<Result, ProgressValue>;
}

/** What the model knows of a tool. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly parameters: JsonSchema;
}

/** A tool without parameters takes an empty object. */
const noParameters = { type: 'object', properties: {}, additionalProperties: false } as const;

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
 * @param definition Its `name` (as the model calls it), `description`, `parameters` (default: none), `execute` (see
 * `ToolOutput` for what it may return), and optionally `progress`, a schema that types the values of `context.progress`
 * and of the tool's `toolProgress` events. Progress is not validated.
 * @returns The tool, for `createAgent`, `toolLoop` or `executeTools`.
 */
export function tool<
  const Name extends string,
  Output,
  S extends Schema = typeof noParameters,
  P extends Schema | undefined = undefined,
>(definition: {
  readonly name: Name;
  readonly description: string;
  readonly parameters?: S;
  readonly progress?: P;
  readonly execute: (
    args: Infer<NoInfer<S>>,
    context: ToolContext<DeclaredProgress<NoInfer<P>>, ToolCallPart<Name, InferInput<NoInfer<S>>>>,
  ) => Output;
}): Tool<Name, Infer<S>, ResultOf<Output>, ProgressOf<Output, P>, InferInput<S>> {
  const { name, description, execute, parameters } = definition;
  return {
    name,
    description,
    parameters: parameters ?? noParameters,
    // `ResultOf` and `ProgressOf` are derived from `Output` as `ToolOutput` is defined; TypeScript cannot see that.
    execute: (args, context) => execute(args, context as never) as never,
  };
}

type DeclaredProgress<P> = P extends Schema ? Infer<P> : unknown;

/** The events of the calls of one tool, or of each of several. */
export type EventsOf<T extends Tool> =
  T extends Tool<infer Name, never, infer R, infer P, infer Sent>
    ? | ToolCallEvent<Name, SentArguments<Sent>>
      | ToolStartEvent<Name, SentArguments<Sent>>
      | ToolProgressEvent<Name, JsonOf<P>>
      | ToolResultEvent<Name, JsonOf<R>>
    : never;

type SentArguments<Sent> = unknown extends Sent ? JsonObject : Sent;

/**
 * Describes a tool for the model.
 *
 * @throws ConfigurationError `schema` when the parameters describe no object.
 */
export function toolDefinition({ name, description, parameters }: Tool): ToolDefinition {
  const schema = jsonSchemaOf(parameters, `Tool "${name}"`);
  if (!describesObject(schema)) {
    throw new ConfigurationError(
      'schema',
      `Tool "${name}": its parameters are not a schema of an object.`,
      "Pass z.object({ ... }), or a JSON Schema with type: 'object'.",
    );
  }
  return { name, description, parameters: schema };
}

const describesObject = (schema: JsonSchema): boolean =>
  schema['type'] === 'object' ||
  (schema['type'] === undefined &&
    ['properties', '$ref', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in schema));

/** The arguments of a call whose JSON could not be read. */
export interface InvalidArguments extends JsonObject {
  /** The text as it came. */
  readonly _raw: string;
  readonly _error: 'invalid_json';
}

/** Whether the arguments of a call could not be read: it is answered to the model as an error. */
export function isInvalidArguments(args: JsonObject): args is InvalidArguments {
  return args['_error'] === 'invalid_json' && typeof args['_raw'] === 'string';
}
