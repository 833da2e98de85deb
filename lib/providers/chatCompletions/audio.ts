import { nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';

/** `ChatCompletionChunk.Choice.Delta.Audio` (SDK openai 7.57). Each fragment is encoded by itself: bytes are joined. */
export class AudioCollector {
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
