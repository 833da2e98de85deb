import type { FileChunk, SourceChunk } from '../../core/chunk.js';
import { omitUndefined, isJsonObject, asArray, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { base64, type FilePart, type SourcePart } from '../../core/message.js';

export function readCitedSource(citation: JsonObject): SourcePart {
  const url = nonEmptyString(citation['url']) ?? nonEmptyString(citation['source']);
  const title = nonEmptyString(citation['title']) ?? nonEmptyString(citation['document_title']);
  const text = nonEmptyString(citation['cited_text']);
  return { type: 'source', ...omitUndefined({ url, title, text }) };
}

/** Search results become sources only where they are cited. The stream has no bytes of created files. */
export function readResultChunks({ type, content }: JsonObject): readonly (SourceChunk | FileChunk)[] {
  if (!isJsonObject(content)) return [];
  if (type === 'web_fetch_tool_result') return fetchedPage(content);
  // Also `bash_code_execution_tool_result` and `text_editor_code_execution_tool_result`.
  return nonEmptyString(type)?.endsWith('code_execution_tool_result') ? readCreatedFiles(content) : [];
}

function fetchedPage({ url: pageUrl, content: document }: JsonObject): readonly (SourceChunk | FileChunk)[] {
  const url = nonEmptyString(pageUrl);
  const { title: pageTitle, source } = objectOrEmpty(document);
  const title = nonEmptyString(pageTitle);
  const file = documentFile(objectOrEmpty(source), title ?? url);
  const chunks: (SourceChunk | FileChunk)[] = [];
  if (url !== undefined) chunks.push({ type: 'source', source: { type: 'source', url, ...omitUndefined({ title }) } });
  if (file !== undefined) chunks.push({ type: 'file', file });
  return chunks;
}

function documentFile(source: JsonObject, documentName: string | undefined): FilePart | undefined {
  const data = nonEmptyString(source['data']);
  if (data === undefined) return undefined;
  const mediaType = nonEmptyString(source['media_type']) ?? 'text/plain';
  const bytes = source['type'] === 'base64' ? data : base64(new TextEncoder().encode(data));
  return { type: 'file', mediaType, data: bytes, ...omitUndefined({ name: documentName }) };
}

function readCreatedFiles({ content: outputs }: JsonObject): readonly SourceChunk[] {
  return asArray(outputs).flatMap((output) => {
    const id = nonEmptyString(objectOrEmpty(output)['file_id']);
    return id === undefined ? [] : [{ type: 'source', source: { type: 'source', id } }];
  });
}
