import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import { createCallDecoder } from './calls.js';
import type { PartReports } from './partReports.js';
import { toProviderData } from './providerData.js';

/** Turns the parts of one response (text, thoughts, calls, files and others) into chunks. */
export interface PartDecoder {
  add(part: JsonObject): void;
  /**
   * Ends the response.
   *
   * @param truncated Whether the last call may be incomplete.
   */
  end(truncated: boolean): void;
}

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
 * Creates a decoder for the parts of one response.
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
 *
 * @param emit Receives the chunks, in order.
 * @param reports Receives the other parts, and emits their metadata.
 */
export function createPartDecoder(emit: (chunk: Chunk) => void, reports: PartReports): PartDecoder {
  let heldChunks: Chunk[] = [];
  let hasContent = false;
  const emitHeld = () => {
    const chunks = heldChunks;
    heldChunks = [];
    for (const chunk of chunks) emit(chunk);
  };
  const emitContent = (chunk: Chunk) => {
    hasContent = true;
    if (heldChunks.length > 0) emitHeld();
    emit(chunk);
  };
  const holdEmptyText = (data: JsonObject) =>
    heldChunks.push({ type: 'text', text: '', providerData: toProviderData(data) });
  const calls = createCallDecoder(emitContent);

  const addThought = (text: string, part: JsonObject, signature: string | undefined) => {
    if (text !== '') emit({ type: 'thinking', text });
    if (signature !== undefined) holdEmptyText({ part });
  };
  const addText = (text: string, thoughtSignature: string | undefined) => {
    if (thoughtSignature === undefined) {
      if (text !== '') emitContent({ type: 'text', text });
      return;
    }
    const data = { thoughtSignature, signed: text.length };
    if (text === '') holdEmptyText(data);
    else emitContent({ type: 'text', text, providerData: toProviderData(data) });
  };
  const addFile = (file: FilePart, isThought: boolean) => {
    if (isThought) emit({ type: 'metadata', metadata: { thoughtFile: { ...file } } });
    else emitContent({ type: 'file', file });
  };
  const addOther = (part: JsonObject, signature: string | undefined) => {
    const content = Object.entries(part).filter(([field]) => !descriptiveFields.has(field));
    if (content.length > 0) reports.add(Object.fromEntries(content));
    if (content.length > 0 || signature !== undefined) holdEmptyText({ part });
  };

  return {
    add(part) {
      const { text, functionCall, thought } = part;
      const signature = nonEmptyString(part['thoughtSignature']);
      if (isJsonObject(functionCall)) calls.add(functionCall, signature);
      else if (typeof text === 'string' && thought === true) addThought(text, part, signature);
      else if (typeof text === 'string') addText(text, signature);
      else {
        const file = readFilePart(part, signature);
        if (file) addFile(file, thought === true);
        else addOther(part, signature);
      }
    },
    end(truncated) {
      calls.end(truncated);
      if (hasContent) emitHeld();
    },
  };
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
