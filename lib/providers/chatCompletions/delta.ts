import { isJsonObject, nonEmptyString, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { emitOnce, type ChunkReceiver } from '../shared/chunkEmitter.js';
import { CallReader } from './calls.js';
import { readSegments, readPlainReasoning, readText, type TextKind, type TextSegment } from './content.js';
import type { Dialect, ReplayCollector } from './dialect.js';
import { readAnnotations } from './sources.js';
import { isEmpty, UnknownCollector } from './unknown.js';

/** Content that arrives twice is emitted once. What a response of only text does not need is created later. */
export class DeltaDecoder {
  private readonly texts: Partial<Record<TextKind, StringBuilder>> = {};
  private readonly calls: CallReader;
  private readonly unknown = new UnknownCollector();
  private replay: ReplayCollector | undefined;
  private audio: AudioCollector | undefined;
  private emittedKeys: Set<string> | undefined;
  private hasPlainReasoning = false;

  constructor(
    private readonly dialect: Pick<Dialect, 'provider' | 'otherContent' | 'replay' | 'wholeCalls'>,
    private readonly out: ChunkReceiver,
  ) {
    this.calls = new CallReader(dialect.provider, out, dialect.wholeCalls);
  }

  get hasRefusal(): boolean {
    return this.texts.refusal !== undefined;
  }

  get hasOnlyUnknownCalls(): boolean {
    return this.calls.hasUnknownCalls && !this.calls.hasCalls;
  }

  delta(delta: JsonObject): void {
    const { content } = delta;
    const field = onlyField(delta);
    if (field === null) return;
    if (field === 'tool_calls') {
      this.replay?.addPart();
      this.calls.read(delta);
    } else if (field === 'content' && typeof content === 'string') {
      this.replay?.addPart();
      this.emitText('text', content);
    } else this.readDelta(delta);
  }

  /** A message repeats the response so far; what the deltas contained is not emitted again. */
  message(message: JsonObject): void {
    const replay = this.collector();
    const addsReasoning = !this.texts.thinking && replay?.hasNoReasoning; // the deltas had none
    if (addsReasoning) replay.add(message);
    this.unknown.addDelta(message);
    const texts: Record<TextKind, string> = { thinking: '', text: '', refusal: '' };
    for (const { kind, text, part } of this.readTexts(message)) {
      if (addsReasoning && kind === 'thinking') replay.addPart(part);
      texts[kind] += text;
    }
    replay?.addPart();
    if (!this.audio || this.audio.isEmpty) texts.text += this.readAudio(message);
    for (const kind of ['thinking', 'text', 'refusal'] as const) {
      const emitted = this.texts[kind];
      if (texts[kind].length <= (emitted?.length ?? 0)) continue; // nothing new: the emitted text need not be joined
      const emittedText = emitted?.toString() ?? '';
      // A message that differs from what was emitted is ignored: that cannot be taken back.
      if (texts[kind].startsWith(emittedText)) this.emitText(kind, texts[kind].slice(emittedText.length));
    }
    this.emitFilesAndSources(message);
    if (!this.calls.hasCalls) this.calls.read(message);
  }

  addUnknown(frame: JsonObject): void {
    this.unknown.addFrame(frame);
  }

  emitProgress(fields: JsonObject): void {
    this.addUnknown(fields);
    this.out.emit({ type: 'metadata', metadata: { [this.dialect.provider]: { frame: fields } } });
  }

  addLogprobs(logprobs: JsonValue): void {
    this.unknown.addLogprobs(logprobs);
  }

  emitSource(source: SourcePart): void {
    const key = `source ${source.url ?? source.id}`;
    const keyWithText = source.text === undefined ? key : `${key}\n${source.text}`;
    this.emittedKeys ??= new Set();
    emitOnce(this.out, this.emittedKeys, keyWithText, { type: 'source', source });
    this.emittedKeys.add(key); // the same source without its passage would add nothing
  }

  end(isComplete: boolean): void {
    if (isComplete) this.calls.end();
    const file = this.audio?.file();
    if (file) this.emitFile(file);
    const { data } = this.unknown;
    if (data) this.out.emit({ type: 'metadata', metadata: { [this.dialect.provider]: data } });
    this.replay?.end(this.calls.hasCalls);
  }

  private collector(): ReplayCollector | undefined {
    return (this.replay ??= this.dialect.replay?.createCollector(this.dialect.provider, this.out));
  }

  private readDelta(delta: JsonObject): void {
    const replay = this.collector();
    replay?.add(delta);
    this.unknown.addDelta(delta);
    for (const { kind, text, part } of this.readTexts(delta)) {
      if (part !== undefined || text !== '') replay?.addPart(part);
      this.emitText(kind, text);
    }
    this.emitText('text', this.readAudio(delta));
    this.emitFilesAndSources(delta);
    this.calls.read(delta);
  }

  /** Thinking parts are skipped if a reasoning field contains their text. */
  private *readTexts(delta: JsonObject): Iterable<TextSegment> {
    const { content } = delta;
    const reasoning = this.readReasoning(delta);
    yield { kind: 'thinking', text: reasoning };
    if (typeof content === 'string') yield { kind: 'text', text: content };
    else
      for (const segment of readSegments(content))
        yield segment.kind === 'thinking' && reasoning !== '' ? { ...segment, text: '' } : segment;
    yield { kind: 'refusal', text: readText(delta['refusal']) };
  }

  /** `reasoning_details` repeat the plain reasoning, with signatures. */
  private readReasoning(delta: JsonObject): string {
    const text = readPlainReasoning(delta);
    this.hasPlainReasoning ||= text !== '';
    return this.hasPlainReasoning ? text : (this.dialect.otherContent?.readReasoningDetails(delta) ?? '');
  }

  private readAudio({ audio }: JsonObject): string {
    if (!isJsonObject(audio)) return '';
    this.audio ??= new AudioCollector();
    return this.audio.add(audio);
  }

  private emitText(kind: TextKind, text: string): void {
    if (text === '') return;
    (this.texts[kind] ??= new StringBuilder()).add(text);
    this.out.emit({ type: kind === 'thinking' ? 'thinking' : 'text', text });
  }

  private emitFilesAndSources(delta: JsonObject): void {
    const { otherContent } = this.dialect;
    otherContent?.readFiles(delta).forEach((file) => this.emitFile(file));
    otherContent?.readReferences(delta).forEach((source) => this.emitSource(source));
    for (const source of readAnnotations(delta)) this.emitSource(source);
  }

  private emitFile(file: FilePart): void {
    this.emittedKeys ??= new Set();
    emitOnce(this.out, this.emittedKeys, `file ${file.data ?? file.url}`, { type: 'file', file });
  }
}

/** Null if none, undefined if several. Nearly every delta has at most one: saves a third of the decoding (measured). */
function onlyField(delta: JsonObject): string | null | undefined {
  let onlyName: string | null = null;
  for (const field in delta) {
    if (field === 'role' || isEmpty(delta[field])) continue;
    if (onlyName !== null) return undefined;
    onlyName = field;
  }
  return onlyName;
}

/** `ChatCompletionChunk.Choice.Delta.Audio` (SDK openai 7.57). Each fragment is encoded by itself: bytes are joined. */
class AudioCollector {
  private readonly fragments: string[] = [];

  get isEmpty(): boolean {
    return this.fragments.length === 0;
  }

  add(audio: JsonObject): string {
    const data = nonEmptyString(audio['data']);
    if (data !== undefined) this.fragments.push(data);
    return nonEmptyString(audio['transcript']) ?? '';
  }

  file(): FilePart | undefined {
    const [first] = this.fragments;
    if (first === undefined) return undefined;
    return { type: 'file', mediaType: audioMediaType(first), data: joinBase64(this.fragments) };
  }
}

/** Padding is at the end of each fragment whose length is not a multiple of three bytes. */
function joinBase64(fragments: readonly string[]): string {
  const isAligned = fragments.slice(0, -1).every((fragment) => fragment.length % 4 === 0 && !fragment.endsWith('='));
  return isAligned ? fragments.join('') : btoa(fragments.map((fragment) => atob(fragment)).join(''));
}

/** By the first bytes, in base64 (`RIFF`, `ID3` ...). OpenAI streams `pcm16` (24 kHz, mono, little-endian). */
const signatures: readonly (readonly [signature: string, mediaType: string])[] = [
  ['UklGR', 'audio/wav'],
  ['SUQz', 'audio/mpeg'],
  ['ZkxhQ', 'audio/flac'],
  ['T2dnU', 'audio/ogg'],
];

const audioMediaType = (data: string): string =>
  signatures.find(([signature]) => data.startsWith(signature))?.[1] ?? 'audio/pcm';
