import { tryParseJson } from '../core/json/json.js';
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage, ParseError } from 'eventsource-parser';
import { ProtocolError } from '../core/errors.js';
import { excerpt, providerError, hasErrorField } from './errorDetails.js';
import type { Frame, FrameReader } from './wire.js';

/** How frames are cut out of a body. */
export interface FramingOptions {
  /** The model's provider, for errors. */
  readonly provider: string;
  /** The largest event taken, in characters of its text (bytes, for ASCII). Default: 16 Mi. Base64 images come as one event. */
  readonly maxEventBytes?: number | undefined;
}

/** The default of `maxEventBytes`. */
export const defaultMaxEventBytes = 16_777_216;

const knownFields = ['data', 'event', 'id', 'retry'];

/**
 * How many bytes are decoded at a time. A read holds up to 64 KB when the reader is behind, and as text that is a large object to the engine, kept whole by the
 * smallest slice of it: in portions, 200 concurrent answers were measured at a fifth less CPU time.
 */
const portion = 4_096;

/** How much text outside of any event is kept, to find an error in it. */
const strayLimit = 65_536;

/**
 * Cuts a body into server-sent events.
 *
 * UTF-8 may be cut anywhere; lines end in LF, CRLF or CR; a byte order mark is dropped. Comments, unknown fields and events without data
 * are skipped. An event that the end of the body cuts off comes out as `unterminated`.
 *
 * @param options The provider's name and the largest event.
 * @param emit Takes the frames.
 * @returns The reader of one body. It throws ProtocolError `event_too_large`; at the end of a body without any event ProtocolError `frame`; and
 * ProviderError when what stands outside the events is JSON with an `error`.
 */
export function sse(
  { provider, maxEventBytes = defaultMaxEventBytes }: FramingOptions,
  emit: (frame: Frame) => void,
): FrameReader {
  const decoder = new TextDecoder();
  const newlines = lineFeeds();
  let ending = false;
  let events = 0;
  let stray = '';
  const onError = (error: ParseError) => {
    if (error.type === 'max-buffer-size-exceeded') throw eventTooLarge(provider, maxEventBytes, '');
    if (error.type !== 'unknown-field' || stray.length > strayLimit) return;
    const line = error.line ?? '';
    if (!ending || !knownFields.some((field) => field.startsWith(line))) stray += `${line}\n`; // else: a field cut off by the end
  };
  const onEvent = ({ data, event }: EventSourceMessage) => {
    events += 1;
    if (data.length > maxEventBytes) throw eventTooLarge(provider, maxEventBytes, data);
    if (data.startsWith('{') || data.trim() !== '')
      emit(ending ? { data, event, unterminated: true } : { data, event });
  };
  // The parser gathers a line that comes in pieces before it searches it, so the cost is linear; its limit covers the lines of one event together,
  // with the fields' names and what else stands between.
  const parser = createParser({ maxBufferSize: maxEventBytes + portion, onEvent, onError });
  const take = (bytes: Uint8Array) => parser.feed(newlines(decoder.decode(bytes, { stream: true })));
  return {
    push(bytes) {
      if (bytes.byteLength <= portion) take(bytes);
      else for (let at = 0; at < bytes.byteLength; at += portion) take(bytes.subarray(at, at + portion));
    },
    end() {
      parser.feed(newlines(decoder.decode()));
      ending = true;
      parser.feed('\n\n');
      const failure = outsideEvents(provider, stray, events);
      if (failure) throw failure;
    },
  };
}

/**
 * Makes every line end in LF, at once: the parser by itself waits after a CR for what follows, and a server that ends its lines so would
 * have each of its events delivered only with the next.
 */
function lineFeeds(): (text: string) => string {
  let afterReturn = false;
  return (text) => {
    if (text === '') return text;
    const rest = afterReturn && text.startsWith('\n') ? text.slice(1) : text;
    afterReturn = text.endsWith('\r');
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  };
}

/** What lines say that belong to no event: an error page or document, or a body that is something else altogether. Servers do send these with status 200. */
function outsideEvents(provider: string, stray: string, events: number): Error | undefined {
  const json = stray === '' ? undefined : (tryParseJson(stray) ?? errorField(stray));
  if (hasErrorField(json)) return providerError(provider, json);
  if (stray.trim() === '' || events > 0) return undefined;
  const what = `${provider} sent no server-sent events but "${excerpt(stray)}".`;
  return new ProtocolError(provider, 'frame', `${what} Check baseUrl, and any proxy between.`, stray);
}

/** An error in a field of its own, `error: {...}`, as llama.cpp wrote it until September 2025 (ggml-org/llama.cpp#16109). */
function errorField(stray: string): unknown {
  const value = /^error: ?(.+)$/m.exec(stray)?.[1];
  return value === undefined ? undefined : { error: tryParseJson(value) ?? value };
}

/** The error for an event beyond the limit. */
export function eventTooLarge(provider: string, limit: number, data: string): ProtocolError {
  return new ProtocolError(
    provider,
    'event_too_large',
    `${provider} sent an event of more than ${limit} characters. Raise maxEventBytes if that is expected.`,
    data.slice(0, 200),
  );
}
