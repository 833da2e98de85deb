import type { Observable } from 'rxjs';
import { ConfigurationError } from './errors.js';
import type { ToolProgressEvent, ToolResultEvent } from './event.js';
import type { JsonObject, JsonSchema, JsonValue } from './json/json.js';
import type { Message, ToolCallPart } from './message.js';
import { jsonSchemaOf } from './schema.js';
import type { Infer, Schema } from './schema.js';

/**
 * What a tool may give: a value, a Promise of one, or an Observable whose last value is the result and whose earlier ones are progress. A value is shown as
 * progress when the next one comes: until then it might be the result. An async generator does as well, and what it returns, if anything, is its last
 * value; it is left at its next `yield`, where an Observable is left at once.
 */
export type ToolOutput<R> = R | PromiseLike<R> | Observable<R> | AsyncIterable<R>;

/** What a tool gets beside its arguments. */
export interface ToolContext {
  /** Aborted when the run is unsubscribed or the deadline passes. Hand it to `fetch` and friends. */
  readonly signal: AbortSignal;
  /** The call itself. */
  readonly call: ToolCallPart;
  /** The conversation up to the call. */
  readonly messages: readonly Message[];
}

/** Something the model can call. `execute` is a method, so that a list of different tools is assignable to a list of tools. */
export interface Tool<Name extends string = string, Arguments = unknown, Result = unknown> {
  readonly name: Name;
  /** For the model: what it does, when to use it. */
  readonly description: string;
  /** What the arguments must look like: a Standard Schema (zod), or a plain JSON Schema. */
  readonly parameters: Schema;
  /** Runs the call. Whatever it throws is answered to the model as an error, and the run goes on. */
  execute(args: Arguments, context: ToolContext): ToolOutput<Result>;
}

/** A tool as a model is told of it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly parameters: JsonSchema;
}

/** A tool without parameters takes an empty object. */
const noParameters = { type: 'object', properties: {}, additionalProperties: false } as const;

/**
 * Defines a tool; the types of the arguments and the result are inferred.
 *
 * A value of an Observable is shown as progress when the next one comes: until then it might be the result.
 *
 * ```ts
 * const add = tool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => a + b,
 * });
 * ```
 *
 * @param definition Its name (as the model calls it), description, parameters (default: none) and `execute`, which gives a value, a Promise or an
 * Observable.
 * @returns The tool, for `createAgent`, `toolLoop` or `executeTools`.
 */
export function tool<const Name extends string, R, S extends Schema = typeof noParameters>(definition: {
  readonly name: Name;
  readonly description: string;
  readonly parameters?: S;
  readonly execute: (args: Infer<NoInfer<S>>, context: ToolContext) => ToolOutput<R>;
}): Tool<Name, Infer<S>, R> {
  const { name, description, execute, parameters } = definition;
  return {
    name,
    description,
    parameters: parameters ?? noParameters,
    execute: (args, context) => execute(args, context),
  };
}

/** The events of one tool, or of each of several. */
export type EventsOf<T extends Tool> =
  T extends Tool<infer Name, never, infer R>
    ? ToolProgressEvent<Name, R> | ToolResultEvent<Name, unknown extends R ? JsonValue : R>
    : never;

/**
 * What the model is told of a tool.
 *
 * @throws ConfigurationError `schema` when the parameters describe no object.
 */
export function toolDefinition({ name, description, parameters }: Tool): ToolDefinition {
  const schema = jsonSchemaOf(parameters, `Tool "${name}"`);
  if (!describesObject(schema)) {
    throw new ConfigurationError(
      'schema',
      `Tool "${name}": its parameters are no schema of an object.`,
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
