import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { CallDecoder } from './calls.js';
import type { PartReports } from './partReports.js';
import { toProviderData } from './providerData.js';

/** The fields of a part that describe its content. All other fields are content. */
const descriptiveFields: ReadonlySet<string> = new Set([
  'thought',
  'thoughtSignature',
  'partMetadata',
  'videoMetadata',
  'mediaResolution',
  'mediaProcessing',
  'speechMetadata',
]);

/**
 * Turns the parts of one response (text, thoughts, calls, files and others) into chunks.
 *
 * Text, thoughts, calls and files become chunks of the corresponding types. Any other part (`executableCode`,
 * `codeExecutionResult`, calls of the API's own tools) becomes metadata. It is also stored in the message, because the
 * API requires it in the same position in later requests.
 *
 * A signature has to be sent back on the part that it arrived with, and a part with a signature must not be joined with
 * another part (guide "Thought signatures"). A message joins its texts, so a signed text stores the number of
 * characters at its end that were signed. A part that a message cannot represent (a signed thought, code) is stored in
 * the provider data of an empty text. Empty texts alone are not a reply, so they are held back until content arrives,
 * and dropped if no content arrives.
 */
export class PartDecoder implements ChunkReceiver {
  private hasContent = false;
  private heldChunks: Chunk[] | undefined;
  private calls: CallDecoder | undefined;

  /**
   * @param emitter Receives the chunks, in order. Content must not be emitted here, but with `emit`, which first emits
   * the empty texts that wait for it; thinking and metadata are not content.
   * @param reports Receives the other parts, and emits their metadata.
   */
  constructor(
    private readonly emitter: ChunkReceiver,
    private readonly reports: PartReports,
  ) {}

  add(part: JsonObject): void {
    const { text, functionCall, thought } = part;
    const signature = nonEmptyString(part['thoughtSignature']);
    if (isJsonObject(functionCall)) this.addCall(functionCall, signature);
    else if (typeof text === 'string' && thought === true) this.addThought(text, part, signature);
    else if (typeof text === 'string') this.addText(text, signature);
    else {
      const file = readFilePart(part, signature);
      if (file) this.addFile(file, thought === true);
      else this.addOther(part, signature);
    }
  }

  /**
   * Ends the response.
   *
   * @param truncated Whether the last call may be incomplete.
   */
  end(truncated: boolean): void {
    this.calls?.end(truncated);
    if (this.hasContent) this.emitHeld();
  }

  /** Emits content, after the empty texts that waited for it. */
  emit(chunk: Chunk): void {
    this.hasContent = true;
    this.emitHeld();
    this.emitter.emit(chunk);
  }

  private addCall(call: JsonObject, signature: string | undefined): void {
    this.calls ??= new CallDecoder(this);
    this.calls.add(call, signature);
  }

  private addThought(text: string, part: JsonObject, signature: string | undefined): void {
    if (text !== '') this.emitter.emit({ type: 'thinking', text });
    if (signature !== undefined) this.holdEmptyText({ part });
  }

  private addText(text: string, thoughtSignature: string | undefined): void {
    if (thoughtSignature === undefined) {
      if (text !== '') this.emit({ type: 'text', text });
      return;
    }
    const data = { thoughtSignature, signed: text.length };
    if (text === '') this.holdEmptyText(data);
    else this.emit({ type: 'text', text, providerData: toProviderData(data) });
  }

  private addFile(file: FilePart, isThought: boolean): void {
    if (isThought) this.emitter.emit({ type: 'metadata', metadata: { thoughtFile: { ...file } } });
    else this.emit({ type: 'file', file });
  }

  private addOther(part: JsonObject, signature: string | undefined): void {
    const content = Object.entries(part).filter(([field]) => !descriptiveFields.has(field));
    if (content.length > 0) this.reports.add(Object.fromEntries(content));
    if (content.length > 0 || signature !== undefined) this.holdEmptyText({ part });
  }

  private holdEmptyText(data: JsonObject): void {
    this.heldChunks ??= [];
    this.heldChunks.push({ type: 'text', text: '', providerData: toProviderData(data) });
  }

  private emitHeld(): void {
    const { heldChunks } = this;
    if (!heldChunks) return;
    this.heldChunks = undefined;
    for (const chunk of heldChunks) this.emitter.emit(chunk);
  }
}

/** Reads the file of a part, as bytes or as a URL; undefined if the part has no file. */
function readFilePart({ inlineData, fileData }: JsonObject, signature: string | undefined): FilePart | undefined {
  const file = objectOrEmpty(inlineData ?? fileData);
  const [data, url] = [nonEmptyString(file['data']), nonEmptyString(file['fileUri'])];
  const mediaType = nonEmptyString(file['mimeType']) ?? 'application/octet-stream';
  const signatureData =
    signature === undefined ? {} : { providerData: toProviderData({ thoughtSignature: signature }) };
  if (data !== undefined) return { type: 'file', mediaType, data, ...signatureData };
  return url === undefined ? undefined : { type: 'file', mediaType, url, ...signatureData };
}
