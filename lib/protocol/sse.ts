import { ProtocolError } from '../core/errors.js';
import { nonEmptyString } from '../core/json/json.js';
import { StringBuilder } from '../core/stringBuilder.js';
import { LineReader } from './lineReader.js';
import type { Frame, FrameReader, Framing, FramingOptions } from './wire.js';

const knownFields = ['data', 'event', 'id', 'retry'];

const SPACE = 32;

/** How much of the text outside of events is kept, to find an error in it. */
const STRAY_TEXT_LIMIT = 65_536;

/** Server-sent events. */
export const sse: Framing = { mediaType: 'text/event-stream', createReader: createSseReader };

/** Lines end in LF, CRLF or CR. The last event may be `unterminated`; `toError` reads text outside of events. */
export function createSseReader(options: FramingOptions, emit: (frame: Frame) => void): FrameReader {
  return new SseReader(options, emit);
}

class SseReader extends LineReader {
  private data: string | undefined;
  /** The lines after the first one: appended to a string, each took 35 bytes (measured). */
  private moreData: StringBuilder | undefined;
  private event: string | undefined;
  private id: string | undefined;
  private events = 0;
  private strayText = '';

  override end(): void {
    super.end();
    this.endEvent();
    const error = this.strayTextError();
    if (error) throw error;
  }

  protected readLine(text: string, start: number, end: number): void {
    if (start === end) this.endEvent();
    else if (text.startsWith('data: ', start)) this.addData(text.slice(start + 6, end));
    else if (text.startsWith('event: ', start)) this.event = nonEmptyString(text.slice(start + 7, end));
    else this.readField(text.slice(start, end));
  }

  private readField(line: string): void {
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line.charCodeAt(colon + 1) === SPACE ? 2 : 1));
    switch (field) {
      case 'data':
        this.addData(value);
        break;
      case 'event':
        this.event = nonEmptyString(value);
        break;
      case 'id':
        if (!value.includes('\0')) this.id = value;
        break;
      case 'retry':
      case '': // a comment
        break;
      default:
        this.addStrayText(line);
    }
  }

  private addData(value: string): void {
    if (this.data === undefined) this.data = value;
    else (this.moreData ??= new StringBuilder()).add(`\n${value}`);
  }

  protected override openLength(): number {
    return (this.data?.length ?? 0) + (this.moreData?.length ?? 0);
  }

  private endEvent(): void {
    const { data: first, moreData, event, id } = this;
    this.data = this.moreData = this.event = this.id = undefined;
    if (first === undefined) return;
    const data = moreData ? first + moreData.toString() : first;
    this.events += 1;
    this.checkLength(data.length, data);
    if (!data.startsWith('{') && data.trim() === '') return;
    this.emit(this.ended ? { data, event, id, unterminated: true } : { data, event, id });
  }

  private addStrayText(line: string): void {
    if (this.strayText.length > STRAY_TEXT_LIMIT) return;
    const isCutField = this.ended && knownFields.some((field) => field.startsWith(line));
    if (!isCutField) this.strayText += `${line}\n`;
  }

  /** An error page or document, or something else altogether: servers send these with status 200. */
  private strayTextError(): Error | undefined {
    const { strayText: text } = this;
    const { provider, toError, quote } = this.options;
    if (text.trim() === '') return undefined;
    const error = toError?.(provider, text);
    if (error || this.events > 0) return error;
    return new ProtocolError(
      provider,
      'frame',
      `${provider} sent no server-sent events, but something else${quote?.(text) ?? ''}. ` +
        'Check baseUrl, and any proxy in between.',
      text,
    );
  }
}
