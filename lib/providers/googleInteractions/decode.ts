import { vetoReasons, type Chunk } from '../../core/chunk.js';
import { isJsonObject, isRecord, nonEmptyString, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { hasErrorField, providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { createUsage, toFinishReason } from './finish.js';
import { provider } from './providerData.js';
import { StepDecoder } from './steps.js';

/** `InteractionSSEEvent` (SDK 3.1): steps, then `interaction.completed` with the usage, then `[DONE]`. */
export const decodeInteraction = (emit: (chunk: Chunk) => void): Decoder => new InteractionDecoder(emit);

class InteractionDecoder implements Decoder {
  private readonly emitter: ChunkEmitter;
  private readonly steps: StepDecoder;
  private readonly counter = createUsage();
  private continuationToken: string | undefined;

  constructor(emit: (chunk: Chunk) => void) {
    this.emitter = new ChunkEmitter(provider, emit);
    this.steps = new StepDecoder(this.emitter);
  }

  next(frame: JsonObject): void {
    const { index, interaction, step, delta } = frame;
    switch (frame['event_type']) {
      case 'interaction.created':
      case 'interaction.completed':
        if (isJsonObject(interaction)) this.readInteraction(interaction);
        break;
      case 'interaction.status_update':
        this.readStatus(frame);
        break;
      case 'step.start':
        if (isJsonObject(step)) this.steps.start(index, step);
        break;
      case 'step.delta':
        if (isJsonObject(delta)) this.steps.delta(index, delta);
        break;
      case 'step.stop':
        this.steps.stop(index);
        break;
      default:
        if (frame['event_type'] === 'error' || hasErrorField(frame))
          throw providerError(provider, frame, contextLengthPatterns);
    }
  }

  end(terminal: boolean): void {
    const { emitter, continuationToken } = this;
    const reason = emitter.finishReason(terminal);
    this.steps.end(!vetoReasons.has(reason)); // the last call may be incomplete
    if (reason === 'paused' && continuationToken !== undefined)
      emitter.emit({ type: 'provider', provider, data: { continuationToken } });
    emitter.setUsage(this.usage());
    emitter.emitFinish();
  }

  usage(): Usage {
    return this.counter.total();
  }

  private readInteraction(interaction: JsonObject): void {
    this.emitter.addMetadata('responseId', nonEmptyString(interaction['id']));
    this.emitter.addMetadata('model', nonEmptyString(interaction['model']));
    this.readStatus(interaction);
  }

  private readStatus({ status, usage, continuation_token: token }: Readonly<Record<string, JsonValue>>): void {
    if (isRecord(usage)) this.counter.add(usage);
    this.continuationToken = nonEmptyString(token) ?? this.continuationToken;
    const word = nonEmptyString(status);
    const reason = word === undefined ? undefined : toFinishReason(word);
    if (word !== undefined && reason !== undefined) this.emitter.setFinishReason(reason, word);
  }
}
