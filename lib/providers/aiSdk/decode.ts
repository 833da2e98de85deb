import { asyncScheduler } from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import { StreamInterruptedError } from '../../core/errors.js';
import type { Request } from '../../core/model.js';
import { operate } from '../../core/operate.js';
import { textOf } from '../../core/json.js';
import { toJson } from '../../core/toJson.js';
import { linger } from '../../protocol/linger.js';
import { createAnswer } from '../shared/answer.js';
import { createContent } from './content.js';
import { partFailure } from './failures.js';
import { finishOf } from './finish.js';
import type { SdkPart } from './openStream.js';
import { hasMetadata } from './own.js';

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
  return operate((out) => {
    const answer = createAnswer(provider, (chunk) => out.next(chunk));
    const content = createContent(provider, offered, answer.tell);
    let finished = false;
    const read = (part: SdkPart): void => {
      switch (part.type) {
        case 'stream-start':
          if (part.warnings.length > 0) answer.note('warnings', toJson(part.warnings));
          break;
        case 'response-metadata':
          answer.note('responseId', textOf(part.id));
          answer.note('model', textOf(part.modelId));
          break;
        case 'error':
          throw partFailure(provider, part.error);
        case 'finish': {
          const finish = finishOf(provider, part, content.unfinished);
          content.end(finish.reason === 'paused');
          if (hasMetadata(part.providerMetadata))
            answer.tell({ type: 'metadata', metadata: { providerMetadata: toJson(part.providerMetadata) } });
          finished = true;
          answer.tell(finish);
          out.add(asyncScheduler.schedule(() => out.complete(), linger));
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
