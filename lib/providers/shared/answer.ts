import type { Chunk, FinishReason } from '../../core/chunk.js';
import { StreamInterruptedError } from '../../core/errors.js';
import { omitUndefined, isJsonObject, asArray } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';

/** What the decoders of all wires do alike with one answer: metadata once, one finish reason, the last usage, an interruption. */
export interface Answer {
  /** Collects what there is to know of the answer as a whole; the first value of a name counts. */
  note(name: string, value: JsonValue | undefined): void;
  /** Emits a chunk, and before the first one the metadata: not earlier, so that an error as the first event finds nothing emitted. */
  readonly tell: (chunk: Chunk) => void;
  /**
   * The wire gave a finish reason. The first counts, unless the answer went on behind it: then it ended nothing (translators to Google's wire stamp
   * `STOP` on chunks without content, router-for-me/CLIProxyAPI#5651), and the next one counts.
   */
  finished(reason: FinishReason, word: string): void;
  /** The wire gave usage. The last counts; one without any count is none. */
  used(usage: Usage): void;
  /**
   * The answer has ended.
   *
   * @param terminal Whether the protocol's terminal mark was seen.
   * @returns Why it ended.
   * @throws StreamInterruptedError when neither a finish reason nor the mark came.
   */
  ended(terminal: boolean): FinishReason;
  /** Emits the `finish`. */
  finish(): void;
}

/** An answer of which nothing has come. */
export function createAnswer(provider: string, emit: (chunk: Chunk) => void): Answer {
  const metadata: Record<string, JsonValue> = {};
  let announced = false;
  let characters = 0;
  let end: { readonly reason: FinishReason; readonly rawReason: string } | undefined;
  let wentOn = false;
  let usage: Usage | undefined;
  const tell = (chunk: Chunk) => {
    if (!announced && Object.keys(metadata).length > 0) emit({ type: 'metadata', metadata: { ...metadata } });
    announced = true;
    if (chunk.type === 'text' || chunk.type === 'thinking') characters += chunk.text.length;
    wentOn ||= end !== undefined && ((chunk.type === 'text' && chunk.text !== '') || chunk.type === 'toolCallFragment');
    emit(chunk);
  };
  return {
    note(name, value) {
      if (value !== undefined) metadata[name] ??= value;
    },
    tell,
    finished(reason, word) {
      if (end && !wentOn) return;
      end = { reason, rawReason: word };
      wentOn = false;
    },
    used(found) {
      if (Object.keys(found).length > 0) usage = found;
    },
    ended(terminal) {
      if (!end && !terminal) throw interrupted(provider, characters);
      return end?.reason ?? 'unspecified';
    },
    finish() {
      tell({ type: 'finish', reason: 'unspecified', ...end, ...omitUndefined({ usage }) });
    },
  };
}

function interrupted(provider: string, characters: number): StreamInterruptedError {
  return new StreamInterruptedError(
    provider,
    `The answer of ${provider} ended without a finish reason, after ${characters} characters of text and thinking. Send the request again.`,
  );
}

/** One answer is asked for; of several (`n` or `candidateCount` in the provider's options) the one at index 0 counts. */
export function firstAnswer(answers: unknown): JsonObject | undefined {
  for (const answer of asArray(answers)) {
    if (isJsonObject(answer) && (typeof answer['index'] !== 'number' || answer['index'] === 0)) return answer;
  }
  return undefined;
}

/** The words that answers end with, of all APIs, in either case: gateways pass on the words of other APIs (`MAX_TOKENS`, `end_turn`). */
const reasons: readonly (readonly [FinishReason, RegExp])[] = [
  ['stop', /^(stop|stop_sequence|eos|eos_token|end|end_turn|complete|completed|done)$/i],
  [
    'length',
    /^(length|max_tokens|max_output_tokens|max_completion_tokens|model_length|model_context_window_exceeded)$/i,
  ],
  ['toolCalls', /^(tool_calls|tool_call|function_call|tool_use)$/i],
  ['contentFilter', /^(content_filter|safety|refusal|sensitive|recitation|prohibited_content|blocklist|spii)$/i],
  ['error', /^(error|network_error|insufficient_system_resource)$/i],
];

/**
 * What a finish reason of a wire means, where the wire's own list has no such word: servers that speak another API than the model behind them pass on
 * the model's words.
 *
 * @param word As it came.
 * @returns `other` for a word that no API has.
 */
export function finishReasonOf(word: string): FinishReason {
  return reasons.find(([, words]) => words.test(word))?.[0] ?? 'other';
}
