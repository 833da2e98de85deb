import type { FinishReason } from '../../../lib/core/chunk.js';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import type { ToolDefinition } from '../../../lib/core/tool.js';
import type { Usage } from '../../../lib/core/usage.js';

/** How the frames of a body are delimited. */
export type BodyFraming = 'sse' | 'ndjson';

/** What a server sends after a 200. */
export interface Body {
  readonly framing: BodyFraming;
  /** The writes, with their framing. */
  readonly writes: readonly string[];
  /** Whether the connection is reset after the last write. Otherwise the body ends cleanly. */
  readonly reset: boolean;
  /** Whether the body is also sent without its `[DONE]`, or with one if it has none. */
  readonly optionalDone: boolean;
}

/** An expected call. `id` is the exact id, `generated` (any id that is not empty) or `any`. */
export interface ExpectedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
}

/** The expected output. An absent field is not compared. */
export interface Expectation {
  readonly text?: string;
  readonly thinking?: string;
  /** Each of these lists is correct. */
  readonly toolCalls?: readonly (readonly ExpectedCall[])[];
  /** Each of these is correct. */
  readonly finishReason?: readonly FinishReason[];
  /** The counts that are compared; 0 is the same as absent. `null`: there must be no usage. */
  readonly usage?: Usage | null;
  /** Whether there must be an error. A string must occur in the error's text, in any case. */
  readonly error?: boolean | string;
  /** The provider's code that the error must contain. */
  readonly errorCode?: string;
  /** The response ends inside a call, which must never be emitted. */
  readonly droppedPartial?: true;
  /** The fields of each file, in order. */
  readonly files?: readonly JsonObject[];
  /** The fields of each source, in order. */
  readonly sources?: readonly JsonObject[];
}

/** One response of a server, and the expected output. */
export interface Case {
  readonly id: string;
  readonly wire: string;
  /** The file of the case. */
  readonly source: string;
  /** The model's name. Default: that of the wire. */
  readonly model?: string;
  readonly thinkTags: boolean;
  /** The tools of the request. */
  readonly tools: readonly ToolDefinition[];
  readonly body: Body;
  readonly expected: Expectation;
}

/** A file or an entry that is not a valid case. */
export interface Unreadable {
  readonly id: string;
  readonly source: string;
  readonly wire?: string;
  /** Why it is not valid. */
  readonly problem: string;
}

/** A case, or an entry that cannot be read as one. */
export type Found = Case | Unreadable;

/** Whether an entry is not a valid case. */
export const isUnreadable = (found: Found): found is Unreadable => 'problem' in found;

/** A tool that accepts any arguments. */
export const openTool = (name: string): ToolDefinition => ({
  name,
  description: `The tool ${name}.`,
  parameters: { type: 'object', properties: {}, additionalProperties: true },
});
