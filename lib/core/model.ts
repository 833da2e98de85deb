import type { Observable } from 'rxjs';
import type { Chunk } from './chunk.js';
import type { RunState } from './event.js';
import type { JsonObject, JsonSchema } from './json/json.js';
import type { Message } from './message.js';
import type { ToolDefinition } from './tool.js';

/** Whether the model has to call tools, and which. `{ name }` forces that tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/**
 * How much the model may think. `true`: the provider's default; `effort` for providers that have levels; `budget` in
 * tokens for the others.
 */
export type Thinking = boolean | { readonly effort?: 'minimal' | 'low' | 'medium' | 'high'; readonly budget?: number };

/** The settings of a request that do not depend on the conversation. Default of each: the provider's. */
export interface RequestSettings {
  /** The sampling temperature, in the provider's scale (usually 0 to 2). */
  readonly temperature?: number | undefined;
  /** Nucleus sampling, 0 to 1. */
  readonly topP?: number | undefined;
  /** The limit of the output in tokens, thinking included if the provider counts it. */
  readonly maxOutputTokens?: number | undefined;
  /** Texts at which the model stops. */
  readonly stopSequences?: readonly string[] | undefined;
  /** The seed for repeatable sampling, if the provider supports it. */
  readonly seed?: number | undefined;
  /** How much the model may think. */
  readonly thinking?: Thinking | undefined;
  /** Whether the model may make several tool calls in one turn. */
  readonly parallelToolCalls?: boolean | undefined;
  /**
   * Fields of the provider's request, under its name, merged over the encoded ones: `{ openai: { service_tier: 'flex' }
   * }`.
   */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** One request to a model. */
export interface Request extends RequestSettings {
  readonly messages: readonly Message[];
  /** The tools that the model may call. */
  readonly tools?: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  /** The JSON Schema that the output has to match. */
  readonly output?: JsonSchema;
}

/** What a model can do. An absent capability is unknown. */
export interface Capabilities {
  /** Calls tools. */
  readonly tools?: boolean;
  /** Makes several tool calls in one turn. */
  readonly multiToolCalls?: boolean;
  /** Follows a JSON Schema. */
  readonly typedOutput?: boolean;
  /** Accepts tools and a JSON Schema in one request. */
  readonly typedOutputWithTools?: boolean;
  /** Thinks, by itself or on request. */
  readonly thinking?: boolean;
  /** Reads images. */
  readonly vision?: boolean;
  /** Reads documents (PDF). */
  readonly files?: boolean;
}

/**
 * A language model. `stream` returns a cold Observable: subscribing sends the request, unsubscribing aborts it. It
 * emits exactly one `finish`, as the last chunk, and completes; otherwise it fails with an error.
 */
export interface Model {
  /** The provider's name: the key of its `providerData` and `providerOptions`. */
  readonly provider: string;
  /** The model's name at the provider. */
  readonly name: string;
  readonly capabilities?: Capabilities;
  stream(request: Request): Observable<Chunk>;
}

/**
 * A tool choice, or a function of the run's state that returns one. A plain choice applies to the first turn of a run.
 */
export type ToolChoiceOption = ToolChoice | ((state: RunState) => ToolChoice | undefined);
