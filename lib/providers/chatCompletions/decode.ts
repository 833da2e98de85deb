import { vetoReasons } from '../../core/chunk.js';
import type { Chunk, FinishReason } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { firstChoice } from '../shared/firstChoice.js';
import { unknownCallReason } from '../shared/unknownChunk.js';
import { DeltaDecoder } from './delta.js';
import { readCost, readError, toFinishReason, readRawReason, readUsage } from './finish.js';
import { readFrameSources } from './sources.js';

/**
 * Decodes one response of the Chat Completions API, from any server that implements it.
 *
 * The `finish` is emitted when the response ends, because usage (OpenAI) and even deltas (several gateways) may arrive
 * after the finish reason. The cost of the response, which OpenRouter reports with the usage, is emitted as the
 * metadata field `cost`, before the `finish`.
 *
 * @param provider The provider's name, used in errors and as the key of provider data.
 * @param emit Receives the chunks, in order.
 */
export function decodeChatCompletions(provider: string, emit: (chunk: Chunk) => void): Decoder {
  kept ??= createKept();
  return new ChatCompletionsDecoder(provider, emit);
}

let kept: readonly unknown[] | undefined;

/**
 * Creates what is kept and not used: a short response with its decoder and its chunks. When no object has a hidden
 * class, V8 drops it at the next major garbage collection, and all code that it has optimized for it. Without these
 * objects, that happened between two responses: decoding one took twice as long (measured).
 */
function createKept(): readonly unknown[] {
  const chunks: Chunk[] = [];
  const decoder = new ChatCompletionsDecoder('', (chunk) => chunks.push(chunk));
  const frames = sampleDeltas.map((delta) => JSON.parse(sampleStart + delta + sampleEnd) as JsonObject);
  for (const frame of frames) decoder.next(frame);
  decoder.end(true);
  return [decoder, chunks, frames];
}

/** The fields that OpenAI sends, in their order, on which a hidden class depends. */
const sampleStart =
  '{"id":"","object":"","created":0,"model":"","service_tier":"","system_fingerprint":"",' +
  '"choices":[{"index":0,"delta":';
const sampleDeltas = [
  '{"role":"assistant","content":"","refusal":null}',
  '{"content":"a"}',
  '{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"a","arguments":""}}]}',
  '{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}',
  '{}',
];
const sampleEnd =
  ',"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,' +
  '"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,' +
  '"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"obfuscation":""}';

class ChatCompletionsDecoder implements Decoder {
  private readonly emitter: ChunkEmitter;
  private readonly deltas: DeltaDecoder;
  private cost: number | undefined;

  constructor(
    private readonly provider: string,
    emit: (chunk: Chunk) => void,
  ) {
    this.emitter = new ChunkEmitter(provider, emit);
    this.deltas = new DeltaDecoder(provider, this.emitter);
  }

  next(frame: JsonObject, event?: string): void {
    const { emitter, deltas } = this;
    if (!emitter.hasEmitted) addMetadata(emitter, frame);
    const choice = firstChoice(frame['choices']);
    if (choice) this.readChoice(choice);
    else deltas.addUnknown(frame);
    const error = readError(this.provider, frame, event, choice);
    if (error) throw error;
    for (const source of readFrameSources(frame)) deltas.emitSource(source);
    const usage = readUsage(frame, choice);
    if (usage) emitter.setUsage(usage);
    this.cost = readCost(frame) ?? this.cost;
  }

  end(terminal: boolean): void {
    const { provider, emitter, deltas, cost } = this;
    const reason = emitter.finishReason(terminal);
    deltas.end(vetoReasons.has(reason));
    if (cost !== undefined) emitter.emit({ type: 'metadata', metadata: { cost } });
    const data = deltas.providerData();
    if (data) emitter.emit({ type: 'providerData', provider, data });
    emitter.emitFinish(this.finalReason(reason));
  }

  usage(): Usage | undefined {
    return this.emitter.usage;
  }

  private readChoice(choice: JsonObject): void {
    const { delta, message, text } = choice;
    if (isJsonObject(delta)) this.deltas.delta(delta);
    if (isJsonObject(message)) this.deltas.message(message);
    // The older Completions API sends `text`.
    else if (typeof text === 'string' && !isJsonObject(delta)) this.deltas.delta({ content: text });
    const rawReason = readRawReason(choice);
    if (rawReason !== undefined) this.emitter.setFinishReason(toFinishReason(rawReason), rawReason);
  }

  /** Replaces a normal end of a response that the model refused, or whose calls the client cannot answer. */
  private finalReason(reason: FinishReason): FinishReason {
    if (this.deltas.hasRefusal && reason !== 'error') return 'contentFilter';
    return this.deltas.hasOnlyUnknownCalls ? unknownCallReason(reason) : reason;
  }
}

/**
 * Adds the fields of a frame that are metadata. `provider` is the provider to which OpenRouter sent the request. Skips
 * empty values: the first frame of Azure has an empty id and model.
 */
function addMetadata(emitter: ChunkEmitter, frame: JsonObject): void {
  emitter.addMetadata('responseId', nameOf(frame['id']));
  emitter.addMetadata('model', nameOf(frame['model']));
  emitter.addMetadata('systemFingerprint', nameOf(frame['system_fingerprint']));
  emitter.addMetadata('serviceTier', nameOf(frame['service_tier']));
  emitter.addMetadata('upstreamProvider', nameOf(frame['provider']));
}

const nameOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'number' ? String(value) : nonEmptyString(value);
