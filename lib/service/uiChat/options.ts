import type { StreamEvent } from '../../core/event.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Tool } from '../../core/tool.js';

export interface UiMessageStreamOptions {
  /** The id of the message. Default: the browser creates one. */
  readonly messageId?: string | undefined;
  /** Whether the run continues a message: the browser has its start, with the calls that waited. Default: false. */
  readonly continues?: boolean | undefined;
  /**
   * The tools of the agent. A tool without `execute` runs in the browser (`onToolCall`, `addToolOutput`); any other
   * call that waits is a request for approval. Default: none.
   */
  readonly tools?: readonly Tool[] | undefined;
  /** Whether the model's thinking is sent. Default: true. */
  readonly reasoning?: boolean | undefined;
  /** Whether sources are sent. Default: true. */
  readonly sources?: boolean | undefined;
  /** Whether the progress of a tool is sent, as a preliminary output. Default: true. */
  readonly progress?: boolean | undefined;
  /**
   * The major version of the AI SDK in the browser. Version 6 gets no chunks on which it fails: discarded content stays
   * visible, a call that the server itself approves shows its question until its output, and a prompt that joined the
   * run is not shown. Default: 7.
   */
  readonly version?: 6 | 7 | undefined;
  /**
   * Returns metadata of the message for an event; undefined if it has none. `useChat` merges it. Default: finish reason
   * and usage for the `result`, and the model that answered if the run had a choice of models.
   */
  readonly messageMetadata?: ((event: StreamEvent) => JsonObject | undefined) | undefined;
  /**
   * The text of an error for the browser. Default: the message of Rivulet's errors of the transport and the provider;
   * of any other error only that the run failed.
   */
  readonly errorText?: ((thrown: unknown) => string) | undefined;
  /** Called with the error of a run, for the log of the server. Default: nothing is called. */
  readonly onError?: ((thrown: unknown) => void) | undefined;
}
