import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { StreamEvent } from '../../../lib/core/event.js';
import { EventLog } from '../../../lib/service/runs/eventLog.js';
import type { Envelope, LogReader } from '../../../lib/service/runs/lateReader.js';
import { contentOf } from '../../support/runs.js';

const text = (value: string): StreamEvent => ({ type: 'text', text: value }) as StreamEvent;
const fragment = (index: number, args: string): StreamEvent =>
  ({ type: 'toolCallFragment', index, id: `c${index}`, name: 'f', arguments: args }) as StreamEvent;
const other: StreamEvent = { type: 'myOwn' };

function logOf(events: readonly StreamEvent[]): EventLog<StreamEvent> {
  const log = new EventLog();
  events.forEach((event) => log.append(event));
  return log;
}

function readAll(reader: LogReader<StreamEvent>): Envelope[] {
  const envelopes: Envelope[] = [];
  for (let envelope; (envelope = reader.next());) envelopes.push(envelope);
  return envelopes;
}

const eventsOf = (envelopes: readonly Envelope[]) => envelopes.map(({ event }) => event);

describe('an event log', () => {
  it('merges consecutive deltas of one kind, and fragments of one call', () => {
    const log = logOf([text('a'), text('b'), fragment(0, '{'), fragment(0, '}'), fragment(1, '{'), other, text('c')]);
    expect(eventsOf(readAll(log.reader()))).toEqual([
      text('ab'),
      fragment(0, '{}'),
      fragment(1, '{'),
      other,
      text('c'),
    ]);
  });

  it('merges consecutive deltas of one inner run', () => {
    const nested = (id: string, event: StreamEvent) => ({ type: 'nested', id, name: 'ask', event }) as StreamEvent;
    const deep = (value: string) => nested('a', nested('b', text(value)));
    const log = logOf([nested('a', text('a')), nested('a', text('b')), nested('b', text('c')), deep('d'), deep('e')]);
    expect(eventsOf(readAll(log.reader()))).toEqual([nested('a', text('ab')), nested('b', text('c')), deep('de')]);
  });

  it('keeps the prefix of a text at its beginning, and only there', () => {
    const prefixed = { ...text('\na'), prefix: '\n' } as StreamEvent;
    const log = logOf([text('o'), prefixed]);
    const reader = log.reader();
    expect(eventsOf(readAll(reader))).toEqual([text('o'), prefixed]);
    log.append(text('b'));
    expect(eventsOf(readAll(reader))).toStrictEqual([text('b')]);
    expect(eventsOf(readAll(log.reader()))).toEqual([text('o'), { ...text('\nab'), prefix: '\n' }]);
  });

  it('gives a reader at its end each delta as it arrives', () => {
    const log = new EventLog();
    const reader = log.reader();
    const received = ['a', 'b', 'c'].map((delta) => {
      log.append(text(delta));
      return eventsOf(readAll(reader));
    });
    expect(received).toEqual([[text('a')], [text('b')], [text('c')]]);
  });

  it('merges what a slow reader has not read', () => {
    const log = new EventLog();
    const reader = log.reader();
    log.append(text('a'));
    readAll(reader);
    'bcd'.split('').forEach((delta) => log.append(text(delta)));
    expect(eventsOf(readAll(reader))).toEqual([text('bcd')]);
  });

  it('closes a merged delta at 4096 characters, so that a growing delta is not read again and again', () => {
    const log = logOf(Array.from({ length: 100 }, () => text('x'.repeat(100))));
    const lengths = eventsOf(readAll(log.reader())).map((event) => (event as unknown as { text: string }).text.length);
    expect(lengths).toEqual([4100, 4100, 1800]);
    expect(readAll(logOf([text('x'.repeat(4096)), text('y')]).reader())).toHaveLength(2);
  });

  it('counts no bytes of an event that is not JSON but those of its entry', () => {
    expect(logOf([text('abc'), { type: 'myOwn', value: 1n } as StreamEvent]).size).toBe(3 + 2 * 256);
  });

  it('does not merge deltas of two kinds', () => {
    const events = [text('a'), { type: 'thinking', text: 'b' }, fragment(0, '{'), text('c')] as StreamEvent[];
    expect(eventsOf(readAll(logOf(events).reader()))).toEqual(events);
    const nested = (event: StreamEvent) => ({ type: 'nested', id: 'a', name: 'ask', event }) as StreamEvent;
    const inner = events.map(nested);
    expect(eventsOf(readAll(logOf([...inner, text('d')]).reader()))).toEqual([...inner, text('d')]);
  });

  it('says which id is not a position, up to 40 characters of it', () => {
    const read = () => logOf([other]).reader('x'.repeat(50));
    expect(read).toThrow(`The run has no event with the id "${'x'.repeat(40)}". Pass the id of an envelope`);
    expect(read).toThrow(expect.objectContaining({ subject: 'options' }));
  });

  it.each(['x', '-1', '1.x', '9', '1.9', '0.3', '0.1.5', '1e3', ''])(
    'refuses the id %j, which is not a position',
    (id) => {
      expect(() => logOf([text('ab'), other]).reader(id)).toThrow(/no event with the id/);
    },
  );

  it('lets a reader continue from any id without a loss or a repetition, while the log grows', () => {
    const event = fc.oneof(
      fc.string({ maxLength: 3 }).map(text),
      fc.tuple(fc.nat(1), fc.string({ maxLength: 3 })).map(([index, args]) => fragment(index, args)),
      fc.constant(other),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), fc.infiniteStream(fc.nat(3)), (events, pauses) => {
        const log = new EventLog();
        const received: StreamEvent[] = [];
        let last: string | undefined;
        const read = () => {
          for (const { id, event: next } of readAll(log.reader(last))) {
            received.push(next);
            last = id;
          }
        };
        for (const next of events) {
          log.append(next);
          if (pauses.next().value === 0) read(); // a connection of its own each time
        }
        read();
        expect(contentOf(received)).toEqual(contentOf(events));
      }),
    );
  });

  it('needs the memory of the text for deltas that nobody reads', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const log = new EventLog();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 1_000_000; i++) log.append(text('abcdefghij'.charAt(i % 10)));
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
    expect(readAll(log.reader())).toHaveLength(Math.ceil(1_000_000 / 4096));
  });
});
