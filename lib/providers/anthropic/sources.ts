import type { FileChunk, SourceChunk } from '../../core/chunk.js';
import { omitUndefined, isJsonObject, asArray, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { base64 } from '../../core/message.js';
import type { FilePart, SourcePart } from '../../core/message.js';

/** Whether a block says what a tool did that the server runs: a call, or its result. */
export const isServerTool = (type: string): boolean => /^(server|mcp)_tool_use$|_tool_result$/.test(type);

/**
 * The sources and files in the result of a tool that the server runs: the page that was fetched, and what was read of it (`web_fetch_result`); and
 * the ids of files that code made (`..._output`), which the wire has no bytes of. Of a search only what is cited is a source.
 */
export function foundIn({ type, content }: JsonObject): readonly (SourceChunk | FileChunk)[] {
  if (!isJsonObject(content)) return [];
  if (type === 'web_fetch_tool_result') return fetched(content);
  if (!nonEmptyString(type)?.endsWith('code_execution_tool_result')) return [];
  return asArray(content['content']).flatMap((output) => {
    const id = nonEmptyString(objectOrEmpty(output)['file_id']);
    return id === undefined ? [] : [{ type: 'source', source: { type: 'source', id } }];
  });
}

function fetched({ url: address, content: document }: JsonObject): readonly (SourceChunk | FileChunk)[] {
  const url = nonEmptyString(address);
  const { title: name, source } = objectOrEmpty(document);
  const title = nonEmptyString(name);
  const file = fileOf(objectOrEmpty(source), title ?? url);
  return [
    ...(url === undefined
      ? []
      : [{ type: 'source', source: { type: 'source', url, ...omitUndefined({ title }) } } as const]),
    ...(file === undefined ? [] : [{ type: 'file', file } as const]),
  ];
}

/** A document as bytes, or as text. */
function fileOf(source: JsonObject, name: string | undefined): FilePart | undefined {
  const data = nonEmptyString(source['data']);
  if (data === undefined) return undefined;
  const named = omitUndefined({ name });
  const mediaType = nonEmptyString(source['media_type']) ?? 'text/plain';
  if (source['type'] === 'base64') return { type: 'file', mediaType, data, ...named };
  return { type: 'file', mediaType, data: base64(new TextEncoder().encode(data)), ...named };
}

/** A citation of a page, of a search result, or of a passage in a document of the request. */
export function sourceOf(citation: JsonObject): SourcePart {
  const url = nonEmptyString(citation['url']) ?? nonEmptyString(citation['source']);
  const title = nonEmptyString(citation['title']) ?? nonEmptyString(citation['document_title']);
  const text = nonEmptyString(citation['cited_text']);
  return { type: 'source', ...omitUndefined({ url, title, text }) };
}
