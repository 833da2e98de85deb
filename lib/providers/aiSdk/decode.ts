import type { OperatorFunction } from 'rxjs';
import type { Chunk, FinishChunk, FinishReason } from '../../core/chunk.js';
import { nonEmptyString, finiteNumber, objectOrEmpty } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import type { ModelRequest } from '../../core/model.js';
import { redactThrown, type Redaction } from '../../protocol/redact.js';
import { untilFinish, interrupted } from '../../protocol/untilFinish.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { createContentDecoder } from './content.js';
import { isRivuletError, partError } from './errors.js';
import type { SdkPart, SdkPartOf } from './openStream.js';
import { checkPart, unreadablePart } from './parts.js';
import { hasMetadata } from './providerData.js';
import { usageOf, type Usage } from '../../core/usage.js';

/** Reads to the end: middleware stores or counts responses in its `flush`, which a cancelled stream never calls. */
export function decodeParts(
  provider: string,
  { tools = [], stop }: ModelRequest,
  redaction: () => Redaction = () => ({ provider }),
): OperatorFunction<SdkPart, Chunk> {
  const offered = new Set(tools.map(({ name }) => name));
  return untilFinish(
    provider,
    (output) => {
      const emitter = new ChunkEmitter(provider, (chunk) => output.emit(chunk));
      const content = createContentDecoder(provider, offered, (chunk) => emitter.emit(chunk));
      const decode = (part: SdkPart) => {
        checkPart(part);
        switch (part.type) {
          case 'stream-start':
            if (part.warnings.length > 0) emitter.addMetadata('warnings', toJson(part.warnings));
            break;
          case 'response-metadata':
            emitter.addMetadata('responseId', nonEmptyString(part.id));
            emitter.addMetadata('model', nonEmptyString(part.modelId));
            break;
          case 'error':
            throw partError(provider, part.error);
          case 'finish': {
            const finish = toFinish(provider, part, content.hasOpenInput());
            content.end();
            if (hasMetadata(part.providerMetadata))
              emitter.emit({ type: 'metadata', metadata: { providerMetadata: toJson(part.providerMetadata) } });
            emitter.emit(finish);
            break;
          }
          default:
            content.add(part);
        }
      };
      return {
        next(part) {
          try {
            decode(part);
          } catch (thrown) {
            throw isRivuletError(thrown) ? thrown : unreadablePart(provider, part, thrown);
          }
        },
        interrupt: content.interrupt,
        error: (thrown) => redactThrown(thrown, redaction()),
      };
    },
    stop,
  );
}

/** `other` without a raw reason is `unspecified`. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['content-filter', 'contentFilter'],
  ['tool-calls', 'toolCalls'],
  ['error', 'error'],
] as const);

/** Anthropic's raw reasons, for which the AI SDK sends `stop` or `other`: the conversation is to be sent again. */
const pauseReasons: ReadonlySet<string | undefined> = new Set(['pause_turn', 'compaction']);

/** An interrupted V3 stream ends with `other`, without a raw reason, and without usage or with an incomplete call. */
function toFinish(
  provider: string,
  { finishReason: { unified, raw }, usage: counts }: SdkPartOf<'finish'>,
  hasOpenInput: boolean,
): FinishChunk {
  const usage = readUsage(counts);
  const hasUsage = Object.keys(usage).length > 0;
  const isUnspecified = unified === 'other' && raw === undefined;
  if (unified === 'interrupted' || (isUnspecified && (hasOpenInput || !hasUsage)))
    throw interrupted(provider, `The response of ${provider} ended without a finish reason.`);
  return {
    type: 'finish',
    reason: isUnspecified ? 'unspecified' : toFinishReason(unified, raw),
    ...(typeof raw === 'string' ? { rawReason: raw } : {}),
    ...(hasUsage ? { usage } : {}),
  };
}

const toFinishReason = (unified: string, raw: string | undefined): FinishReason =>
  pauseReasons.has(raw) ? 'paused' : (finishReasons.get(unified) ?? 'other');

function readUsage(usage: unknown): Usage {
  const input = objectOrEmpty(objectOrEmpty(usage)['inputTokens']);
  const output = objectOrEmpty(objectOrEmpty(usage)['outputTokens']);
  return usageOf({
    input: finiteNumber(input['total']),
    output: finiteNumber(output['total']),
    cachedInput: finiteNumber(input['cacheRead']),
    cacheWriteInput: finiteNumber(input['cacheWrite']),
    reasoning: finiteNumber(output['reasoning']),
  });
}
