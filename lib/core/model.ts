import type { Observable } from 'rxjs';
import type { Chunk } from './chunk.js';
import type { RunState } from './event.js';
import type { JsonObject, JsonSchema } from './json/json.js';
import type { Message } from './message.js';
import type { ToolDefinition } from './tool.js';

/** Whether and which tools the model has to call. `{ name }` forces that one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** How much the model may think. `true`: as the provider defaults; an effort for those that take one; a budget in tokens for the others. */
export type Thinking = boolean | { readonly effort?: 'minimal' | 'low' | 'medium' | 'high'; readonly budget?: number };

/** The settings of a request that do not depend on the conversation. Each is left to the provider's default when absent. */
export interface RequestSettings {
  /** Randomness, as the provider scales it (mostly 0 to 2). */
  readonly temperature?: number | undefined;
  /** Nucleus sampling, 0 to 1. */
  readonly topP?: number | undefined;
  /** The longest answer, in tokens, thinking included where the provider counts it so. */
  readonly maxOutputTokens?: number | undefined;
  /** Texts that end the answer. */
  readonly stopSequences?: readonly string[] | undefined;
  /** For repeatable sampling, where the provider has it. */
  readonly seed?: number | undefined;
  /** How much the model may think. */
  readonly thinking?: Thinking | undefined;
  /** Whether several calls may come in one turn. */
  readonly parallelToolCalls?: boolean | undefined;
  /** Fields of the provider's own request, under its name, merged over ours: `{ openai: { service_tier: 'flex' } }`. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** One request to a model. */
export interface Request extends RequestSettings {
  readonly messages: readonly Message[];
  /** The tools that the model may call. */
  readonly tools?: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  /** The JSON Schema that the answer has to follow. */
  readonly output?: JsonSchema;
}

/** What a model can do, as data. Absent: not known. */
export interface Capabilities {
  /** Calls tools. */
  readonly tools?: boolean;
  /** Several calls in one turn. */
  readonly multiToolCalls?: boolean;
  /** Answers by a JSON Schema. */
  readonly typedOutput?: boolean;
  /** Tools and a JSON Schema in one request. */
  readonly typedOutputWithTools?: boolean;
  /** Shows or can be told to think. */
  readonly thinking?: boolean;
  /** Reads images. */
  readonly vision?: boolean;
  /** Reads documents (PDF). */
  readonly files?: boolean;
}

/**
 * A language model: `stream` gives a cold Observable. Subscribing sends the request, unsubscribing aborts it. It emits exactly one `finish`, as
 * the last chunk, and completes; otherwise it errors.
 */
export interface Model {
  /** The provider's name: the key of its `providerData` and `providerOptions`. */
  readonly provider: string;
  /** The model's name, as the provider knows it. */
  readonly name: string;
  readonly capabilities?: Capabilities;
  stream(request: Request): Observable<Chunk>;
}

/** A tool choice, or one that depends on where the run stands. A plain choice holds for the first turn of a run. */
export type ToolChoiceOption = ToolChoice | ((state: RunState) => ToolChoice | undefined);
