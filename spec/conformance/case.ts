import type { FinishReason } from '../../lib/core/chunk.js';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';
import type { ToolDefinition } from '../../lib/core/tool.js';
import type { Usage } from '../../lib/core/usage.js';
import type { Framing } from '../../lib/protocol/wire.js';

/** What a server sends after a 200. */
export interface Body {
  readonly framing: Framing;
  /** Each is one write, with its framing. */
  readonly writes: readonly string[];
  /** Whether the connection is destroyed after them; otherwise the body ends cleanly. */
  readonly reset: boolean;
  /** Whether a protocol that marks its end with `[DONE]` may also leave the mark out, or one that does not may have it. */
  readonly optionalDone: boolean;
}

/** A call that is due. `id`: the exact one, one that was `generated` (any, not empty), or `any`. */
export interface ExpectedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
}

/** What is due. A field that is absent is not judged. */
export interface Expectation {
  readonly text?: string;
  readonly thinking?: string;
  /** Any one of these lists is right. */
  readonly toolCalls?: readonly (readonly ExpectedCall[])[];
  /** Any one of these is right. */
  readonly finishReason?: readonly FinishReason[];
  /** The counts that are judged; 0 is the same as absent. `null`: there must be none. */
  readonly usage?: Usage | null;
  /** Whether there must be an error; a text: one whose text contains it, whatever the case. */
  readonly error?: boolean | string;
  /** The provider's code, which the error must hold. */
  readonly errorCode?: string;
  /** A call was cut off: it must not appear, at any time. */
  readonly droppedPartial?: true;
  /** Fields that each file must have, in order. */
  readonly files?: readonly JsonObject[];
  /** The same for the sources. */
  readonly sources?: readonly JsonObject[];
}

/** One answer of a server, and what must come out. */
export interface Case {
  readonly id: string;
  readonly wire: string;
  /** The file it stands in. */
  readonly source: string;
  /** The model's name, where the case has one. */
  readonly model?: string;
  readonly thinkTags: boolean;
  /** What the request offers. */
  readonly tools: readonly ToolDefinition[];
  readonly body: Body;
  readonly expected: Expectation;
}

/** Something that should have been a case. */
export interface Unreadable {
  readonly id: string;
  readonly source: string;
  readonly wire?: string;
  /** Why it is none. */
  readonly problem: string;
}

/** What was found at a path. */
export type Found = Case | Unreadable;

/** Whether something is no case. */
export const isUnreadable = (found: Found): found is Unreadable => 'problem' in found;

/** A tool that takes any arguments. */
export const openTool = (name: string): ToolDefinition => ({
  name,
  description: `The tool ${name}.`,
  parameters: { type: 'object', properties: {}, additionalProperties: true },
});
