import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import { createCallDecoder } from './calls.js';
import { toProviderData } from './providerData.js';

/** Turns the parts of one response into chunks. */
export interface PartDecoder {
  add(part: JsonObject): void;
  /** The response has ended. Truncated means that its last call may be incomplete. */
  end(truncated: boolean): void;
}

/** The fields of a part that are not content. */
const attributes: ReadonlySet<string> = new Set([
  'thought',
  'thoughtSignature',
  'partMetadata',
  'videoMetadata',
  'mediaResolution',
]);

/**
 * Creates the decoder of the parts of one response.
 *
 * Text, thoughts, calls and files become chunks of their kind. Any other part (`executableCode`, `codeExecutionResult`,
 * calls of the API's own tools) becomes metadata, and is kept, since the API requires it again at its place.
 *
 * A signature is sent back on the part that it arrived with, and a part with a signature must not be joined with
 * another (guide "Thought signatures"). Text is joined in the message, so a signed text stores how many of its last
 * characters were signed. A part without a place in the message (a signed thought, code) is stored on an empty text.
 * Empty texts alone are not a reply: they are held until there is content, and dropped if there is none.
 *
 * @param emit Takes the chunks.
 */
export function createPartDecoder(emit: (chunk: Chunk) => void): PartDecoder {
  let held: Chunk[] = [];
  let hasContent = false;
  const emitHeld = () => {
    const chunks = held;
    held = [];
    for (const chunk of chunks) emit(chunk);
  };
  const emitContent = (chunk: Chunk) => {
    hasContent = true;
    if (held.length > 0) emitHeld();
    emit(chunk);
  };
  const hold = (data: JsonObject) => held.push({ type: 'text', text: '', providerData: toProviderData(data) });
  const calls = createCallDecoder(emitContent);

  const addThought = (text: string, part: JsonObject, signature: string | undefined) => {
    if (text !== '') emit({ type: 'thinking', text });
    if (signature !== undefined) hold({ part });
  };
  const addText = (text: string, thoughtSignature: string | undefined) => {
    if (thoughtSignature === undefined) {
      if (text !== '') emitContent({ type: 'text', text });
      return;
    }
    const data = { thoughtSignature, signed: text.length };
    if (text === '') hold(data);
    else emitContent({ type: 'text', text, providerData: toProviderData(data) });
  };
  const addFile = (file: FilePart, isThought: boolean) => {
    if (isThought) emit({ type: 'metadata', metadata: { thoughtFile: { ...file } } });
    else emitContent({ type: 'file', file });
  };
  const addOther = (part: JsonObject, signature: string | undefined) => {
    const content = Object.entries(part).filter(([field]) => !attributes.has(field));
    if (content.length > 0) emit({ type: 'metadata', metadata: Object.fromEntries(content) });
    if (content.length > 0 || signature !== undefined) hold({ part });
  };

  return {
    add(part) {
      const { text, functionCall, thought } = part;
      const signature = nonEmptyString(part['thoughtSignature']);
      if (isJsonObject(functionCall)) calls.add(functionCall, signature);
      else if (typeof text === 'string' && thought === true) addThought(text, part, signature);
      else if (typeof text === 'string') addText(text, signature);
      else {
        const file = fileIn(part, signature);
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

/** The file of a part, as bytes or by URL. */
function fileIn({ inlineData, fileData }: JsonObject, signature: string | undefined): FilePart | undefined {
  const file = objectOrEmpty(inlineData ?? fileData);
  const [data, url] = [nonEmptyString(file['data']), nonEmptyString(file['fileUri'])];
  const mediaType = nonEmptyString(file['mimeType']) ?? 'application/octet-stream';
  const signed = signature === undefined ? {} : { providerData: toProviderData({ thoughtSignature: signature }) };
  if (data !== undefined) return { type: 'file', mediaType, data, ...signed };
  return url === undefined ? undefined : { type: 'file', mediaType, url, ...signed };
}
