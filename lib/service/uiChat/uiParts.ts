import type { FinishReason } from '../../core/chunk.js';
import type { ResultEvent, StreamEvent } from '../../core/event.js';
import { isResult } from '../../core/eventGuards.js';
import { objectOrEmpty, omitUndefined, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { FilePart, Message, SourcePart, ToolResultPart } from '../../core/message.js';
import { publicUrl } from '../publicEvents.js';
import type { UiFileChunk, UiFinishReason, UiPromptPart, UiMessageChunk, UiToolChunk } from './chunks.js';

const finishReasons: Partial<Record<FinishReason, UiFinishReason>> = {
  stop: 'stop',
  length: 'length',
  contentFilter: 'content-filter',
  toolCalls: 'tool-calls',
  waiting: 'tool-calls',
  error: 'error',
};

/** The schema of `ai` 6 rejects any other value. */
export const uiFinishReason = (reason: FinishReason): UiFinishReason => finishReasons[reason] ?? 'other';

export function fileChunk(file: FilePart): UiFileChunk {
  const { mediaType, data, url = `data:${mediaType};base64,${data}` } = publicUrl(file);
  return { type: 'file', mediaType, url };
}

export const promptChunk = ({ parts }: Message, id: string): UiMessageChunk => ({
  type: 'steering-message',
  id,
  parts: parts.flatMap((part): UiPromptPart[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    return part.type === 'file' ? [fileChunk(part)] : [];
  }),
});

/** With a URL a link, otherwise a document. The cited passage becomes provider metadata. */
export function sourceChunk(source: SourcePart, count: number): UiMessageChunk {
  const { id, url, title, text, start, end } = publicUrl(source);
  const passage = omitUndefined({ text, start, end });
  const fields = {
    sourceId: id ?? `source-${count}`,
    ...(Object.keys(passage).length > 0 ? { providerMetadata: { rivulet: passage } } : {}),
  };
  return url === undefined
    ? { type: 'source-document', mediaType: 'text/plain', title: title ?? text ?? 'Source', ...fields }
    : { type: 'source-url', url, ...(title === undefined ? {} : { title }), ...fields };
}

/** A denial has a state of its own, unless the browser executes the tool. */
export function resultChunk(result: ToolResultPart, isClientTool: boolean): UiToolChunk {
  const { id: toolCallId, error, code } = result;
  if (error === undefined) return { type: 'tool-output-available', toolCallId, output: result.result };
  return code === 'denied' && !isClientTool
    ? { type: 'tool-output-denied', toolCallId }
    : { type: 'tool-output-error', toolCallId, errorText: error };
}

/** For a tool that the provider runs, the output is the error. */
export const outputText = (output: JsonValue | undefined): string =>
  typeof output === 'string' ? output : JSON.stringify(output ?? 'The call failed.');

export const resultMetadata = (event: StreamEvent): JsonObject | undefined =>
  isResult(event) ? describeOutcome(event) : undefined;

function describeOutcome({ result: { finishReason, rawReason, usage, metadata } }: ResultEvent): JsonObject {
  const model = objectOrEmpty(metadata?.['answeredBy'])['name'];
  return omitUndefined({ finishReason, rawReason, usage: { ...usage }, model });
}
