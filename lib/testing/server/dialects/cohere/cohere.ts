import type { SourceChunk, TextChunk, ThinkingChunk, ToolCallFragment } from '../../../../core/chunk.js';
import { errorText } from '../../../../core/errors.js';
import { isRecord, nonEmptyString, omitUndefined, type JsonObject } from '../../../../core/json/json.js';
import type { Usage } from '../../../../core/usage.js';
import { chatHistory } from '../chatCompletions/history.js';
import { splitJson } from '../completeCalls.js';
import { refusal, typedFrame as frame, type Dialect, type DialectFrame, type DialectWriter } from '../dialect.js';
import { objectsIn } from '../history.js';
import { historyObjection } from '../historyRules.js';
import { createWriter } from '../writer.js';
import { historyRules } from './historyRules.js';

/** "A Guide to Streaming Responses", "Streaming for tool use". A failure is a `message-end` with an error. */
export const cohere: Dialect = {
  framing: 'sse',
  contentType: 'text/event-stream; charset=utf-8',
  bases: { cohere: '/v2' },
  serves: (path) => /\/v\d+\/chat$/.test(path),
  refusal: (body) => {
    const message = objection(body);
    return message === undefined ? undefined : refusal('invalid_request', message);
  },
  messages: (body) => objectsIn(body['messages']),
  history: chatHistory,
  writer: ({ turn }) => writer(turn),
  errorBody: ({ message }) => ({ id: 'error', message }),
};

function objection(body: unknown): string | undefined {
  if (!isRecord(body)) return 'invalid request: cannot parse the body';
  if (nonEmptyString(body['model']) === undefined) return 'invalid request: model is required';
  if (body['stream'] !== true) return "This loopback server only streams: send 'stream': true.";
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isRecord))
    return 'invalid request: messages must not be empty';
  if (isRecord(body['response_format']) && body['tools'] !== undefined)
    return 'response_format is not supported with tools';
  return historyObjection(historyRules, objectsIn(messages));
}

const messageDelta = (type: string, message: JsonObject, index?: number) =>
  frame(type, { ...(index === undefined ? {} : { index }), delta: { message } });

function writer(turn: number): DialectWriter {
  const { stop, content, toolCall, citation } = createBlocks();
  return createWriter('Chat API of Cohere', {
    begin() {
      const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] };
      return [frame('message-start', { id: `cohere-${turn}`, delta: { message } })];
    },
    chunks: { text: content, thinking: content, toolCallFragment: toolCall, source: citation, finish: stop },
    error: (error) => [frame('message-end', { delta: { error: errorText(error), finish_reason: 'ERROR' } })],
    end({ reason, rawReason, usage }) {
      const finish = reason === 'unspecified' ? {} : { finish_reason: rawReason ?? reasons[reason] ?? reason };
      return [frame('message-end', { delta: { ...finish, ...(usage ? { usage: wireUsage(usage) } : {}) } })];
    },
  });
}

function createBlocks() {
  let contentIndex = -1;
  let callIndex = -1;
  let openBlock: 'text' | 'thinking' | 'call' | undefined;
  let textLength = 0;
  let textStart = 0; // of the open block

  const stop = (): DialectFrame[] => {
    const ended = openBlock;
    openBlock = undefined;
    if (ended === undefined) return [];
    return [
      ended === 'call' ? frame('tool-call-end', { index: callIndex }) : frame('content-end', { index: contentIndex }),
    ];
  };

  return {
    stop,
    content: ({ type, text }: TextChunk | ThinkingChunk): DialectFrame[] => {
      const started =
        openBlock === type
          ? []
          : [...stop(), messageDelta('content-start', { content: { type, [type]: '' } }, ++contentIndex)];
      if (openBlock !== type && type === 'text') textStart = textLength;
      openBlock = type;
      if (type === 'text') textLength += text.length;
      return [...started, messageDelta('content-delta', { content: { [type]: text } }, contentIndex)];
    },
    toolCall: ({ id = '', name, arguments: args, done }: ToolCallFragment): DialectFrame[] => {
      const call = { id, type: 'function', function: { name: name ?? '', arguments: '' } };
      const isContinued = name === undefined && openBlock === 'call';
      const started = isContinued
        ? []
        : [...stop(), messageDelta('tool-call-start', { tool_calls: call }, ++callIndex)];
      openBlock = 'call';
      const json = typeof args === 'object' && args !== null ? splitJson(args) : [args ?? ''];
      const deltas = json.map((piece) =>
        messageDelta('tool-call-delta', { tool_calls: { function: { arguments: piece } } }, callIndex),
      );
      return [...started, ...deltas, ...(done ? stop() : [])];
    },
    citation: ({ source: { id = 'doc:0', url, title, text, start, end } }: SourceChunk): DialectFrame[] => {
      const document = { id, ...omitUndefined({ url, title, text }) };
      const position =
        start === undefined || end === undefined
          ? { start: 0, end: 0, type: 'PLAN' }
          : { start: start - textStart, end: end - textStart, type: 'TEXT_CONTENT', content_index: contentIndex };
      const citation = { ...position, text: '', sources: [{ type: 'document', id, document }] };
      return [messageDelta('citation-start', { citations: citation }, 0), frame('citation-end', { index: 0 })];
    },
  };
}

const reasons: Readonly<Record<string, string>> = {
  stop: 'COMPLETE',
  length: 'MAX_TOKENS',
  toolCalls: 'TOOL_CALL',
  error: 'ERROR',
};

function wireUsage({ input, output, cachedInput }: Usage): JsonObject {
  const tokens = omitUndefined({ input_tokens: input, output_tokens: output });
  const billed = { input_tokens: 1, output_tokens: 1 };
  return omitUndefined({ billed_units: billed, tokens, cached_tokens: cachedInput });
}
