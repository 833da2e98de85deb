import type { OperatorFunction } from 'rxjs';
import type { Chunk, FinishChunk, FinishReason } from '../../core/chunk.js';
import { finiteNumber, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import type { Request } from '../../core/model.js';
import { usageOf } from '../../core/usage.js';
import { redactThrown } from '../../protocol/redact.js';
import { interrupted, untilFinish } from '../../protocol/untilFinish.js';
import { createChunkEmitter } from '../shared/chunkEmitter.js';
import { createContent } from './content.js';
import { partFailure } from './failures.js';
import type { SdkPart } from './openStream.js';
import { hasMetadata } from './providerData.js';

/**
 * Decodes the parts of a stream.
 *
 * After the `finish`, the stream is read to its end: a middleware that stores or counts responses does so in its `flush`,
 * which a cancelled stream never calls. Whatever follows is ignored, errors included.
 *
 * @param provider The model's provider.
 * @param request The request: only tools that it offers are the client's to call.
 * @param secrets What no error may reveal. Default: nothing.
 * @returns Chunks. Errors with ProviderError for an `error` part, with StreamInterruptedError when the stream ends without a
 * `finish`, and with the source's errors.
 */
export function decodeParts(
  provider: string,
  { tools = [] }: Request,
  secrets: readonly string[] = [],
): OperatorFunction<SdkPart, Chunk> {
  const offered = new Set(tools.map(({ name }) => name));
  return untilFinish(provider, (output) => {
    const emitter = createChunkEmitter(provider, output.emit);
    const content = createContent(provider, offered, emitter.emit);
    return {
      next(part) {
        switch (part.type) {
          case 'stream-start':
            if (part.warnings.length > 0) emitter.addMetadata('warnings', toJson(part.warnings));
            break;
          case 'response-metadata':
            emitter.addMetadata('responseId', nonEmptyString(part.id));
            emitter.addMetadata('model', nonEmptyString(part.modelId));
            break;
          case 'error':
            throw partFailure(provider, part.error);
          case 'finish': {
            const finish = finishOf(provider, part, content.unfinished);
            content.end(finish.reason === 'paused');
            if (hasMetadata(part.providerMetadata))
              emitter.emit({ type: 'metadata', metadata: { providerMetadata: toJson(part.providerMetadata) } });
            emitter.emit(finish);
            break;
          }
          default:
            content.add(part);
        }
      },
      error(thrown) {
        content.breakOff();
        return redactThrown(thrown, secrets, provider);
      },
    };
  });
}

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
    throw interrupted(provider, `The response of ${provider} ended without a finish reason.`);
  const reason = pauses.has(raw) ? 'paused' : wordless ? 'unspecified' : (reasons[unified] ?? 'other');
  return { type: 'finish', reason, ...(raw === undefined ? {} : { rawReason: raw }), ...(used ? { usage: said } : {}) };
}
