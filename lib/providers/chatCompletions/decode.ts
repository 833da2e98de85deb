import type { Chunk } from '../../core/chunk.js';
import { StreamInterruptedError } from '../../core/errors.js';
import { isJsonObject, isRecord, finiteNumber, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';
import type { Decoder } from '../../protocol/wire.js';
import { finishReasonOf } from '../shared/finishReasons.js';
import { firstChoice } from '../shared/firstChoice.js';
import { frameSources } from './delta.js';
import { failureIn, finishWord, usageIn } from './finish.js';
import { createReader } from './reader.js';
import type { Received } from './reader.js';
import { taggedCalls } from './textCalls.js';

/**
 * Reads one streamed answer of the Chat Completions API, from any server that speaks it.
 *
 * The finish is held until `end`: usage comes behind the finish reason (OpenAI), and so do late deltas (several gateways). The first finish reason
 * counts, and the last usage. The metadata go out just before the first other chunk, so that an error in the first frame finds that nothing was
 * emitted; what the answer cost (OpenRouter says it with the usage) follows as `{ cost }` before the finish.
 *
 * @param provider The provider's name: in errors, and as the key of provider data.
 * @param emit Takes the chunks, in order.
 */
export function decodeChatCompletions(provider: string, emit: (chunk: Chunk) => void): Decoder {
  let word: string | undefined;
  let usage: Usage | undefined;
  let cost: number | undefined;
  let announced = false;
  const metadata: Record<string, JsonValue> = {};

  const tell = (chunk: Chunk) => {
    if (!announced && Object.keys(metadata).length > 0) emit({ type: 'metadata', metadata: { ...metadata } });
    announced = true;
    emit(chunk);
  };
  const tagged = taggedCalls(tell);
  const reader = createReader(provider, (chunk) => tagged.next(chunk));

  return {
    next(frame, event) {
      if (!announced) collectMetadata(metadata, frame);
      const choice = firstChoice(frame['choices']);
      if (choice) {
        const { delta, message } = choice;
        if (isJsonObject(delta)) reader.delta(delta);
        else if (!isJsonObject(message)) reader.delta({ content: nonEmptyString(choice['text']) ?? null }); // the older completions API
        if (isJsonObject(message)) reader.snapshot(message);
        word ??= finishWord(choice['finish_reason']);
      }
      const failure = failureIn(provider, frame, event, choice);
      if (failure) {
        tagged.flush(false);
        throw failure;
      }
      reader.cite(frameSources(frame));
      usage = usageIn(frame, choice) ?? usage;
      cost = (isRecord(frame['usage']) ? finiteNumber(frame['usage']['cost']) : undefined) ?? cost;
    },
    end(terminal) {
      const whole = word !== undefined || terminal;
      tagged.flush(whole);
      if (!whole) throw interrupted(provider, reader.received);
      if (cost !== undefined) tell({ type: 'metadata', metadata: { cost } });
      const data = reader.echo();
      if (data) tell({ type: 'providerData', provider, data });
      const meant = word === undefined ? 'unspecified' : finishReasonOf(word);
      tell({
        type: 'finish',
        reason: reader.refused && meant !== 'error' ? 'contentFilter' : meant,
        ...(word === undefined ? {} : { rawReason: word }),
        ...(usage === undefined ? {} : { usage }),
      });
    },
  };
}

/** What the wire calls it, and what the reader of a run gets. `provider` is whom OpenRouter had answer. */
const metadataFields = {
  id: 'responseId',
  model: 'model',
  system_fingerprint: 'systemFingerprint',
  service_tier: 'serviceTier',
  provider: 'upstreamProvider',
} as const;

/** The first non-empty value counts: the first frame of Azure has an empty id and model. */
function collectMetadata(metadata: Record<string, JsonValue>, frame: JsonObject): void {
  for (const [field, name] of Object.entries(metadataFields)) {
    const value = typeof frame[field] === 'number' ? String(frame[field]) : nonEmptyString(frame[field]);
    if (value !== undefined) metadata[name] ??= value;
  }
}

function interrupted(provider: string, { characters, fragments }: Received): StreamInterruptedError {
  const came = `${characters} characters of text and thinking and ${fragments} pieces of tool calls had come`;
  return new StreamInterruptedError(
    provider,
    `The answer of ${provider} ended without a finish reason or [DONE]; ${came}. Send the request again.`,
  );
}
