import type { Chunk, FinishReason } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { commonFinishReason } from '../shared/finishReasons.js';
import { firstChoices } from '../shared/firstChoice.js';
import { unknownCallReason } from '../shared/unknownChunk.js';
import { DeltaDecoder } from './delta.js';
import type { Dialect } from './dialect.js';
import { readError, readRawReason, readUsage } from './finish.js';

/** The `finish` waits for the end: usage (OpenAI) and deltas (gateways) may follow the finish reason. */
export const decodeChatCompletions = (dialect: ResponseDialect, emit: (chunk: Chunk) => void): Decoder =>
  new ChatCompletionsDecoder(dialect, emit);

type ResponseDialect = Pick<Dialect, 'provider' | 'otherContent' | 'replay' | 'wholeCalls' | 'contextLengthPatterns'>;

class ChatCompletionsDecoder implements Decoder {
  private readonly emitter: ChunkEmitter;
  private readonly deltas: DeltaDecoder;
  private cost: number | undefined;

  constructor(
    private readonly dialect: ResponseDialect,
    emit: (chunk: Chunk) => void,
  ) {
    this.emitter = new ChunkEmitter(dialect.provider, emit);
    this.deltas = new DeltaDecoder(dialect, this.emitter);
  }

  next(frame: JsonObject, event?: string): void {
    const { emitter, deltas } = this;
    if (!emitter.hasEmitted) addMetadata(emitter, frame);
    const choices = firstChoices(frame['choices']);
    const [choice] = choices;
    for (const each of choices) this.readChoice(each);
    if (!choice) deltas.addUnknown(frame);
    else this.dialect.otherContent?.addMeasures(frame, deltas);
    const error = readError(this.dialect, frame, event, choice);
    if (error) throw error;
    this.dialect.otherContent?.readFrameSources(frame).forEach((source) => deltas.emitSource(source));
    const usage = readUsage(frame, choice);
    if (usage) emitter.setUsage(usage);
    this.cost = this.dialect.otherContent?.readCost(frame) ?? this.cost;
  }

  end(terminal: boolean): void {
    const { emitter, deltas, cost } = this;
    const reason = this.finalReason(emitter.finishReason(terminal));
    deltas.end(reason === 'stop' || reason === 'toolCalls'); // a text without its own end may be cut
    if (cost !== undefined) emitter.emit({ type: 'metadata', metadata: { cost } });
    emitter.emitFinish(reason);
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
    if (choice['logprobs']) this.deltas.addLogprobs(choice['logprobs']);
    const rawReason = readRawReason(choice);
    if (rawReason !== undefined) this.emitter.setFinishReason(commonFinishReason(rawReason), rawReason);
  }

  private finalReason(reason: FinishReason): FinishReason {
    if (this.deltas.hasRefusal && reason !== 'error') return 'contentFilter';
    return this.deltas.hasOnlyUnknownCalls ? unknownCallReason(reason) : reason;
  }
}

/** `provider` is the one that OpenRouter chose. The first frame of Azure has an empty id and model. */
function addMetadata(emitter: ChunkEmitter, frame: JsonObject): void {
  emitter.addMetadata('responseId', readName(frame['id']));
  emitter.addMetadata('model', readName(frame['model']));
  emitter.addMetadata('systemFingerprint', readName(frame['system_fingerprint']));
  emitter.addMetadata('serviceTier', readName(frame['service_tier']));
  emitter.addMetadata('upstreamProvider', readName(frame['provider']));
}

const readName = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'number' ? String(value) : nonEmptyString(value);
