import type { Observable, OperatorFunction } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { ProtocolError } from '../core/errors.js';
import { isJsonObject, isTooDeepJson, type JsonObject, type JsonValue } from '../core/json/json.js';
import { isTextDeeperThan, limitDepth, MAX_JSON_DEPTH } from '../core/json/depth.js';
import type { Usage } from '../core/usage.js';
import { quoted, textError } from './errorDetails.js';
import { redactThrown, type Redaction } from './redact.js';
import { TemplateParser } from './templateParser.js';
import { untilFinish, type ChunkDecoder, type ChunkOutput } from './untilFinish.js';
import type { Decoder, Frame, FrameReader, FramingOptions, Wire } from './wire.js';

export interface DecodeOptions extends FramingOptions {
  readonly stop?: Observable<unknown> | undefined;
  /** The texts that an error must not reveal. Default: keys by their shape. */
  readonly redaction?: (() => Redaction) | undefined;
  /** Called at the first content, which metadata is not. */
  readonly onContent?: (() => void) | undefined;
}

/** Nothing after the terminal mark counts, not even errors, and all errors lose their secrets here. */
export function decodeFrames(wire: Wire, options: DecodeOptions): OperatorFunction<Uint8Array, Chunk> {
  return untilFinish(options.provider, (output) => new FrameDecoder(wire, options, output), options.stop);
}

class FrameDecoder implements ChunkDecoder<Uint8Array> {
  private hasContent = false;
  private readonly decoder: Decoder;
  private readonly parser = new TemplateParser();
  private readonly reader: FrameReader;

  constructor(
    wire: Wire,
    private readonly options: DecodeOptions,
    private readonly output: ChunkOutput,
  ) {
    this.decoder = wire.decode((chunk) => this.emit(chunk));
    const toError = (provider: string, text: string) => textError(provider, text, wire.contextLengthPatterns);
    this.reader = wire.framing.createReader({ ...options, toError, quote: quoted }, (frame) => this.readFrame(frame));
  }

  next(bytes: Uint8Array): void {
    this.reader.push(bytes);
  }

  end(): void {
    this.reader.end();
    if (!this.output.closed) this.decoder.end(false);
  }

  error(thrown: unknown): unknown {
    const { provider, redaction } = this.options;
    return redactThrown(thrown, redaction?.() ?? { provider });
  }

  usage(): Usage | undefined {
    return this.decoder.usage?.();
  }

  private emit(chunk: Chunk): void {
    if (!this.hasContent && isAnswerContent(chunk)) {
      this.hasContent = true;
      this.options.onContent?.();
    }
    this.output.emit(chunk);
  }

  private readFrame(frame: Frame): void {
    if (this.output.closed) return; // one read holds many frames
    if (frame.data === terminalMark) {
      this.endResponse(); // not parsed: the error took as long as parsing 20 frames
      return;
    }
    const json = this.parse(frame.data);
    if (isJsonObject(json)) {
      this.decode(json, frame.event);
      return;
    }
    const objects = Array.isArray(json) ? (json as unknown[]).filter(isJsonObject) : [];
    for (const object of objects) this.decode(object, frame.event);
    if (objects.length === 0) this.readLines(frame);
  }

  /** Some servers separate events by one line feed, or append the terminal mark to the last one. */
  private readLines({ data, event, unterminated }: Frame): void {
    // One by one: they may be millions.
    for (const [text] of data.matchAll(/[^\n]+/g)) {
      const line = text.trim();
      if (line === '' || isKeepAlive(line)) continue;
      const json = this.parse(line);
      if (line === terminalMark) this.endResponse();
      else if (isJsonObject(json)) this.decode(json, event);
      // JSON that was cut by the end of the body is an interruption, which `end` reports.
      else if (!unterminated || !/^[[{]/.test(line)) throw notJson(this.options.provider, data);
      if (this.output.closed) return;
    }
  }

  private decode(json: JsonObject, event: string | undefined): void {
    if (!this.output.closed && this.decoder.next(json, event) === 'end') this.endResponse();
  }

  private endResponse(): void {
    this.decoder.end(true);
    this.output.emit({ type: 'finish', reason: 'unspecified' }); // ignored if the decoder has emitted its own
  }

  /** Deeper levels are null: the arguments still exceed `MAX_JSON_DEPTH`, so that only the call is invalid. */
  private parse(text: string): JsonValue | undefined {
    try {
      const value = this.parser.parse(text) as JsonValue;
      const isTooDeep = text.length > MAX_FRAME_DEPTH && isTextDeeperThan(text, MAX_FRAME_DEPTH);
      return isTooDeep ? limitDepth(value, MAX_FRAME_DEPTH) : value;
    } catch {
      return undefined;
    }
  }
}

const terminalMark = '[DONE]';

/** `MAX_JSON_DEPTH`, and some levels around the arguments of a call. */
const MAX_FRAME_DEPTH = 532;

/** A chunk that only announces the response has no content. */
export function isAnswerContent(chunk: Chunk): boolean {
  switch (chunk.type) {
    case 'metadata':
    case 'provider':
    case 'retract':
    case 'retry':
      return false;
    case 'text':
    case 'thinking':
      return chunk.text !== '';
    default:
      return true;
  }
}

/** Some servers send comments as the data of an event. */
export const isKeepAlive = (line: string): boolean =>
  line.startsWith(':') || /^(?:ping|pong|keep-?alive|heartbeat)$/i.test(line);

function notJson(provider: string, data: string): ProtocolError {
  const what = isTooDeepJson(data)
    ? `is nested more than ${MAX_JSON_DEPTH} levels deep`
    : `is not a JSON object${quoted(data)}`;
  return new ProtocolError(
    provider,
    'frame',
    `${provider} sent an event that ${what}. Check baseUrl, and any proxy in between.`,
    data.slice(0, 1000),
  );
}
