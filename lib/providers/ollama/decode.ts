import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { omitUndefined, isJsonObject, asArray, finiteNumber, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import { providerError, hasErrorField } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { createChunkEmitter } from '../shared/chunkEmitter.js';
import { finishReasonOf } from '../shared/finishReasons.js';
import { provider } from './messages.js';

/**
 * Reads one answer of Ollama's own API (`docs/openapi.yaml` of its repository, `ChatStreamEvent`; `docs/api/errors`): lines, of which the last has
 * `done`, the reason and the counts. Calls come whole. The index that some versions give them is passed over: it starts anew with each line, so that
 * equal calls of two lines would look like one. `load` and `unload`, which end a request without messages, are `other`.
 *
 * @param emit Takes the chunks, in order.
 */
export function decodeOllama(emit: (chunk: Chunk) => void): Decoder {
  const answer = createChunkEmitter(provider, emit);
  let thought = '';
  let called = false;

  const readMessage = (message: JsonObject) => {
    const [thinking, content] = [nonEmptyString(message['thinking']), nonEmptyString(message['content'])];
    if (thinking !== undefined) answer.emit({ type: 'thinking', text: thinking });
    thought += thinking ?? '';
    if (content !== undefined) answer.emit({ type: 'text', text: content });
    for (const image of asArray(message['images'])) if (typeof image === 'string') answer.emit(fileOf(image));
    for (const call of asArray(message['tool_calls'])) {
      const fragment = isJsonObject(call) ? fragmentOf(call) : undefined;
      if (fragment) answer.emit(fragment);
      called ||= fragment !== undefined;
    }
  };

  return {
    next(line) {
      answer.addMetadata('model', nonEmptyString(line['model']));
      if (isJsonObject(line['message'])) readMessage(line['message']);
      if (hasErrorField(line)) throw providerError(provider, line);
      const word = nonEmptyString(line['done_reason']);
      if (word !== undefined) answer.setFinishReason(finishReasonOf(word), word);
      answer.setUsage(
        usageOf({ input: finiteNumber(line['prompt_eval_count']), output: finiteNumber(line['eval_count']) }),
      );
      return line['done'] === true ? 'end' : undefined;
    },
    end(terminal) {
      answer.finishReason(terminal);
      if (called && thought !== '') answer.emit({ type: 'providerData', provider, data: { thinking: thought } });
      answer.emitFinish();
    },
  };
}

/** A call, whole; newer versions give it an id, which is kept to go back. */
function fragmentOf(call: JsonObject): ToolCallFragment | undefined {
  const called = isJsonObject(call['function']) ? call['function'] : call;
  const [id, name, args] = [nonEmptyString(call['id']), nonEmptyString(called['name']), called['arguments']];
  if (name === undefined) return undefined;
  return {
    type: 'toolCallFragment',
    ...omitUndefined({ id, providerData: id === undefined ? undefined : { [provider]: { id } } }),
    name,
    arguments:
      args === undefined || args === null || typeof args === 'string' || isJsonObject(args)
        ? (args ?? null)
        : JSON.stringify(args),
    done: true,
  };
}

/** The first bytes of the image formats, in base64: the API does not say which it is. */
const formats = [
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
] as const;

function fileOf(data: string): Chunk {
  const mediaType = formats.find(([beginning]) => data.startsWith(beginning))?.[1] ?? 'image/png';
  return { type: 'file', file: { type: 'file', mediaType, data } };
}
