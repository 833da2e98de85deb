import type { Chunk, FinishReason } from '../../core/chunk.js';
import { omitUndefined } from '../../core/json/json.js';
import type { JsonValue } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { interrupted } from '../../protocol/untilFinish.js';

/**
 * Emits the chunks of one response, with the rules that all wires share: metadata once, one finish reason, one usage,
 * an interruption where the response ends too early.
 */
export interface ChunkEmitter {
  /** Adds a field to the response's metadata. The first value of a name wins; undefined adds nothing. */
  addMetadata(name: string, value: JsonValue | undefined): void;
  /**
   * Emits a chunk, and the metadata before the first one. The metadata wait for that chunk, so that nothing has been
   * emitted when the first event is an error, and the request may be retried.
   */
  readonly emit: (chunk: Chunk) => void;
  /** Whether a chunk was emitted. Metadata that is added after that is not emitted. */
  readonly hasEmitted: boolean;
  /**
   * Stores the finish reason. The first one wins, unless text, thinking, a fragment or a file arrives after it: then it
   * ended nothing (translators to Google's wire stamp `STOP` on chunks without content,
   * router-for-me/CLIProxyAPI#5651), and the next one wins.
   *
   * @param reason The finish reason.
   * @param rawReason The provider's own word for it.
   */
  setFinishReason(reason: FinishReason, rawReason: string): void;
  /**
   * Stores the usage. A later report with input counts replaces the earlier input counts, and one with output counts
   * the earlier output counts; a report without counts is ignored.
   */
  setUsage(usage: Usage): void;
  /**
   * Whether the response is complete.
   *
   * @param terminal Whether the protocol's terminal mark was seen.
   */
  isComplete(terminal: boolean): boolean;
  /**
   * Why the response ended. Call it when the response has ended.
   *
   * @param terminal Whether the protocol's terminal mark was seen.
   * @returns The finish reason; `unspecified` where there was only the mark.
   * @throws StreamInterruptedError when neither a finish reason nor the mark was seen.
   */
  finishReason(terminal: boolean): FinishReason;
  /**
   * Emits the `finish`.
   *
   * @param reason Replaces the stored finish reason. Default: the stored one.
   */
  emitFinish(reason?: FinishReason): void;
}

/**
 * Makes the emitter of one response.
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
  let continued = false;
  let usage: Usage | undefined;

  const emit = (chunk: Chunk) => {
    if (!hasEmitted && Object.keys(metadata).length > 0) out({ type: 'metadata', metadata: { ...metadata } });
    hasEmitted = true;
    if (chunk.type === 'text' || chunk.type === 'thinking') characters += chunk.text.length;
    else if (chunk.type === 'toolCallFragment') fragments++;
    continued ||= finish !== undefined && isContent(chunk);
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
      if (finish && !continued) return;
      finish = { reason, rawReason };
      continued = false;
    },
    setUsage(reported) {
      if (Object.keys(reported).length > 0) usage = usage ? mergeUsage(usage, reported) : reported;
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

/** Whether a chunk continues the response: a reader would see it, or a tool would run. */
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
 * Input and output counts are replaced as a group, so that no count of an earlier report is combined with a later one.
 */
function mergeUsage(earlier: Usage, later: Usage): Usage {
  const hasInput = (later.input ?? later.cachedInput ?? later.cacheWriteInput) !== undefined;
  const hasOutput = (later.output ?? later.reasoning) !== undefined;
  const { input, cachedInput, cacheWriteInput } = hasInput ? later : earlier;
  const { output, reasoning } = hasOutput ? later : earlier;
  return usageOf({ input, output, total: later.total, cachedInput, cacheWriteInput, reasoning });
}
