import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Plain } from '../../core/typesOf.js';

/** Fields that are not listed pass through unread. */
interface AgUiBase {
  readonly metadata?: JsonObject;
  readonly timestamp?: number;
}

/** The first event, unless the run fails at once. */
interface RunStartedEvent extends AgUiBase {
  readonly type: 'RUN_STARTED';
  readonly threadId: string;
  readonly runId: string;
  readonly protocolVersion?: string;
}

export interface RunFinishedEvent extends AgUiBase {
  readonly type: 'RUN_FINISHED';
  readonly threadId: string;
  readonly runId: string;
  readonly result?: JsonValue;
  /** Default: success. */
  readonly outcome?: RunOutcome;
  readonly usage?: readonly AgUiUsage[];
}

/** `success` may leave calls of front-end tools to the client; `interrupt` waits for `resume`. */
export type RunOutcome =
  | { readonly type: 'success'; readonly pendingToolCallIds?: readonly string[] }
  | { readonly type: 'interrupt'; readonly interrupts: readonly AgUiInterrupt[] }
  | { readonly type: 'cancelled' };

export interface AgUiInterrupt {
  readonly id: string;
  /** `tool_call`: a decision about the call `toolCallId`. */
  readonly reason: string;
  readonly message?: string;
  readonly toolCallId?: string;
  /** The run of the sub-agent that asks. Default: the agent itself. */
  readonly subagentRunId?: string;
  readonly responseSchema?: JsonObject;
  /** When the question expires, as an ISO 8601 date. */
  readonly expiresAt?: string;
  readonly metadata?: JsonObject;
}

/** `inputTokens` and `outputTokens` include the more specific counts. */
export interface AgUiUsage {
  readonly provider?: string;
  readonly model?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly reasoningTokens?: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
}

export interface RunErrorEvent extends AgUiBase {
  readonly type: 'RUN_ERROR';
  readonly message: string;
  readonly code?: string;
}

/** The role is `assistant` unless it says otherwise. */
type TextMessageEvent =
  | (AgUiBase & { readonly type: 'TEXT_MESSAGE_START'; readonly messageId: string; readonly role?: TextRole })
  | (AgUiBase & { readonly type: 'TEXT_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string })
  | (AgUiBase & { readonly type: 'TEXT_MESSAGE_END'; readonly messageId: string });

type TextRole = 'developer' | 'system' | 'assistant' | 'user';

/** A span, which holds messages. */
type ReasoningEvent =
  | (AgUiBase & { readonly type: 'REASONING_START' | 'REASONING_END'; readonly messageId: string })
  | (AgUiBase & { readonly type: 'REASONING_MESSAGE_START'; readonly messageId: string; readonly role: 'reasoning' })
  | (AgUiBase & { readonly type: 'REASONING_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string })
  | (AgUiBase & { readonly type: 'REASONING_MESSAGE_END'; readonly messageId: string });

type ToolCallEvents =
  | (AgUiBase & {
      readonly type: 'TOOL_CALL_START';
      readonly toolCallId: string;
      readonly toolCallName: string;
      readonly parentMessageId?: string;
    })
  | (AgUiBase & { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string })
  | (AgUiBase & { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string })
  | (AgUiBase & {
      readonly type: 'TOOL_CALL_RESULT';
      readonly messageId: string;
      readonly toolCallId: string;
      readonly content: AgUiContent;
    });

interface MessagesSnapshotEvent extends AgUiBase {
  readonly type: 'MESSAGES_SNAPSHOT';
  readonly messages: readonly AgUiMessage[];
}

/** `suspended` waits for the answers to interrupts, and goes on in a later run. */
export type SubagentEvent =
  | (AgUiBase & {
      readonly type: 'SUBAGENT_STARTED';
      readonly subagentRunId: string;
      readonly name: string;
      readonly parentSubagentRunId?: string;
      readonly parentToolCallId?: string;
    })
  | (AgUiBase & {
      readonly type: 'SUBAGENT_FINISHED';
      readonly subagentRunId: string;
      readonly outcome?:
        | { readonly type: 'success' }
        | { readonly type: 'suspended'; readonly interruptIds?: readonly string[] };
    })
  | (AgUiBase & { readonly type: 'SUBAGENT_ERROR'; readonly subagentRunId: string; readonly message: string });

export interface CustomEvent extends AgUiBase {
  readonly type: 'CUSTOM';
  readonly name: string;
  readonly value: JsonValue;
}

/** The events of AG-UI that `toAgUi` emits. */
export type AgUiEvent = Plain<
  | RunStartedEvent
  | RunFinishedEvent
  | RunErrorEvent
  | TextMessageEvent
  | ReasoningEvent
  | ToolCallEvents
  | MessagesSnapshotEvent
  | SubagentEvent
  | CustomEvent
>;

/** The short forms of a message, which other servers send: the first one of a message has its id. */
export type AgUiChunk = Plain<
  | (AgUiBase & {
      readonly type: 'TEXT_MESSAGE_CHUNK';
      readonly messageId?: string;
      readonly role?: TextRole;
      readonly delta?: string;
    })
  | (AgUiBase & { readonly type: 'REASONING_MESSAGE_CHUNK'; readonly messageId?: string; readonly delta?: string })
  | (AgUiBase & {
      readonly type: 'TOOL_CALL_CHUNK';
      readonly toolCallId?: string;
      readonly toolCallName?: string;
      readonly delta?: string;
    })
>;

/** The events of AG-UI that are not part of a conversation: `fromAgUi` passes them through. */
export type AgUiOtherEvent = Plain<
  | RunStartedEvent
  | RunFinishedEvent
  | MessagesSnapshotEvent
  | CustomEvent
  | { readonly type: 'STATE_SNAPSHOT'; readonly snapshot: JsonValue }
  | { readonly type: 'STATE_DELTA'; readonly delta: readonly JsonObject[] }
  | { readonly type: 'STEP_STARTED' | 'STEP_FINISHED'; readonly stepName: string }
  | {
      readonly type: 'ACTIVITY_SNAPSHOT';
      readonly messageId: string;
      readonly activityType: string;
      readonly content: JsonObject;
      readonly replace?: boolean;
    }
  | {
      readonly type: 'ACTIVITY_DELTA';
      readonly messageId: string;
      readonly activityType: string;
      readonly patch: readonly JsonObject[];
    }
  | { readonly type: 'RAW'; readonly event: JsonValue; readonly source?: string }
>;

export type AgUiContent = string | readonly AgUiPart[];

export type AgUiPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio' | 'video' | 'document'; readonly source: AgUiSource };

/** Bytes in base64, or a URL. */
export interface AgUiSource {
  readonly type: 'data' | 'url' | 'file';
  readonly value: string;
  readonly mimeType?: string;
}

export interface AgUiToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  readonly metadata?: JsonObject;
}

interface AgUiMessageBase {
  readonly id: string;
  readonly name?: string;
  readonly metadata?: JsonObject;
}

/** A message of a conversation. */
export type AgUiMessage =
  | (AgUiMessageBase & { readonly role: 'developer' | 'system'; readonly content: string })
  | (AgUiMessageBase & { readonly role: 'user'; readonly content: AgUiContent })
  | (AgUiMessageBase & {
      readonly role: 'assistant';
      readonly content?: string;
      readonly toolCalls?: readonly AgUiToolCall[];
    })
  | (AgUiMessageBase & {
      readonly role: 'tool';
      readonly toolCallId: string;
      readonly content: AgUiContent;
      readonly error?: string;
    })
  | (AgUiMessageBase & { readonly role: 'reasoning'; readonly content: string })
  | (AgUiMessageBase & { readonly role: 'activity'; readonly activityType: string; readonly content: JsonObject });

export interface AgUiTool {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of the arguments. Default: no arguments. */
  readonly parameters?: JsonObject;
}

export interface AgUiResume {
  readonly interruptId: string;
  readonly status: 'resolved' | 'cancelled';
  readonly payload?: JsonValue;
}

/** The request with which a client starts a run. */
export interface RunAgentInput {
  readonly threadId: string;
  readonly runId: string;
  readonly protocolVersion?: string;
  readonly parentRunId?: string;
  readonly state?: JsonValue;
  /** The complete conversation, as the client has it. */
  readonly messages: readonly AgUiMessage[];
  readonly tools: readonly AgUiTool[];
  /** Facts from the application for the agent, besides the conversation. */
  readonly context: readonly { readonly description: string; readonly value: string }[];
  readonly forwardedProps?: JsonValue;
  readonly resume?: readonly AgUiResume[];
}
