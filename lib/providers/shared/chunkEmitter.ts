import type { Chunk, FinishReason } from '../../core/chunk.js';
import { StreamInterruptedError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { JsonValue } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';

/**
 * Emits the chunks of one response, with the rules that all wires share: metadata once, one finish reason, one usage, an
 * interruption where the response ends too early.
 */
export interface ChunkEmitter {
  /** Adds a field to the response's metadata. The first value of a name wins; undefined adds nothing. */
  addMetadata(name: string, value: JsonValue | undefined): void;
  /**
   * Emits a chunk, and the metadata before the first one. The metadata wait for that chunk, so that nothing has been emitted
   * when the first event is an error, and the request may be retried.
   */
  readonly emit: (chunk: Chunk) => void;
  /** Whether a chunk was emitted: metadata added from then on are not. */
  readonly hasEmitted: boolean;
  /**
   * Stores the finish reason. The first one wins, unless the response continued after it: then it ended nothing (translators
   * to Google's wire stamp `STOP` on chunks without content, router-for-me/CLIProxyAPI#5651), and the next one wins.
   *
   * @param reason The finish reason.
   * @param rawReason The provider's own word for it.
   */
  setFinishReason(reason: FinishReason, rawReason: string): void;
  /** Stores the usage. The last one wins; a usage without counts is ignored. */
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
    continued ||=
      finish !== undefined && ((chunk.type === 'text' && chunk.text !== '') || chunk.type === 'toolCallFragment');
    out(chunk);
  };
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
      if (Object.keys(reported).length > 0) usage = reported;
    },
    isComplete,
    finishReason(terminal) {
      if (!isComplete(terminal)) throw interrupted(provider, characters, fragments);
      return finish?.reason ?? 'unspecified';
    },
    emitFinish(reason) {
      emit({ type: 'finish', reason: 'unspecified', ...finish, ...omitUndefined({ reason, usage }) });
    },
  };
}

function interrupted(provider: string, characters: number, fragments: number): StreamInterruptedError {
  return new StreamInterruptedError(
    provider,
    `The response of ${provider} ended without a finish reason, after ${characters} characters of text and thinking and ` +
      `${fragments} fragments of tool calls. Send the request again.`,
  );
}
