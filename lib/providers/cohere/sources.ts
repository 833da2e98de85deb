import { asArray, finiteNumber, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';

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
