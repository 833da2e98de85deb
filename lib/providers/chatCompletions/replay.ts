import {
  asArray,
  isJsonObject,
  nonEmptyArray,
  nonEmptyString,
  objectOrEmpty,
  omitUndefined,
} from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { mergeJson } from '../../core/json/merge.js';
import { messageText, type Message } from '../../core/message.js';
import { providerDataOf } from '../../core/providerPart.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { readText, reasoningFields } from './content.js';
import type { Replay, ReplayCollector } from './dialect.js';

/** DeepSeek and Moonshot reject results without their `reasoning_content` (400). OpenRouter: "Preserving reasoning". */
class OpenReplayCollector implements ReplayCollector {
  private reasoning = '';
  private field: (typeof reasoningFields)[number] | undefined;
  private readonly details: Record<string, JsonValue>[] = [];
  private thought: Record<string, JsonValue> | undefined;
  private readonly files = new Map<string, JsonObject>();

  constructor(
    private readonly provider: string,
    private readonly out: ChunkReceiver,
    private readonly always: boolean,
  ) {}

  get hasNoReasoning(): boolean {
    return this.reasoning === '' && this.details.length === 0;
  }

  add(delta: JsonObject): void {
    this.field ??= reasoningFields.find((field) => readText(delta[field]) !== '');
    if (this.field !== undefined) this.reasoning += readText(delta[this.field]);
    for (const detail of asArray(delta['reasoning_details'])) if (isJsonObject(detail)) addDetail(this.details, detail);
    for (const annotation of asArray(delta['annotations']))
      if (isJsonObject(annotation) && annotation['type'] === 'file')
        this.files.set(JSON.stringify(annotation), annotation);
  }

  addPart(part?: unknown): void {
    const { thought } = this;
    if (isJsonObject(part) && isThought(part)) {
      if (thought) joinThoughts(thought, part);
      else this.thought = { ...part };
    } else if (thought) {
      this.thought = undefined;
      this.emit(thought);
    }
  }

  /** Adds a file, unless a delta had it: a message repeats what the deltas contained. */
  end(hasCalls: boolean): void {
    this.addPart();
    const { field = 'reasoning_content' } = this;
    // Of OpenRouter, the details repeat `reasoning`, with signatures.
    const isRepeated = field === 'reasoning' && this.details.length > 0;
    const isSent = (hasCalls || this.always) && !isRepeated;
    const data = omitUndefined({
      [field]: isSent ? nonEmptyString(this.reasoning) : undefined,
      reasoning_details: nonEmptyArray(this.details),
      annotations: nonEmptyArray([...this.files.values()]),
    });
    if (Object.keys(data).length > 0) this.emit(data);
  }

  private emit(data: JsonObject): void {
    this.out.emit({ type: 'provider', provider: this.provider, data });
  }
}

/** `{ type: 'thinking', thinking: [...] }` of Mistral, `{ type: 'reasoning', summary: [...] }` of Databricks. */
const isThought = ({ type }: JsonObject): boolean => type === 'thinking' || type === 'reasoning';

/** In place: a copy for each fragment would be quadratic. */
function joinThoughts(thought: Record<string, JsonValue>, part: JsonObject): void {
  const field = part['type'] === 'reasoning' ? 'summary' : 'thinking';
  const last = objectOrEmpty(asArray(part[field]).at(-1));
  const text = readText(thought[field]) + readText(part[field]);
  Object.assign(thought, part, { [field]: [{ type: 'text', ...last, text }] });
}

export const createReplay = (always: boolean): Replay => ({
  createCollector: (provider, out) => new OpenReplayCollector(provider, out, always),
  fields: replayFields,
});

export const replay = /* @__PURE__ */ createReplay(false);

function replayFields(message: Message, provider: string): JsonObject {
  const own = providerDataOf(message, provider);
  const merged = own.reduce<JsonValue>(mergeJson, {}); // of a merged message, lists are joined
  const { reasoning_content, reasoning, reasoning_text, reasoning_details, annotations, think_tags } =
    objectOrEmpty(merged);
  const hasThoughts = own.some(isThought);
  const text = readText(think_tags) + messageText(message);
  const content = hasThoughts ? contentWithThoughts(message, provider) : (nonEmptyString(text) ?? null);
  return omitUndefined({ content, reasoning_content, reasoning, reasoning_text, reasoning_details, annotations });
}

function contentWithThoughts({ parts }: Message, provider: string): readonly JsonObject[] {
  const content: JsonObject[] = [];
  let text = '';
  const endText = () => {
    if (text !== '') content.push({ type: 'text', text });
    text = '';
  };
  for (const part of parts) {
    if (part.type === 'text') text += part.text;
    if (part.type !== 'provider' || part.provider !== provider || !isThought(part.data)) continue;
    endText();
    content.push(part.data);
  }
  endText();
  return content;
}

/** How many details may be open at a time. To search all of them for each fragment would be quadratic. */
const MAX_OPEN_DETAILS = 64;

const streamedFields = ['text', 'summary', 'data'] as const;

/** OpenRouter's guide "Reasoning tokens". Without an index, a fragment may continue only the last detail. */
function addDetail(details: Record<string, JsonValue>[], fragment: JsonObject): void {
  const first = Math.max(0, details.length - (typeof fragment['index'] === 'number' ? MAX_OPEN_DETAILS : 1));
  let position = details.length - 1;
  while (position >= first && !continuesDetail(objectOrEmpty(details[position]), fragment)) position--;
  const detail = position < first ? undefined : details[position];
  if (detail) joinDetail(detail, fragment);
  else details.push({ ...fragment });
}

/** The signature arrives last; text after it is a new detail. Encrypted data is complete, unless ids are equal. */
function continuesDetail(detail: JsonObject, fragment: JsonObject): boolean {
  if (detail['type'] !== fragment['type'] || detail['index'] !== fragment['index']) return false;
  const [id, nextId] = [nonEmptyString(detail['id']), nonEmptyString(fragment['id'])];
  if (fragment['data'] !== undefined) return id !== undefined && id === nextId;
  if (id !== undefined && nextId !== undefined && id !== nextId) return false;
  const signature = nonEmptyString(detail['signature']);
  if (signature === undefined || signature === fragment['signature']) return true;
  return streamedFields.every((field) => readText(fragment[field]) === '');
}

/** In place: a copy for each fragment would be quadratic. */
function joinDetail(detail: Record<string, JsonValue>, fragment: JsonObject): void {
  const texts = streamedFields.map((field) => [field, readText(detail[field]) + readText(fragment[field])] as const);
  for (const [field, value] of Object.entries(fragment)) if (value !== null && value !== '') detail[field] = value;
  for (const [field, text] of texts) if (text !== '') detail[field] = text;
}
