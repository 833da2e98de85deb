import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { asArray, finiteNumber, isJsonObject, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import { usageOf } from '../../core/usage.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { hasErrorField, providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { commonFinishReason } from '../shared/finishReasons.js';
import { unknownCallReason, unknownChunk } from '../shared/unknownChunk.js';

/** JSON lines (`docs/openapi.yaml` of Ollama's repository, `ChatStreamEvent`); the last one has `done`. */
export const decodeOllama = (emit: (chunk: Chunk) => void): Decoder => new OllamaDecoder(emit);

class OllamaDecoder implements Decoder {
  private readonly emitter: ChunkEmitter;
  private thinking = '';
  private hasCalls = false;
  private hasUnknownCalls = false;

  constructor(emit: (chunk: Chunk) => void) {
    this.emitter = new ChunkEmitter('ollama', emit);
  }

  next(line: JsonObject): 'end' | undefined {
    const { emitter } = this;
    emitter.addMetadata('model', nonEmptyString(line['model']));
    if (isJsonObject(line['message'])) this.readMessage(line['message']);
    if (hasErrorField(line)) throw providerError('ollama', line, contextLengthPatterns);
    const rawReason = nonEmptyString(line['done_reason']);
    if (rawReason !== undefined) emitter.setFinishReason(commonFinishReason(rawReason), rawReason);
    const { prompt_eval_count: input, eval_count: output } = line;
    emitter.setUsage(usageOf({ input: finiteNumber(input), output: finiteNumber(output) }));
    return line['done'] === true ? 'end' : undefined;
  }

  end(terminal: boolean): void {
    const { emitter, thinking, hasCalls } = this;
    const reason = emitter.finishReason(terminal);
    // The model continues its thinking after the results, so it is sent back with the calls.
    if (hasCalls && thinking !== '') emitter.emit({ type: 'provider', provider: 'ollama', data: { thinking } });
    // With `stop`, the run would end as if the model had asked for nothing.
    emitter.emitFinish(this.hasUnknownCalls && !hasCalls ? unknownCallReason(reason) : reason);
  }

  private readMessage(message: JsonObject): void {
    const { emitter } = this;
    const thinking = nonEmptyString(message['thinking']);
    const text = nonEmptyString(message['content']);
    if (thinking !== undefined) {
      this.thinking += thinking;
      emitter.emit({ type: 'thinking', text: thinking });
    }
    if (text !== undefined) emitter.emit({ type: 'text', text });
    for (const image of asArray(message['images']))
      if (typeof image === 'string') emitter.emit({ type: 'file', file: toImageFile(image) });
    for (const call of asArray(message['tool_calls'])) if (isJsonObject(call)) this.addCall(call);
  }

  private addCall(call: JsonObject): void {
    const fragment = readCall(call);
    if (fragment) this.hasCalls = true;
    else this.hasUnknownCalls = true;
    this.emitter.emit(fragment ?? unknownChunk(call));
  }
}

/** Calls are complete. Their indexes restart in each line, so equal calls would look like one: ignored. */
function readCall(call: JsonObject): ToolCallFragment | undefined {
  const functionFields = isJsonObject(call['function']) ? call['function'] : call;
  const id = nonEmptyString(call['id']);
  const name = nonEmptyString(functionFields['name']);
  if (name === undefined) return undefined;
  return {
    type: 'toolCallFragment',
    ...(id === undefined ? {} : { id, providerData: { ollama: { id } } }),
    name,
    arguments: readArguments(functionFields['arguments']),
    done: true,
  };
}

/** A string is JSON text; any other value becomes JSON text, which is reported as invalid. */
function readArguments(value: JsonValue | undefined): string | JsonObject | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' || isJsonObject(value) ? value : JSON.stringify(value);
}

/** The first bytes in base64: the API does not report the format. */
const imageFormats = [
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
] as const;

function toImageFile(data: string): FilePart {
  const mediaType = imageFormats.find(([firstBytes]) => data.startsWith(firstBytes))?.[1] ?? 'image/png';
  return { type: 'file', mediaType, data };
}
