import type { JsonObject, JsonValue } from '../../core/json/json.js';

/**
 * One chunk of the AI SDK's UI message stream, as far as Rivulet sends it.
 *
 * Source: `ui-message-stream/ui-message-chunks.ts` of the package `ai`, versions 6.0.326 and 7.0.173. `reset-step`,
 * `tool-approval-response` and `steering-message` are only in version 7.
 */
export type UiMessageChunk =
  | { readonly type: 'start'; readonly messageId?: string }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | UiToolChunk
  | ({ readonly type: 'source-url'; readonly url: string; readonly title?: string } & UiSource)
  | ({ readonly type: 'source-document'; readonly mediaType: string; readonly title: string } & UiSource)
  | UiFileChunk
  /** A prompt that has joined the run, after the step in which it arrived. */
  | {
      readonly type: 'steering-message';
      readonly id: string;
      readonly parts: UiPromptPart[];
    }
  | {
      readonly type: `data-${string}`;
      readonly id?: string;
      readonly data: JsonValue;
      /** Passed to `onData` of `useChat`, and not part of the message. */
      readonly transient?: boolean;
    }
  | { readonly type: 'message-metadata'; readonly messageMetadata: JsonObject }
  | { readonly type: 'finish'; readonly finishReason?: UiFinishReason; readonly messageMetadata?: JsonObject }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'error'; readonly errorText: string };

export type UiPromptPart = { readonly type: 'text'; readonly text: string } | UiFileChunk;

export interface UiFileChunk {
  readonly type: 'file';
  readonly url: string;
  readonly mediaType: string;
}

interface UiSource {
  readonly sourceId: string;
  readonly providerMetadata?: UiProviderMetadata;
}

interface UiCall {
  readonly toolCallId: string;
  readonly providerExecuted?: boolean;
}

interface UiNamedCall extends UiCall {
  readonly toolName: string;
}

interface UiOutput {
  readonly output: JsonValue;
  /** The tool is still running: another output replaces this one. */
  readonly preliminary?: boolean;
}

export type UiToolChunk =
  | ({ readonly type: 'tool-input-start' } & UiNamedCall)
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | ({ readonly type: 'tool-input-available'; readonly input: JsonValue } & UiNamedCall)
  | ({ readonly type: 'tool-input-error'; readonly input: JsonValue; readonly errorText: string } & UiNamedCall)
  | { readonly type: 'tool-approval-request'; readonly approvalId: string; readonly toolCallId: string }
  | { readonly type: 'tool-approval-response'; readonly approvalId: string; readonly approved: boolean }
  | ({ readonly type: 'tool-output-available' } & UiOutput & UiCall)
  | ({ readonly type: 'tool-output-error'; readonly errorText: string } & UiCall)
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string };

type UiProviderMetadata = Readonly<Record<string, JsonObject>>;

export type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** A message as `useChat` sends it. A `UIMessage` of the AI SDK is one. */
export interface UiMessage {
  readonly id: string;
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly { readonly type: string }[];
  readonly metadata?: unknown;
}
