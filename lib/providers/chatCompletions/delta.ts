import type { Chunk } from '../../core/chunk.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { readFragments } from './calls.js';
import { readSegments, readReasoningDetails, readPlainReasoning, readText } from './content.js';
import type { TextKind } from './content.js';
import { createReplayCollector } from './replay.js';
import { readFiles, readSources } from './sources.js';

/** Turns the deltas and messages of one response into chunks, each content once. */
export interface DeltaDecoder {
  /** Emits what a delta adds to the response. */
  delta(delta: JsonObject): void;
  /** Emits what a message adds to the deltas: it holds the complete response so far, so only its new content is emitted. */
  message(message: JsonObject): void;
  /** Emits a source, unless it was emitted before. */
  readonly emitSource: (source: SourcePart) => void;
  /** The data that the provider requires with the message in the next request; undefined when there is none. */
  providerData(): JsonObject | undefined;
  /** Whether the model refused to answer. */
  readonly hasRefusal: boolean;
}

/**
 * Creates the decoder of one response's deltas.
 *
 * @param provider The key of the provider data.
 * @param emit Receives the chunks, in order.
 */
export function createDeltaDecoder(provider: string, emit: (chunk: Chunk) => void): DeltaDecoder {
  const texts: Record<TextKind, StringBuilder> = {
    text: new StringBuilder(),
    thinking: new StringBuilder(),
    refusal: new StringBuilder(),
  };
  const emittedKeys = new Set<string>();
  const replay = createReplayCollector();
  let hasCalls = false;
  let hasPlainReasoning = false;

  const emitText = (kind: TextKind, text: string) => {
    if (text === '') return;
    texts[kind].add(text);
    emit({ type: kind === 'thinking' ? 'thinking' : 'text', text });
  };
  const emitOnce = (key: string, chunk: Chunk) => {
    if (emittedKeys.has(key)) return;
    emittedKeys.add(key);
    emit(chunk);
  };
  const emitFile = (file: FilePart) => emitOnce(`file ${file.data ?? file.url}`, { type: 'file', file });
  const emitSource = (source: SourcePart) => {
    const key = `source ${source.url ?? source.id}`;
    emitOnce(`${key}\n${source.text}`, { type: 'source', source });
    emittedKeys.add(`${key}\nundefined`); // the same source without its passage adds nothing
  };
  const emitFragments = (delta: JsonObject) => {
    for (const fragment of readFragments(delta, provider)) {
      hasCalls = true;
      emit(fragment);
    }
  };

  /** `reasoning_details` repeat the plain reasoning, with its signatures: they are read only where there is no plain reasoning. */
  const readReasoning = (delta: JsonObject) => {
    const text = readPlainReasoning(delta);
    hasPlainReasoning ||= text !== '';
    return hasPlainReasoning ? text : readReasoningDetails(delta);
  };
  /** Visits the texts of a delta or message in order. Thinking parts are skipped where a reasoning field has the same text. */
  const forEachText = (delta: JsonObject, visit: (kind: TextKind, text: string) => void) => {
    const { content } = delta;
    const reasoning = readReasoning(delta);
    visit('thinking', reasoning);
    if (typeof content === 'string') visit('text', content);
    else
      for (const { kind, text } of readSegments(content))
        if (kind !== 'thinking' || reasoning === '') visit(kind, text);
    visit('refusal', readText(delta['refusal']));
  };

  return {
    delta(delta) {
      const { content } = delta;
      const field = onlyField(delta);
      if (field === 'tool_calls') {
        emitFragments(delta);
        return;
      }
      if (field === 'content' && typeof content === 'string') {
        emitText('text', content);
        return;
      }
      replay.add(delta, texts.text.length);
      forEachText(delta, emitText);
      readFiles(delta).forEach(emitFile);
      readSources(delta).forEach(emitSource);
      emitFragments(delta);
    },
    message(message) {
      if (texts.thinking.length === 0 && replay.isEmpty) replay.add(message, 0);
      const complete: Record<TextKind, string> = { thinking: '', text: '', refusal: '' };
      forEachText(message, (kind, text) => {
        complete[kind] += text;
      });
      for (const kind of ['thinking', 'text', 'refusal'] as const) {
        const emitted = texts[kind].toString();
        if (complete[kind].startsWith(emitted)) emitText(kind, complete[kind].slice(emitted.length));
      }
      readFiles(message).forEach(emitFile);
      readSources(message).forEach(emitSource);
      if (!hasCalls) emitFragments(message);
    },
    emitSource,
    providerData: () => replay.data(hasCalls),
    get hasRefusal() {
      return texts.refusal.length > 0;
    },
  };
}

/**
 * The only field of a delta that is not empty; undefined when there are several. Nearly every delta has one: checking this
 * first saves a third of the time that a delta takes here.
 */
function onlyField(delta: JsonObject): string | undefined {
  let only: string | undefined;
  for (const field in delta) {
    const value = delta[field];
    if (field === 'role' || value === null || value === '') continue;
    if (only !== undefined) return undefined;
    only = field;
  }
  return only;
}
