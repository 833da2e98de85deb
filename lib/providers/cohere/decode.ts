import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import {
  asArray,
  isJsonObject,
  isRecord,
  nonEmptyString,
  objectOrEmpty,
  omitUndefined,
  finiteNumber,
} from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { CallFragments } from '../shared/callFragments.js';
import { ChunkEmitter, emitOnce } from '../shared/chunkEmitter.js';
import { unknownCallReason, unknownChunk } from '../shared/unknownChunk.js';
import { readError, toFinishReason, readUsage } from './finish.js';
import type { SourcePart } from '../../core/message.js';

/** docs.cohere.com, "A Guide to Streaming Responses" and "Streaming for tool use". Others become metadata. */
export const decodeCohere = (emit: (chunk: Chunk) => void): Decoder => new CohereDecoder(emit);

class CohereDecoder implements Decoder {
  private readonly emitter: ChunkEmitter;
  private readonly calls: CallFragments;
  private readonly textStarts = new Map<unknown, number>(); // By the index of the content block.
  private sourceKeys: Set<string> | undefined;
  private textLength = 0;
  private toolPlan = '';
  private thinking = '';
  private hasCalls = false;
  private hasUnknownCalls = false;

  constructor(emit: (chunk: Chunk) => void) {
    this.emitter = new ChunkEmitter('cohere', emit);
    this.calls = new CallFragments(this.emitter);
  }

  next(frame: JsonObject, event?: string): 'end' | undefined {
    const type = nonEmptyString(frame['type']) ?? event;
    if (type === 'error' || frame['error'] || (type === undefined && nonEmptyString(frame['message'])))
      throw providerError('cohere', frame, contextLengthPatterns);
    this.emitter.addMetadata('responseId', nonEmptyString(frame['id']));
    if (type === 'message-end') {
      this.readEnd(objectOrEmpty(frame['delta']));
      return 'end';
    }
    if (type !== undefined) this.readEvent(type, frame);
    return undefined;
  }

  end(terminal: boolean): void {
    const { emitter, toolPlan, thinking, hasCalls } = this;
    const reason = emitter.finishReason(terminal); // throws if the response was interrupted
    if (hasCalls && toolPlan + thinking !== '') {
      const data = omitUndefined({ tool_plan: nonEmptyString(toolPlan), thinking: nonEmptyString(thinking) });
      emitter.emit({ type: 'provider', provider: 'cohere', data });
    }
    emitter.emitFinish(this.hasUnknownCalls && !hasCalls ? unknownCallReason(reason) : reason);
  }

  private readEvent(type: string, frame: JsonObject): void {
    const message = objectOrEmpty(objectOrEmpty(frame['delta'])['message']);
    const { index } = frame;
    switch (type) {
      case 'message-start':
        this.readToolPlan(message['tool_plan']);
        this.readContent(message['content']);
        // Some gateways send complete calls in the first event, without an index: their positions serve as indexes.
        asArray(message['tool_calls']).forEach((call, position) => this.startCalls(position, [call]));
        break;
      case 'content-start':
        this.textStarts.set(index, this.textLength);
        this.readContent(message['content']);
        break;
      case 'content-delta':
        this.readContent(message['content']);
        break;
      case 'tool-plan-delta':
        this.readToolPlan(message['tool_plan']);
        break;
      case 'tool-call-start':
        this.startCalls(index, message['tool_calls']);
        break;
      case 'tool-call-delta':
        this.continueCalls(index, message['tool_calls']);
        break;
      case 'tool-call-end':
        this.calls.end(index);
        break;
      case 'citation-start':
        this.emitSources(message['citations']);
        break;
      case 'content-end':
      case 'citation-end':
      case 'debug': // the prompt as the model reads it
        break;
      default:
        this.emitter.emit(unknownChunk(frame));
    }
  }

  private readContent(content: unknown): void {
    for (const part of asArray(content)) {
      const thinking = nonEmptyString(objectOrEmpty(part)['thinking']);
      const text = nonEmptyString(isRecord(part) ? part['text'] : part);
      if (thinking !== undefined) {
        this.thinking += thinking;
        this.emitter.emit({ type: 'thinking', text: thinking });
      }
      if (text !== undefined) {
        this.textLength += text.length;
        this.emitter.emit({ type: 'text', text });
      }
      if (isJsonObject(part) && !isKnownContent(part)) this.emitter.emit(unknownChunk(part));
    }
  }

  private readToolPlan(plan: unknown): void {
    this.toolPlan += nonEmptyString(plan) ?? '';
  }

  private startCalls(index: unknown, toolCalls: unknown): void {
    for (const call of asArray(toolCalls)) {
      if (!isJsonObject(call)) continue;
      if (isFunctionCall(call)) {
        this.hasCalls = true;
        this.calls.start(index, readStartedCall(call));
      } else {
        this.hasUnknownCalls = true;
        this.emitter.emit(unknownChunk(call));
      }
    }
  }

  private continueCalls(index: unknown, toolCalls: unknown): void {
    for (const call of asArray(toolCalls)) {
      const args = objectOrEmpty(objectOrEmpty(call)['function'])['arguments'];
      if (typeof args === 'string') this.calls.fragment(index, args);
    }
  }

  private emitSources(citations: unknown): void {
    this.sourceKeys ??= new Set();
    for (const citation of asArray(citations)) {
      const textStart = this.textStarts.get(objectOrEmpty(citation)['content_index']) ?? 0;
      for (const source of readSources(citation, textStart)) {
        const key = JSON.stringify(source.id === undefined ? source : [source.id, source.start, source.end]);
        emitOnce(this.emitter, this.sourceKeys, key, { type: 'source', source });
      }
    }
  }

  private readEnd(delta: JsonObject): void {
    const { emitter } = this;
    const error = readError(delta);
    if (error) throw error;
    const rawReason = nonEmptyString(delta['finish_reason']);
    if (rawReason !== undefined) emitter.setFinishReason(toFinishReason(rawReason), rawReason);
    emitter.setUsage(readUsage(delta));
  }
}

const isKnownContent = ({ type, text, thinking }: JsonObject): boolean =>
  type === 'text' || type === 'thinking' || text !== undefined || thinking !== undefined;

/** Gateways omit the type (`ToolCallV2`). */
const isFunctionCall = ({ type, function: functionFields }: JsonObject): boolean =>
  type === undefined || type === 'function' || isJsonObject(functionFields);

function readStartedCall({
  id,
  function: functionFields,
}: JsonObject): Pick<ToolCallFragment, 'id' | 'name' | 'arguments'> {
  const { name, arguments: args } = objectOrEmpty(functionFields);
  return omitUndefined({
    id: nonEmptyString(id),
    name: nonEmptyString(name),
    arguments: isJsonObject(args) ? args : nonEmptyString(args),
  });
}

/** docs.cohere.com, "Citations". A position in a plan or in thinking (`CitationType`) is none in the text. */
export function readSources(citation: unknown, textStart = 0): readonly SourcePart[] {
  if (!isRecord(citation)) return [];
  const { type = 'TEXT_CONTENT' } = citation;
  const position = (name: string) => {
    const offset = finiteNumber(citation[name]);
    return type === 'TEXT_CONTENT' && offset !== undefined ? textStart + offset : undefined;
  };
  const fields = omitUndefined({ start: position('start'), end: position('end') });
  return asArray(citation['sources'])
    .filter(isRecord)
    .map((source) => ({ ...toSource(source), ...fields }));
}

/** The user chooses the fields of a document or a tool's output: those with the usual names are read. */
function toSource(source: Record<string, unknown>): SourcePart {
  const document = [source['document'], source['tool_output']].find(isRecord) ?? {};
  const content = { ...document, ...(isRecord(document['data']) ? document['data'] : {}) };
  const first = (...names: readonly string[]) =>
    names.map((name) => nonEmptyString(content[name])).find((text) => text !== undefined);
  const fields = omitUndefined({
    id: nonEmptyString(source['id']) ?? first('id'),
    url: first('url', 'link', 'uri'),
    title: first('title', 'name'),
    text: first('text', 'snippet', 'content', 'data'),
  });
  return { type: 'source', ...fields };
}
