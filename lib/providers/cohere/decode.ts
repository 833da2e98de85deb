import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { asArray, isJsonObject, isRecord, nonEmptyString, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { CallFragments } from '../shared/callFragments.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { unknownCallReason, unknownChunk } from '../shared/unknownChunk.js';
import { readError, toFinishReason, readUsage } from './finish.js';
import { readSources } from './sources.js';

/**
 * Decodes one response of the Chat API (docs.cohere.com, "A Guide to Streaming Responses" and "Streaming for tool
 * use"). The event `message-end` is the terminal marker. Unknown events and contents
 * become metadata.
 *
 * @param emit Receives the chunks, in order.
 */
export function decodeCohere(emit: (chunk: Chunk) => void): Decoder {
  const emitter = new ChunkEmitter('cohere', emit);
  const calls = new CallFragments(emitter);
  const sourceKeys = new Set<string>();
  const textStarts = new Map<unknown, number>(); // by the index of the content block
  let textLength = 0;
  let toolPlan = '';
  let thinking = '';
  let hasCalls = false;
  let hasUnknownCalls = false;

  const emitText = (text: string) => {
    textLength += text.length;
    emitter.emit({ type: 'text', text });
  };
  const readContent = (content: unknown) => {
    for (const part of asArray(content)) {
      const thinkingText = nonEmptyString(objectOrEmpty(part)['thinking']);
      const text = nonEmptyString(isRecord(part) ? part['text'] : part);
      if (thinkingText !== undefined) {
        thinking += thinkingText;
        emitter.emit({ type: 'thinking', text: thinkingText });
      }
      if (text !== undefined) emitText(text);
      if (isJsonObject(part) && !isKnownContent(part)) emitter.emit(unknownChunk(part));
    }
  };
  const readToolPlan = (plan: unknown) => {
    toolPlan += nonEmptyString(plan) ?? '';
  };
  const startCalls = (index: unknown, toolCalls: unknown) => {
    for (const call of asArray(toolCalls).filter(isJsonObject)) {
      if (!isFunctionCall(call)) {
        hasUnknownCalls = true;
        emitter.emit(unknownChunk(call));
        continue;
      }
      hasCalls = true;
      calls.start(index, readStartedCall(call));
    }
  };
  const continueCalls = (index: unknown, toolCalls: unknown) => {
    for (const call of asArray(toolCalls).filter(isJsonObject)) {
      const args = objectOrEmpty(call['function'])['arguments'];
      if (typeof args === 'string') calls.fragment(index, args);
    }
  };
  const emitSources = (citations: unknown) => {
    for (const citation of asArray(citations)) {
      const textStart = textStarts.get(objectOrEmpty(citation)['content_index']) ?? 0;
      for (const source of readSources(citation, textStart)) {
        const key = JSON.stringify(source.id === undefined ? source : [source.id, source.start, source.end]);
        if (sourceKeys.has(key)) continue;
        sourceKeys.add(key);
        emitter.emit({ type: 'source', source });
      }
    }
  };
  const readEvent = (type: string, frame: JsonObject) => {
    const message = objectOrEmpty(objectOrEmpty(frame['delta'])['message']);
    const { index } = frame;
    switch (type) {
      case 'message-start':
        readToolPlan(message['tool_plan']);
        readContent(message['content']);
        // Some gateways send complete calls in the first event, without an index: their positions serve as indexes.
        asArray(message['tool_calls']).forEach((call, position) => startCalls(position, [call]));
        break;
      case 'content-start':
        textStarts.set(index, textLength);
        readContent(message['content']);
        break;
      case 'content-delta':
        readContent(message['content']);
        break;
      case 'tool-plan-delta':
        readToolPlan(message['tool_plan']);
        break;
      case 'tool-call-start':
        startCalls(index, message['tool_calls']);
        break;
      case 'tool-call-delta':
        continueCalls(index, message['tool_calls']);
        break;
      case 'tool-call-end':
        calls.end(index);
        break;
      case 'citation-start':
        emitSources(message['citations']);
        break;
      case 'content-end':
      case 'citation-end':
      case 'debug': // the prompt as the model reads it
        break;
      default:
        emitter.emit(unknownChunk(frame));
    }
  };
  const readEnd = (delta: JsonObject) => {
    const error = readError(delta);
    if (error) throw error;
    const rawReason = nonEmptyString(delta['finish_reason']);
    if (rawReason !== undefined) emitter.setFinishReason(toFinishReason(rawReason), rawReason);
    emitter.setUsage(readUsage(delta));
  };

  return {
    next(frame, event) {
      const type = nonEmptyString(frame['type']) ?? event;
      const delta = objectOrEmpty(frame['delta']);
      if (type === 'error' || frame['error'] || (type === undefined && nonEmptyString(frame['message'])))
        throw providerError('cohere', frame);
      emitter.addMetadata('responseId', nonEmptyString(frame['id']));
      if (type === 'message-end') {
        readEnd(delta);
        return 'end';
      }
      if (type !== undefined) readEvent(type, frame);
      return undefined;
    },
    end(terminal) {
      const reason = emitter.finishReason(terminal); // throws if the response was interrupted
      if (hasCalls && toolPlan + thinking !== '') {
        const data = omitUndefined({ tool_plan: nonEmptyString(toolPlan), thinking: nonEmptyString(thinking) });
        emitter.emit({ type: 'providerData', provider: 'cohere', data });
      }
      emitter.emitFinish(hasUnknownCalls && !hasCalls ? unknownCallReason(reason) : reason);
    },
  };
}

/** Deltas repeat no type. */
const isKnownContent = ({ type, text, thinking }: JsonObject): boolean =>
  type === 'text' || type === 'thinking' || text !== undefined || thinking !== undefined;

/** Whether a call is one of a function (`ToolCallV2`). Gateways omit the type. */
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
