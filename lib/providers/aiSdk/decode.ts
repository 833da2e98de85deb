import type { OperatorFunction } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import { nonEmptyString } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import type { ModelRequest } from '../../core/model.js';
import { redactThrown } from '../../protocol/redact.js';
import type { Redaction } from '../../protocol/redact.js';
import { untilFinish } from '../../protocol/untilFinish.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { createContentDecoder } from './content.js';
import { isRivuletError, partError } from './errors.js';
import { toFinish } from './finish.js';
import type { SdkPart } from './openStream.js';
import { checkPart, unreadablePart } from './parts.js';
import { hasMetadata } from './providerData.js';

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
            const finish = toFinish(provider, part, content.hasOpenCall);
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
