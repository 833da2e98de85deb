import type { ToolCallFragment } from '../../core/chunk.js';
import { isJsonObject, isRecord, asArray, contentParts, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { parseDataUrl } from '../shared/files.js';

/** What a piece of an answer is: to be read, thought, or said in refusal. */
export type Kind = 'text' | 'thinking' | 'refusal';

/** A piece of an answer's text. */
export interface Piece {
  readonly kind: Kind;
  readonly text: string;
}

/** The text of a string, of `{ text }`, or of a list of these; empty when there is none. */
export function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  return asArray(value)
    .map((item) => (typeof item === 'string' ? item : isRecord(item) ? (nonEmptyString(item['text']) ?? '') : ''))
    .join('');
}

/** The pieces of `content`: a string, or a list of parts (Mistral documents text and thinking parts), in order. */
export function contentPieces(content: unknown): readonly Piece[] {
  return asArray(content).map((part): Piece => {
    if (!isRecord(part)) return { kind: 'text', text: textIn(part) };
    if (part['type'] === 'refusal') return { kind: 'refusal', text: textIn(part['refusal']) };
    const thought = part['type'] === 'thinking' || part['type'] === 'reasoning';
    return thought
      ? { kind: 'thinking', text: textIn(part['thinking']) || textIn(part['reasoning']) || textIn(part) }
      : { kind: 'text', text: textIn(part) };
  });
}

/** Where servers put reasoning: DeepSeek, vLLM and SGLang the first; Groq, Ollama and OpenRouter the second; GitHub Copilot the third. */
const reasoningFields = ['reasoning_content', 'reasoning', 'reasoning_text'] as const;

/** The reasoning of a delta: of the first field that has any, since gateways send the same text under two names. */
export function plainReasoning(delta: JsonObject): string {
  for (const field of reasoningFields) {
    const text = textIn(delta[field]);
    if (text !== '') return text;
  }
  return '';
}

/** The readable text of `reasoning_details` (OpenRouter): texts and summaries; encrypted ones have none. */
export function detailedReasoning(delta: JsonObject): string {
  const details = delta['reasoning_details'];
  if (details === undefined) return '';
  return asArray(details)
    .map((detail) =>
      isRecord(detail) ? (nonEmptyString(detail['text']) ?? nonEmptyString(detail['summary']) ?? '') : '',
    )
    .join('');
}

/** The tool calls of a delta or message, piece by piece as they stand: nothing is joined here. An entry that says nothing is left out. */
export function fragmentsIn(delta: JsonObject, provider: string): readonly ToolCallFragment[] {
  if (!delta['tool_calls'] && !delta['function_call']) return [];
  const calls = asArray(delta['tool_calls']).filter(isJsonObject);
  const legacy = calls.length > 0 ? [] : asArray(delta['function_call']).filter(isJsonObject);
  const fragments: ToolCallFragment[] = [];
  for (const call of calls.length > 0 ? calls : legacy) {
    const one = fragment(call, provider);
    if (one) fragments.push(one);
  }
  return fragments;
}

function fragment(call: JsonObject, provider: string): ToolCallFragment | undefined {
  const called = isJsonObject(call['function']) ? call['function'] : call;
  const id = typeof call['id'] === 'number' ? String(call['id']) : nonEmptyString(call['id']);
  const name = nonEmptyString(called['name']);
  const args = argumentsIn(called['arguments']);
  const index = call['index'];
  const extra = call['extra_content'];
  // A signature may come in an entry of its own, behind its call (open-webui/computer#224).
  const says =
    id !== undefined ||
    name !== undefined ||
    (args !== undefined && args !== null && args !== '') ||
    isJsonObject(extra);
  if (!says) return undefined;
  // Set one by one: the spreads took longer than parsing the frame.
  const one: Mutable<ToolCallFragment> = { type: 'toolCallFragment' };
  if (typeof index === 'number' || typeof index === 'string') one.index = index;
  if (id !== undefined) one.id = id;
  if (name !== undefined) one.name = name;
  if (args !== undefined) one.arguments = args;
  // Gemini's OpenAI endpoint signs its calls here, and refuses the next request without it.
  if (isJsonObject(extra)) one.providerData = { [provider]: { extra_content: extra } };
  return one;
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** Arguments are a string in pieces, or an object whole. What is neither becomes its JSON text: reported as invalid where calls are joined. */
function argumentsIn(value: unknown): string | JsonObject | null | undefined {
  if (value === undefined || value === null || typeof value === 'string' || isJsonObject(value)) return value;
  return JSON.stringify(value);
}

/** The images of a delta or message (OpenRouter's `images`, and image parts in `content`), each as a file. */
export function filesIn(delta: JsonObject): readonly FilePart[] {
  const [images, content] = [asArray(delta['images']), contentParts(delta['content'])];
  if (images.length + content.length === 0) return [];
  return [...images, ...content].flatMap((image): FilePart[] => {
    const at = isRecord(image) ? image['image_url'] : undefined;
    const url = isRecord(at) ? nonEmptyString(at['url']) : nonEmptyString(at);
    if (url === undefined) return [];
    const inline = parseDataUrl(url);
    return [{ type: 'file', ...(inline ?? { mediaType: 'image/*', url }) }];
  });
}

/** The sources that a delta or message cites: `url_citation` annotations, and Mistral's `reference` and `tool_reference` parts. */
export function sourcesIn(delta: JsonObject): readonly SourcePart[] {
  const [content, annotations] = [contentParts(delta['content']), asArray(delta['annotations'])];
  if (content.length + annotations.length === 0) return [];
  const references = content.flatMap((part) => (isRecord(part) ? referenced(part) : []));
  const cited = annotations.flatMap((annotation): SourcePart[] => {
    const cited =
      isRecord(annotation) && isRecord(annotation['url_citation']) ? annotation['url_citation'] : annotation;
    return isRecord(cited) ? source(cited['url'], cited['title'], cited['content']) : [];
  });
  return [...references, ...cited];
}

/** `reference_ids` name the documents that a tool's result numbered (Mistral, "Citations and references"). */
function referenced(part: Record<string, unknown>): SourcePart[] {
  if (part['type'] === 'tool_reference') return source(part['url'], part['title'], part['description']);
  if (part['type'] !== 'reference') return [];
  return asArray(part['reference_ids']).flatMap((id): SourcePart[] =>
    typeof id === 'number' || nonEmptyString(id) !== undefined ? [{ type: 'source', id: String(id) }] : [],
  );
}

/** The sources of a whole frame: `search_results`, and bare addresses in `citations` (Perplexity and xAI document them). */
export function frameSources(frame: JsonObject): readonly SourcePart[] {
  if (!frame['search_results'] && !frame['citations']) return [];
  const found = asArray(frame['search_results']).flatMap((result) =>
    isRecord(result) ? source(result['url'], result['title'], result['snippet']) : [],
  );
  return [...found, ...asArray(frame['citations']).flatMap((url) => source(url, undefined, undefined))];
}

function source(at: unknown, titled: unknown, quoted: unknown): SourcePart[] {
  const [url, title, text] = [nonEmptyString(at), nonEmptyString(titled), nonEmptyString(quoted)];
  if (url === undefined) return [];
  return [{ type: 'source', url, ...(title === undefined ? {} : { title }), ...(text === undefined ? {} : { text }) }];
}
