import { asArray, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';

/** Reads the sources of a citation (docs.cohere.com, "Citations"): documents of the request, or outputs of tools. */
export function readSources(citation: unknown): readonly SourcePart[] {
  const sources = isRecord(citation) ? asArray(citation['sources']) : [];
  return sources.filter(isRecord).map(toSource);
}

/**
 * The user chooses the fields of a document or a tool's output. Fields with the usual names (`url`, `title`, `text`)
 * are read.
 */
function toSource(source: Record<string, unknown>): SourcePart {
  const content = [source['document'], source['tool_output']].find(isRecord) ?? {};
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
