import type { Chunk } from '../../core/chunk.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { createAudioCollector } from './audio.js';
import { createCallReader } from './calls.js';
import { readSegments, readReasoningDetails, readPlainReasoning, readText } from './content.js';
import type { TextKind } from './content.js';
import { createReplayCollector } from './replay.js';
import { readFiles, readSources } from './sources.js';
import { createUnknownCollector } from './unknown.js';

/** Converts the deltas and messages of one response to chunks. Content that arrives twice is emitted once. */
export interface DeltaDecoder {
  /** Emits the content of a delta. */
  delta(delta: JsonObject): void;
  /**
   * Emits the new content of a message. A message repeats the complete response so far; what the deltas contained is
   * not emitted again.
   */
  message(message: JsonObject): void;
  /** Keeps the unknown fields of a frame without a choice, for the metadata. */
  readonly addUnknown: (frame: JsonObject) => void;
  /** Emits a source, unless it was emitted before. */
  readonly emitSource: (source: SourcePart) => void;
  /** The data to send back with the message in the next request; undefined if there is none. */
  providerData(): JsonObject | undefined;
  /** Whether the model refused to answer. */
  readonly hasRefusal: boolean;
  /** Whether the only calls of the response have an unknown type, so that the client cannot answer them. */
  readonly hasOnlyUnknownCalls: boolean;
  /**
   * Emits what is complete only at the end: the audio, the ends of free-form calls, and unknown fields as metadata.
   *
   * @param isTruncated Whether the response is incomplete. Its free-form calls are not ended then.
   */
  end(isTruncated: boolean): void;
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
  const audio = createAudioCollector();
  const unknown = createUnknownCollector();
  let hasCalls = false;
  let hasUnknownCalls = false;
  let hasPlainReasoning = false;

  const calls = createCallReader(provider, (call) => {
    hasUnknownCalls = true;
    emit({ type: 'metadata', metadata: { [provider]: { toolCall: call } } });
  });

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
    emittedKeys.add(`${key}\nundefined`); // the same source without its passage would add nothing
  };
  const emitFragments = (delta: JsonObject) => {
    for (const fragment of calls.read(delta)) {
      hasCalls = true;
      emit(fragment);
    }
  };

  /** Reads `reasoning_details` only if there is no plain reasoning: they repeat it, with signatures. */
  const readReasoning = (delta: JsonObject) => {
    const text = readPlainReasoning(delta);
    hasPlainReasoning ||= text !== '';
    return hasPlainReasoning ? text : readReasoningDetails(delta);
  };
  /**
   * Visits the texts of a delta or message, in order. Thinking parts are skipped if a reasoning field contains their
   * text.
   */
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
      unknown.addDelta(delta);
      forEachText(delta, emitText);
      emitText('text', audio.add(delta));
      readFiles(delta).forEach(emitFile);
      readSources(delta).forEach(emitSource);
      emitFragments(delta);
    },
    message(message) {
      if (texts.thinking.length === 0 && replay.isEmpty) replay.add(message, 0);
      const messageTexts: Record<TextKind, string> = { thinking: '', text: '', refusal: '' };
      unknown.addDelta(message);
      forEachText(message, (kind, text) => {
        messageTexts[kind] += text;
      });
      if (audio.isEmpty) messageTexts.text += audio.add(message);
      for (const kind of ['thinking', 'text', 'refusal'] as const) {
        if (messageTexts[kind].length <= texts[kind].length) continue; // the emitted texts need not be joined
        const emittedText = texts[kind].toString();
        if (messageTexts[kind].startsWith(emittedText)) emitText(kind, messageTexts[kind].slice(emittedText.length));
      }
      readFiles(message).forEach(emitFile);
      readSources(message).forEach(emitSource);
      if (!hasCalls) emitFragments(message);
    },
    addUnknown: unknown.addFrame,
    emitSource,
    providerData: () => replay.data(hasCalls),
    get hasRefusal() {
      return texts.refusal.length > 0;
    },
    get hasOnlyUnknownCalls() {
      return hasUnknownCalls && !hasCalls;
    },
    end(isTruncated) {
      if (!isTruncated) calls.end().forEach(emit);
      const file = audio.file();
      if (file) emitFile(file);
      const data = unknown.data();
      if (data) emit({ type: 'metadata', metadata: { [provider]: data } });
    },
  };
}

/**
 * The only field of a delta, besides `role`, that is not empty; undefined if there are several or none. Nearly every
 * delta has only one: checking this first saves a third of the time to decode a delta (measured).
 */
function onlyField(delta: JsonObject): string | undefined {
  let onlyName: string | undefined;
  for (const field in delta) {
    const value = delta[field];
    if (field === 'role' || value === null || value === '') continue;
    if (onlyName !== undefined) return undefined;
    onlyName = field;
  }
  return onlyName;
}
