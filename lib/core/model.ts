import type { Observable } from 'rxjs';
import type { Chunk } from './chunk.js';
import type { RunState } from './event.js';
import type { JsonSchema } from './json/json.js';
import type { Message, ProviderOptions } from './message.js';
import type { ToolDefinition } from './tool.js';

/** Whether the model may or must call tools. `{ name }` forces a call to that tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** `true`: the provider's default. `effort` is for providers that have levels, `budget`, in tokens, for others. */
export type Thinking = boolean | { readonly effort?: ThinkingEffort; readonly budget?: number };

/** Not every model has every level: a ConfigurationError if the model is known not to have it. */
export type ThinkingEffort = 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** The settings of a request that do not depend on the conversation. An omitted setting has the provider's default. */
export interface RequestSettings {
  /** The sampling temperature, in the provider's scale (usually 0 to 2). */
  readonly temperature?: number | undefined;
  /** Nucleus sampling, 0 to 1. */
  readonly topP?: number | undefined;
  /** The maximum number of output tokens, including thinking if the provider counts it. */
  readonly maxOutputTokens?: number | undefined;
  /** The model stops before it writes one of these texts. */
  readonly stopSequences?: readonly string[] | undefined;
  /** The seed for repeatable sampling, if the provider supports it. */
  readonly seed?: number | undefined;
  readonly thinking?: Thinking | undefined;
  /** Whether the model may make several tool calls in one turn. */
  readonly parallelToolCalls?: boolean | undefined;
  /** Override the fields that Rivulet encodes, by provider: `{ openai: { service_tier: 'flex' } }`. */
  readonly providerOptions?: ProviderOptions | undefined;
}

/** One request to a model. */
export interface ModelRequest extends RequestSettings {
  readonly messages: readonly Message[];
  /** The tools that the model may call. */
  readonly tools?: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  /** The JSON Schema that the output has to match. */
  readonly output?: JsonSchema;
  /**
   * Ends the response with its first value: the model aborts its request, emits what it holds back, and then a
   * `finish` with the reason `stopped` and the usage so far. All models of Rivulet do so, at any time. A run
   * unsubscribes a model that does not know it; without a run, `stopOn` does. The only field that is not data: it is
   * never recorded, compared or sent. Default: never.
   */
  readonly stop?: Observable<unknown> | undefined;
}

/** The capabilities of a model. An omitted capability is unknown. */
export interface Capabilities {
  /** Whether the model calls tools. */
  readonly tools?: boolean;
  /** Whether the model makes several tool calls in one turn. */
  readonly multiToolCalls?: boolean;
  /** Whether the model follows a JSON Schema. */
  readonly typedOutput?: boolean;
  /** Whether the model accepts tools and a JSON Schema in one request. */
  readonly typedOutputWithTools?: boolean;
  /** Whether the model thinks, by default or on request. */
  readonly thinking?: boolean;
  /** Whether the model reads images. */
  readonly vision?: boolean;
  /** Whether the model reads documents (PDF). */
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
  stream(request: ModelRequest): Observable<Chunk>;
}

/** A plain choice applies to the first turn of a run; a function receives the state and the user's own value. */
export type ToolChoiceOption<C = never> = ToolChoice | ((state: RunState, context: C) => ToolChoice | undefined);
