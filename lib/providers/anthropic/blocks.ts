import type { FileChunk, SourceChunk } from '../../core/chunk.js';
import { asArray, isJsonObject, nonEmptyString, omit, omitUndefined, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { CallFragments } from '../shared/callFragments.js';
import { emitOnce, type ChunkReceiver } from '../shared/chunkEmitter.js';
import { unknownChunk } from '../shared/unknownChunk.js';
import { BlockReports, isKnownBlock } from './blockReports.js';
import { isThinkingBlock } from './models.js';
import { readCitedSource, readResultChunks } from './sources.js';

/** The types to open for servers that omit `content_block_start`. */
const blockTypesByDelta: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['citations_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'thinking'],
  ['input_json_delta', 'tool_use'],
]);

/** A block other than text and `tool_use` goes back unchanged and in place, and so does the end of a cited text. */
export class BlockDecoder {
  private readonly calls: CallFragments;
  /** The start of another block closes the current one, unless that is a call. */
  private current: OpenBlock | undefined;
  private openCalls: Map<unknown, OpenBlock> | undefined;
  private reports: BlockReports | undefined;
  private emittedOnce: Set<string> | undefined;
  private hasOpenText = false;

  constructor(private readonly out: ChunkReceiver) {
    this.calls = new CallFragments(out);
  }

  start(index: unknown, block: unknown): void {
    if (isJsonObject(block)) this.open(index, block);
  }

  /** If the block has not been started, the delta opens it: some compatible servers omit starts. */
  delta(index: unknown, delta: unknown): void {
    if (!isJsonObject(delta)) return;
    const type = blockTypesByDelta.get(delta['type']);
    const block = this.find(index) ?? (type === undefined ? undefined : this.open(index, { type }));
    if (!block) {
      this.out.emit(unknownChunk(delta));
      return;
    }
    const { partial_json: partialJson, citation } = delta;
    // Some compatible servers send the arguments as an object, in one delta.
    const json = isJsonObject(partialJson) ? JSON.stringify(partialJson) : partialJson;
    if (typeof json === 'string' && block.isStreamed) this.calls.fragment(block.index, json);
    else if (typeof json === 'string') block.json += json;
    else if (isJsonObject(citation)) this.addCitation(block, citation);
    else if (block.isStreamed) this.appendToStreamed(block, delta);
    else this.appendToOther(block, delta);
  }

  stop(index: unknown): void {
    const block = this.find(index);
    if (block) this.close(block);
  }

  end(): void {
    if (this.current && this.current.type !== 'tool_use') this.close(this.current);
  }

  hasUnknownCall(): boolean {
    return this.reports?.hasUnknownCall() ?? false;
  }

  private find(index: unknown): OpenBlock | undefined {
    const { current } = this;
    return current !== undefined && current.index === index ? current : this.openCalls?.get(index);
  }

  private open(index: unknown, startedBlock: JsonObject): OpenBlock {
    this.calls.completeEnded();
    this.end();
    const type = nonEmptyString(startedBlock['type']) ?? 'text';
    const block = new OpenBlock(type, index);
    this.current = block;
    if (type === 'tool_use') {
      this.openCalls ??= new Map();
      this.openCalls.set(index, block);
      this.calls.start(index, readCallFields(startedBlock));
      return block;
    }
    this.openCalls?.delete(index); // some servers send the same index for all blocks
    if (type === 'text') this.startText(block, startedBlock);
    else Object.assign(block.fields, startedBlock);
    if (type === 'thinking') this.emitText('thinking', startedBlock['thinking']);
    return block;
  }

  private startText(block: OpenBlock, { text, citations }: JsonObject): void {
    // The citations of this text do not apply to the text before it.
    if (citations) this.separateText();
    this.emitText('text', text);
    for (const citation of asArray(citations)) if (isJsonObject(citation)) this.addCitation(block, citation);
  }

  private close(block: OpenBlock): void {
    const { type, index, fields } = block;
    if (this.current === block) this.current = undefined;
    if (type === 'tool_use') {
      this.openCalls?.delete(index);
      this.hasOpenText = false;
      this.calls.end(index);
      return;
    }
    if (type !== 'text') this.closeOther(block);
    else if (fields['citations'] !== undefined) this.emitPart({ type, citations: fields['citations'] });
  }

  private closeOther(block: OpenBlock): void {
    const { fields, json } = block;
    const input = json === '' ? undefined : tryParseJson(json);
    if (isJsonObject(input)) fields['input'] = input;
    if (block.isEmptyThinking()) return;
    this.reports ??= new BlockReports(this.out);
    this.reports.add({ ...fields });
    // An input that is not an object was cut off (`max_tokens`): the API refuses the call.
    if (json !== '' && !isJsonObject(input)) return;
    this.emitPart({ ...fields });
    for (const chunk of readResultChunks(fields)) this.emitOnce(chunk);
  }

  private appendToStreamed(block: OpenBlock, delta: JsonObject): void {
    const { type, text, thinking, signature } = delta;
    this.emitText('text', text);
    this.emitText('thinking', thinking);
    if (block.type === 'thinking') {
      block.append('thinking', thinking);
      block.append('signature', signature);
    }
    if (type !== 'text_delta' && type !== undefined && !blockTypesByDelta.has(type)) this.out.emit(unknownChunk(delta));
  }

  private appendToOther(block: OpenBlock, delta: JsonObject): void {
    this.emitText('thinking', delta['thinking']);
    if (delta['type'] === 'text_delta') {
      const isPart = !isKnownBlock(block.type);
      if (isPart && !block.hasText) this.separateText();
      this.emitText('text', delta['text']);
      if (!isPart) return;
      block.hasText = true;
    }
    // A delta of a compaction has the final values (SDK 1.12, BetaMessageStream).
    if (delta['type'] === 'compaction_delta') Object.assign(block.fields, omit(delta, 'type'));
    else block.appendAll(delta);
  }

  private addCitation({ type, fields }: OpenBlock, citation: JsonObject): void {
    // The API accepts only unchanged thinking.
    if (type !== 'thinking') ((fields['citations'] ??= []) as JsonObject[]).push(citation);
    this.emitOnce({ type: 'source', source: readCitedSource(citation) });
  }

  private separateText(): void {
    if (this.hasOpenText) this.emitPart({ type: 'text' });
  }

  private emitPart(data: JsonObject): void {
    this.hasOpenText = false;
    const part = { type: 'provider', provider: 'anthropic', data } as const;
    this.out.emit(isThinkingBlock(data['type']) ? part : { ...part, standsAlone: true });
  }

  private emitText(type: 'text' | 'thinking', text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    if (type === 'text') this.hasOpenText = true;
    this.out.emit({ type, text });
  }

  private emitOnce(chunk: SourceChunk | FileChunk): void {
    this.emittedOnce ??= new Set();
    emitOnce(this.out, this.emittedOnce, JSON.stringify(chunk), chunk);
  }
}

/** Some servers send the arguments here. `caller` and `toolset_name` have to be sent back. */
function readCallFields({ id, name, input, caller, toolset_name }: JsonObject): Parameters<CallFragments['start']>[1] {
  const args = isJsonObject(input) && Object.keys(input).length > 0 ? input : nonEmptyString(input);
  const data = omitUndefined({
    caller: isJsonObject(caller) && caller['type'] !== 'direct' ? caller : undefined,
    toolset_name: nonEmptyString(toolset_name),
  });
  const providerData = Object.keys(data).length > 0 ? { anthropic: data } : undefined;
  return omitUndefined({ id: nonEmptyString(id), name: nonEmptyString(name), arguments: args, providerData });
}

/** Their deltas are emitted at once, each by its own kind: some servers mix them. Another block is collected first. */
const streamedBlocks: ReadonlySet<string> = new Set(['text', 'thinking', 'tool_use']);

class OpenBlock {
  readonly isStreamed: boolean;
  /** What to send back: the citations of a text, nothing of a tool call, all fields of any other block. */
  readonly fields: Record<string, JsonValue> = {};
  json = '';
  hasText = false;

  constructor(
    readonly type: string,
    readonly index: unknown,
  ) {
    this.isStreamed = streamedBlocks.has(type);
  }

  appendAll(delta: JsonObject): void {
    for (const [name, value] of Object.entries(delta)) if (name !== 'type') this.append(name, value);
  }

  append(name: string, value: JsonValue | undefined): void {
    if (value === undefined || value === null) return;
    const previous = this.fields[name];
    this.fields[name] = typeof value === 'string' && typeof previous === 'string' ? previous + value : value;
  }

  isEmptyThinking(): boolean {
    const { thinking, signature } = this.fields;
    return (
      this.type === 'thinking' && nonEmptyString(thinking) === undefined && nonEmptyString(signature) === undefined
    );
  }
}
