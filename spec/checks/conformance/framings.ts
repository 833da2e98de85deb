import { isRecord } from '../../../lib/core/json/json.js';
import type { Body } from './case.js';

/** A body in one of its framings. */
export interface Framed {
  readonly name: string;
  readonly writes: readonly string[];
}

/** Returns the `type` field of a payload, which most protocols also use as the name of the event. */
export function typeOf(payload: string): string | undefined {
  try {
    const value: unknown = JSON.parse(payload);
    return isRecord(value) && typeof value['type'] === 'string' ? value['type'] : undefined;
  } catch {
    return undefined; // [DONE], or a payload that is invalid JSON on purpose
  }
}

/**
 * Returns the framings that a body can have without a change of its content: its own first.
 *
 * Only what the event-stream standard (WHATWG HTML, "Server-sent events") or line-delimited JSON permits is varied. A
 * body with incomplete events has one framing: it may be the purpose of the case.
 */
export function framingsOf({ framing, writes, optionalDone }: Body): readonly Framed[] {
  const own = { name: 'original framing', writes };
  const text = writes.join('').replace(/\r\n?/g, '\n');
  if (text === '' || !(framing === 'sse' ? isEventStream(text) : text.endsWith('\n'))) return [own];
  const variants =
    framing === 'sse'
      ? eventStreams(splitText(text, /(?<=\n\n)/), optionalDone)
      : lineStreams(splitText(text, /(?<=\n)/));
  const seen = new Set([writes.join('')]);
  return [own, ...variants.filter((one) => !seen.has(one.writes.join('')) && seen.add(one.writes.join('')))];
}

const splitText = (text: string, at: RegExp) => text.split(at).filter((part) => part.trim() !== '');

/** Whether a text consists of complete events: known fields, comments, and an empty line at the end. */
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
    { name: 'LF and CRLF mixed', writes: mixedLineEnds(writes) },
    ...eventNames(writes),
    { name: 'comments', writes: commented },
    { name: 'a byte order mark', writes: withByteOrderMark(writes) },
    { name: 'no space after the colon', writes: unspaced },
    { name: 'data in several lines', writes: inLines },
    { name: 'id and retry fields', writes: fields },
    ...(optionalDone ? doneVariants(writes) : []),
    {
      name: 'a byte order mark, comments, CRLF, no space',
      writes: withByteOrderMark(ends('\r\n', [': hello\n\n', ...unspaced, ':\n\n'])),
    },
  ];
}

/** Ends every second line with CRLF. */
function mixedLineEnds(writes: readonly string[]): readonly string[] {
  let line = 0;
  return writes.map((write) => write.replace(/\n/g, () => (line++ % 2 === 0 ? '\r\n' : '\n')));
}

const withByteOrderMark = ([first = '', ...rest]: readonly string[]) => [`\u{feff}${first}`, ...rest];

/** Removes the names of events if the payloads contain them too, and adds names if there are none. */
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

/** Removes `[DONE]` (it is redundant after a finish reason), or adds it (as gateways do). */
function doneVariants(writes: readonly string[]): readonly Framed[] {
  const marks = writes.findIndex((write) => /^data: ?\[DONE\]$/m.test(write));
  return [
    marks === -1
      ? { name: '[DONE] at the end', writes: [...writes, 'data: [DONE]\n\n'] }
      : { name: 'no [DONE] at the end', writes: writes.slice(0, marks) },
  ];
}

/** Writes JSON on several lines: a line break after each comma that is not in a string. */
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
    { name: 'LF and CRLF mixed', writes: mixedLineEnds(writes) },
    { name: 'blank lines', writes: ['\n', ...writes.flatMap((write) => [write, '\n'])] },
    { name: 'a byte order mark', writes: withByteOrderMark(writes) },
    {
      name: 'no line end after the last line',
      writes: writes.map((write, at) => (at === last ? write.replace(/\n$/, '') : write)),
    },
  ];
}
