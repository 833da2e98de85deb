import { isJsonObject, nonEmptyString, objectOrEmpty, type JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import { words } from '../../core/words.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { CallDecoder } from './calls.js';
import type { PartReports } from './partReports.js';
import { provider, toProviderData } from './providerData.js';

const descriptiveFields: ReadonlySet<string> = /* @__PURE__ */ words(`
  thought thoughtSignature partMetadata videoMetadata mediaResolution mediaProcessing speechMetadata
`);

/** A signature goes back on its own part, never joined (guide "Thought signatures"), so provider parts carry it. */
export class PartDecoder {
  private hasSignedText = false;
  private calls: CallDecoder | undefined;

  constructor(
    private readonly emitter: ChunkReceiver,
    private readonly reports: PartReports,
  ) {}

  add(part: JsonObject): void {
    const { text, functionCall, thought } = part;
    const signature = nonEmptyString(part['thoughtSignature']);
    if (isJsonObject(functionCall)) (this.calls ??= new CallDecoder(this.emitter)).add(functionCall, signature);
    else if (typeof text === 'string' && thought === true) this.addThought(text, part, signature);
    else if (typeof text === 'string') this.addText(text, signature);
    else {
      const file = readFilePart(part, signature);
      if (file && thought === true) this.emitter.emit({ type: 'metadata', metadata: { thoughtFile: { ...file } } });
      else if (file) this.emitter.emit({ type: 'file', file });
      else this.addOther(part, signature);
    }
  }

  /** Whether all calls are complete. */
  end(truncated: boolean): boolean {
    this.calls?.end(truncated);
    return this.calls?.hasOpenCall !== true;
  }

  private addThought(text: string, part: JsonObject, signature: string | undefined): void {
    if (text !== '') this.emitter.emit({ type: 'thinking', text });
    if (signature !== undefined) this.emitProviderPart({ part });
  }

  private addText(text: string, thoughtSignature: string | undefined): void {
    if (text === '') {
      if (thoughtSignature !== undefined) this.emitProviderPart({ part: { text, thoughtSignature } });
      return;
    }
    if (thoughtSignature !== undefined) this.emitProviderPart({ thoughtSignature });
    else if (this.hasSignedText) this.emitProviderPart({});
    this.hasSignedText = thoughtSignature !== undefined;
    this.emitter.emit({ type: 'text', text });
  }

  private addOther(part: JsonObject, signature: string | undefined): void {
    const content = Object.entries(part).filter(([field]) => !descriptiveFields.has(field));
    if (content.length > 0) this.reports.add(Object.fromEntries(content));
    if (content.length > 0 || signature !== undefined) this.emitProviderPart({ part });
  }

  private emitProviderPart(data: JsonObject): void {
    this.emitter.emit({ type: 'provider', provider, data });
  }
}

function readFilePart({ inlineData, fileData }: JsonObject, signature: string | undefined): FilePart | undefined {
  const file = objectOrEmpty(inlineData ?? fileData);
  const [data, url] = [nonEmptyString(file['data']), nonEmptyString(file['fileUri'])];
  const mediaType = nonEmptyString(file['mimeType']) ?? 'application/octet-stream';
  const signatureData =
    signature === undefined ? {} : { providerData: toProviderData({ thoughtSignature: signature }) };
  if (data !== undefined) return { type: 'file', mediaType, data, ...signatureData };
  return url === undefined ? undefined : { type: 'file', mediaType, url, ...signatureData };
}
