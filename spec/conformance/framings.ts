import { isRecord } from '../../lib/core/json/json.js';
import type { Body } from './case.js';

/** A body, and what is special about its framing. */
export interface Framed {
  readonly name: string;
  readonly writes: readonly string[];
}

/** The `type` that a payload calls itself, by which most protocols name their events. */
export function typeOf(payload: string): string | undefined {
  try {
    const value: unknown = JSON.parse(payload);
    return isRecord(value) && typeof value['type'] === 'string' ? value['type'] : undefined;
  } catch {
    return undefined; // [DONE], or a payload that is no JSON on purpose
  }
}

/**
 * The framings that a body can have without saying anything else; its own first.
 *
 * What is a matter of the event-stream standard (WHATWG HTML, "Server-sent events") or of line-delimited JSON is varied, and nothing else. A body that is not made
 * of whole events alone is left as it is: its framing may be the very point.
 */
export function framingsOf({ framing, writes, optionalDone }: Body): readonly Framed[] {
  const own = { name: 'its own framing', writes };
  const text = writes.join('').replace(/\r\n?/g, '\n');
  if (text === '' || !(framing === 'sse' ? isEventStream(text) : text.endsWith('\n'))) return [own];
  const varied =
    framing === 'sse' ? eventStreams(pieces(text, /(?<=\n\n)/), optionalDone) : lineStreams(pieces(text, /(?<=\n)/));
  const seen = new Set([writes.join('')]);
  return [own, ...varied.filter((one) => !seen.has(one.writes.join('')) && seen.add(one.writes.join('')))];
}

const pieces = (text: string, at: RegExp) => text.split(at).filter((piece) => piece.trim() !== '');

/** Whether a text is made of whole events: known fields and comments, and an empty line at the end. */
function isEventStream(text: string): boolean {
  return (
    text.endsWith('\n\n') && text.split('\n').every((line) => line === '' || /^(data|event|id|retry)?:/.test(line))
  );
}

function eventStreams(writes: readonly string[], optionalDone: boolean): readonly Framed[] {
  const each = (change: (line: string) => string) => writes.map((write) => write.split('\n').map(change).join('\n'));
  const ends = (end: string, some = writes) => some.map((write) => write.replaceAll('\n', end));
  const commented = [
    ': keep-alive\n\n',
    ...writes.flatMap((write, at) => [`: between ${at}\n`, `${write}:\n\n`]),
    ': bye\n\n',
  ];
  const unspaced = each((line) => line.replace(/^(data|event): (?! )/, '$1:'));
  const inLines = each((line) => (line.startsWith('data: ') ? dataLines(line.slice('data: '.length)) : line));
  const fields = writes.map((write, at) =>
    write.startsWith(':') ? write : `${at === 0 ? 'retry: 3000\n' : ''}id: ${at}\n${write}`,
  );
  return [
    { name: 'LF', writes },
    { name: 'CRLF', writes: ends('\r\n') },
    { name: 'CR', writes: ends('\r') },
    { name: 'LF and CRLF mixed', writes: mixed(writes) },
    ...eventNames(writes),
    { name: 'comments', writes: commented },
    { name: 'a byte order mark', writes: marked(writes) },
    { name: 'no space after the colon', writes: unspaced },
    { name: 'data in several lines', writes: inLines },
    { name: 'id and retry fields', writes: fields },
    ...(optionalDone ? done(writes) : []),
    {
      name: 'a byte order mark, comments, CRLF, no space',
      writes: marked(ends('\r\n', [': hello\n\n', ...unspaced, ':\n\n'])),
    },
  ];
}

/** Every other line ends in CRLF. */
function mixed(writes: readonly string[]): readonly string[] {
  let line = 0;
  return writes.map((write) => write.replace(/\n/g, () => (line++ % 2 === 0 ? '\r\n' : '\n')));
}

const marked = ([first = '', ...rest]: readonly string[]) => [`\u{feff}${first}`, ...rest];

/** Without the names of events where they say only what the payloads say too; with names where there are none. */
function eventNames(writes: readonly string[]): readonly Framed[] {
  const events = writes
    .join('')
    .split('\n\n')
    .filter((event) => event.includes('data:'));
  const named = events.filter((event) => /^event:/m.test(event));
  const redundant = events.every((event) => {
    const name = /^event: ?(.*)$/m.exec(event)?.[1];
    return name === undefined || name === typeOf(/^data: ?(.*)$/m.exec(event)?.[1] ?? '');
  });
  if (named.length > 0)
    return redundant
      ? [{ name: 'no event names', writes: writes.map((write) => write.replace(/^event:.*\n/gm, '')) }]
      : [];
  const name = (data: string) => `event: ${typeOf(data) ?? 'message'}\ndata: ${data}`;
  return [
    {
      name: 'event names',
      writes: writes.map((write) => write.replace(/^data: ?(.*)$/gm, (_, data: string) => name(data))),
    },
  ];
}

/** `[DONE]`, where it may be left out (the finish reason has come) or added (gateways do). */
function done(writes: readonly string[]): readonly Framed[] {
  const marks = writes.findIndex((write) => /^data: ?\[DONE\]$/m.test(write));
  return [
    marks === -1
      ? { name: '[DONE] at the end', writes: [...writes, 'data: [DONE]\n\n'] }
      : { name: 'no [DONE] at the end', writes: writes.slice(0, marks) },
  ];
}

/** JSON over several lines: cut where white space may stand, behind the commas outside of strings. */
function dataLines(data: string): string {
  const cut = data.startsWith('{')
    ? data.replace(/"(?:[^"\\]|\\.)*"|,/g, (found) => (found === ',' ? ',\n' : found))
    : data;
  return cut
    .split('\n')
    .map((line) => `data: ${line}`)
    .join('\n');
}

function lineStreams(writes: readonly string[]): readonly Framed[] {
  const last = writes.length - 1;
  return [
    { name: 'LF', writes },
    { name: 'CRLF', writes: writes.map((write) => write.replaceAll('\n', '\r\n')) },
    { name: 'LF and CRLF mixed', writes: mixed(writes) },
    { name: 'blank lines', writes: ['\n', ...writes.flatMap((write) => [write, '\n'])] },
    { name: 'a byte order mark', writes: marked(writes) },
    {
      name: 'no line end after the last line',
      writes: writes.map((write, at) => (at === last ? write.replace(/\n$/, '') : write)),
    },
  ];
}
