import type { Chunk, FinishReason } from '../../core/chunk.js';
import { omitUndefined } from '../../core/json/json.js';
import type { JsonValue } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { interrupted } from '../../protocol/untilFinish.js';

/**
 * Emits the chunks of one response and applies the rules that all wires share: metadata first, one finish reason, one
 * usage, and an error if the response ends too early.
 */
export interface ChunkEmitter {
  /** Adds a field to the response's metadata. The first value of a name wins; undefined adds nothing. */
  addMetadata(name: string, value: JsonValue | undefined): void;
  /**
   * Emits a chunk. The metadata is emitted directly before the first chunk: if the first event is an error, nothing has
   * been emitted yet, and the request can be retried.
   */
  readonly emit: (chunk: Chunk) => void;
  /** Whether a chunk was emitted. Metadata that is added after that is not emitted. */
  readonly hasEmitted: boolean;
  /**
   * Stores the finish reason. The first finish reason wins, unless text, thinking, a fragment or a file arrives after
   * it. In that case it did not end the response (translators to Google's API add `STOP` to chunks without content,
   * router-for-me/CLIProxyAPI#5651), and the next finish reason replaces it.
   *
   * @param reason The finish reason.
   * @param rawReason The finish reason as the provider sent it.
   */
  setFinishReason(reason: FinishReason, rawReason: string): void;
  /**
   * Stores the usage. Later input counts replace all earlier input counts, and later output counts replace all earlier
   * output counts. A usage without counts is ignored.
   */
  setUsage(usage: Usage): void;
  /** The usage that was stored; undefined if there is none. */
  readonly usage: Usage | undefined;
  /**
   * Whether the response is complete.
   *
   * @param terminal Whether the protocol's terminal marker arrived.
   */
  isComplete(terminal: boolean): boolean;
  /**
   * Returns the reason why the response ended. Call it after the last frame.
   *
   * @param terminal Whether the protocol's terminal marker arrived.
   * @returns The finish reason; `unspecified` if only the terminal marker arrived.
   * @throws StreamInterruptedError if neither a finish reason nor the terminal marker arrived.
   */
  finishReason(terminal: boolean): FinishReason;
  /**
   * Emits the `finish`.
   *
   * @param reason Replaces the stored finish reason. Default: the stored finish reason.
   */
  emitFinish(reason?: FinishReason): void;
}

/**
 * Creates the emitter of one response.
 *
 * @param provider The model's provider, for errors.
 * @param out Receives the chunks, in order.
 */
export function createChunkEmitter(provider: string, out: (chunk: Chunk) => void): ChunkEmitter {
  const metadata: Record<string, JsonValue> = {};
  let hasEmitted = false;
  let characters = 0;
  let fragments = 0;
  let finish: { readonly reason: FinishReason; readonly rawReason: string } | undefined;
  let hasContinued = false;
  let usage: Usage | undefined;

  const emit = (chunk: Chunk) => {
    if (!hasEmitted && Object.keys(metadata).length > 0) out({ type: 'metadata', metadata: { ...metadata } });
    hasEmitted = true;
    if (chunk.type === 'text' || chunk.type === 'thinking') characters += chunk.text.length;
    else if (chunk.type === 'toolCallFragment') fragments++;
    hasContinued ||= finish !== undefined && isContent(chunk);
    out(chunk);
  };
  const endedEarly = () =>
    interrupted(
      provider,
      `The response of ${provider} ended without a finish reason, ` +
        `after ${characters} characters of text and thinking and ${fragments} fragments of tool calls.`,
    );
  const isComplete = (terminal: boolean) => finish !== undefined || terminal;

  return {
    addMetadata(name, value) {
      if (value !== undefined) metadata[name] ??= value;
    },
    emit,
    get hasEmitted() {
      return hasEmitted;
    },
    setFinishReason(reason, rawReason) {
      if (finish && !hasContinued) return;
      finish = { reason, rawReason };
      hasContinued = false;
    },
    setUsage(reported) {
      if (Object.keys(reported).length > 0) usage = usage ? mergeUsage(usage, reported) : reported;
    },
    get usage() {
      return usage;
    },
    isComplete,
    finishReason(terminal) {
      if (!isComplete(terminal)) throw endedEarly();
      return finish?.reason ?? 'unspecified';
    },
    emitFinish(reason) {
      emit({ type: 'finish', reason: 'unspecified', ...finish, ...omitUndefined({ reason, usage }) });
    },
  };
}

/** Whether a chunk continues the response: it has content for the subscriber, or a fragment of a tool call. */
function isContent(chunk: Chunk): boolean {
  switch (chunk.type) {
    case 'text':
    case 'thinking':
      return chunk.text !== '';
    case 'toolCallFragment':
    case 'file':
      return true;
    default:
      return false;
  }
}

/**
 * Replaces input counts and output counts as a group, so that no earlier count is combined with a later count of its
 * group.
 */
function mergeUsage(earlier: Usage, later: Usage): Usage {
  const hasInput = (later.input ?? later.cachedInput ?? later.cacheWriteInput) !== undefined;
  const hasOutput = (later.output ?? later.reasoning) !== undefined;
  const { input, cachedInput, cacheWriteInput } = hasInput ? later : earlier;
  const { output, reasoning } = hasOutput ? later : earlier;
  return usageOf({ input, output, total: later.total, cachedInput, cacheWriteInput, reasoning });
}
