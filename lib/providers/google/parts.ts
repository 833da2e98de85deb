import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import { createCallReader } from './calls.js';
import { own } from './providerData.js';

/** Turns the parts of one answer into chunks. */
export interface PartReader {
  read(part: JsonObject): void;
  /** The answer has ended; cut means that a call may be unfinished. */
  end(cut: boolean): void;
}

/** Fields that say something about a part and are no content. */
const about: ReadonlySet<string> = new Set([
  'thought',
  'thoughtSignature',
  'partMetadata',
  'videoMetadata',
  'mediaResolution',
]);

/**
 * Text, thoughts, calls and files; all else (`executableCode`, `codeExecutionResult`, calls of the API's own tools) is metadata, and kept, since the
 * API wants to see it again in its place.
 *
 * A signature goes back on the part that it came with, and no part with one may be joined with another (guide "Thought signatures"). Text is joined
 * in the message, so that a signed text says how much of it was signed; and what has no place in a message, a signed thought or code, travels on an
 * empty text. Empty texts alone are no answer: they wait for something that is, and are dropped without it.
 */
export function createPartReader(tell: (chunk: Chunk) => void): PartReader {
  let held: Chunk[] = [];
  let answered = false;
  const flush = () => {
    const waiting = held;
    held = [];
    for (const chunk of waiting) tell(chunk);
  };
  const say = (chunk: Chunk) => {
    answered = true;
    flush();
    tell(chunk);
  };
  const keep = (data: JsonObject) => held.push({ type: 'text', text: '', providerData: own(data) });
  const calls = createCallReader(say);

  const readText = (text: string, part: JsonObject, signature: string | undefined) => {
    if (part['thought'] === true) {
      if (text !== '') tell({ type: 'thinking', text });
      if (signature !== undefined) keep({ part });
    } else if (signature === undefined) {
      if (text !== '') say({ type: 'text', text });
    } else if (text === '') keep({ thoughtSignature: signature, signed: 0 });
    else say({ type: 'text', text, providerData: own({ thoughtSignature: signature, signed: text.length }) });
  };
  const readOther = (part: JsonObject, signature: string | undefined) => {
    const content = Object.entries(part).filter(([field]) => !about.has(field));
    if (content.length > 0) tell({ type: 'metadata', metadata: Object.fromEntries(content) });
    if (content.length > 0 || signature !== undefined) keep({ part });
  };

  return {
    read(part) {
      const signature = nonEmptyString(part['thoughtSignature']);
      const file = fileIn(part, signature);
      if (isJsonObject(part['functionCall'])) calls.read(part['functionCall'], signature);
      else if (typeof part['text'] === 'string') readText(part['text'], part, signature);
      else if (file && part['thought'] === true) tell({ type: 'metadata', metadata: { thoughtFile: { ...file } } });
      else if (file) say({ type: 'file', file });
      else readOther(part, signature);
    },
    end(cut) {
      calls.end(cut);
      if (answered) flush();
    },
  };
}

/** A file, as bytes or by address. */
function fileIn({ inlineData, fileData }: JsonObject, signature: string | undefined): FilePart | undefined {
  const signed = signature === undefined ? {} : { providerData: own({ thoughtSignature: signature }) };
  const file = objectOrEmpty(inlineData ?? fileData);
  const [data, url] = [nonEmptyString(file['data']), nonEmptyString(file['fileUri'])];
  const mediaType = nonEmptyString(file['mimeType']) ?? 'application/octet-stream';
  if (data !== undefined) return { type: 'file', mediaType, data, ...signed };
  return url === undefined ? undefined : { type: 'file', mediaType, url, ...signed };
}
