import { asyncScheduler } from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import type { Chunk, FinishChunk, FinishReason } from '../../core/chunk.js';
import { createOperator } from '../../core/createOperator.js';
import { StreamInterruptedError } from '../../core/errors.js';
import { finiteNumber, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import type { Request } from '../../core/model.js';
import { usageOf } from '../../core/usage.js';
import { drainTimeout } from '../../protocol/decodeFrames.js';
import { createChunkEmitter } from '../shared/chunkEmitter.js';
import { createContent } from './content.js';
import { partFailure } from './failures.js';
import type { SdkPart } from './openStream.js';
import { hasMetadata } from './providerData.js';

/**
 * Reads the parts of a stream, and holds it to the contract of a model: exactly one `finish`, last, then completion; otherwise an error.
 *
 * The finish is emitted at once, and the stream is read on to its end: a middleware that stores or counts answers does so in its `flush`, which a
 * cancelled stream never calls. What follows, an error included, is ignored.
 *
 * @param provider The model's provider.
 * @param request What was asked: only tools that it offers are the client's to call.
 * @returns Chunks. Errors with ProviderError for an `error` part, and with StreamInterruptedError when the stream ends without a `finish`.
 */
export function decodeParts(provider: string, { tools = [] }: Request): OperatorFunction<SdkPart, Chunk> {
  const offered = new Set(tools.map(({ name }) => name));
  return createOperator((out) => {
    const answer = createChunkEmitter(provider, (chunk) => out.next(chunk));
    const content = createContent(provider, offered, answer.emit);
    let finished = false;
    const read = (part: SdkPart): void => {
      switch (part.type) {
        case 'stream-start':
          if (part.warnings.length > 0) answer.addMetadata('warnings', toJson(part.warnings));
          break;
        case 'response-metadata':
          answer.addMetadata('responseId', nonEmptyString(part.id));
          answer.addMetadata('model', nonEmptyString(part.modelId));
          break;
        case 'error':
          throw partFailure(provider, part.error);
        case 'finish': {
          const finish = finishOf(provider, part, content.unfinished);
          content.end(finish.reason === 'paused');
          if (hasMetadata(part.providerMetadata))
            answer.emit({ type: 'metadata', metadata: { providerMetadata: toJson(part.providerMetadata) } });
          finished = true;
          answer.emit(finish);
          out.add(asyncScheduler.schedule(() => out.complete(), drainTimeout));
          break;
        }
        default:
          content.add(part);
      }
    };
    const fail = (error: unknown) => {
      content.breakOff();
      out.error(error);
    };
    return {
      next: (part) => {
        if (finished) return;
        try {
          read(part);
        } catch (thrown) {
          fail(thrown);
        }
      },
      error: (error) => {
        if (finished) out.complete();
        else fail(error);
      },
      complete: () => {
        if (finished) out.complete();
        else fail(cutShort(provider));
      },
    };
  });
}

const cutShort = (provider: string) =>
  new StreamInterruptedError(
    provider,
    `The stream of ${provider} ended before the model was done. Send the request again for a whole answer.`,
  );
type Finish = Extract<SdkPart, { readonly type: 'finish' }>;
const reasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'contentFilter',
  'tool-calls': 'toolCalls',
  error: 'error',
};

/** Anthropic's words for an answer that goes on when it is asked for again; the AI SDK has none of its own, and says `stop` or `other`. */
const pauses: ReadonlySet<string | undefined> = new Set(['pause_turn', 'compaction']);

/**
 * How an answer ended. A stream that was cut short also has a `finish`: V4 says `interrupted`; V3 says `other` without the provider's word for it, and
 * then there is no usage either, or a call whose input began and never ended.
 *
 * @param provider The model's provider.
 * @param part The part.
 * @param unfinished Whether a call has begun that is not whole.
 * @throws StreamInterruptedError for an answer that was cut short.
 */
export function finishOf(
  provider: string,
  { finishReason: { unified, raw }, usage }: Finish,
  unfinished: boolean,
): FinishChunk {
  const counts: unknown = usage; // a middleware that writes its own finish may leave it out
  const [input, output] = [
    objectOrEmpty(objectOrEmpty(counts)['inputTokens']),
    objectOrEmpty(objectOrEmpty(counts)['outputTokens']),
  ];
  const said = usageOf({
    input: finiteNumber(input['total']),
    output: finiteNumber(output['total']),
    cachedInput: finiteNumber(input['cacheRead']),
    cacheWriteInput: finiteNumber(input['cacheWrite']),
    reasoning: finiteNumber(output['reasoning']),
  });
  const used = Object.keys(said).length > 0;
  const wordless = unified === 'other' && raw === undefined;
  if (unified === 'interrupted' || (wordless && (unfinished || !used)))
    throw new StreamInterruptedError(
      provider,
      `The answer of ${provider} ended without a finish reason. Send the request again for a whole answer.`,
    );
  const reason = pauses.has(raw) ? 'paused' : wordless ? 'unspecified' : (reasons[unified] ?? 'other');
  return { type: 'finish', reason, ...(raw === undefined ? {} : { rawReason: raw }), ...(used ? { usage: said } : {}) };
}
