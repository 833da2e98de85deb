import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { StreamEvent } from '../../lib/core/event.js';
import type { Part } from '../../lib/core/message.js';
import { createCompactor, createRestorer, withoutCheckpoints } from '../../lib/transport/compactEvents.js';
import { exampleEvents } from '../support/runs.js';

const overTheWire = (events: readonly StreamEvent[]): StreamEvent[] => {
  const toCompact = createCompactor();
  const restore = createRestorer();
  return events.map((event) => restore(asJson(toCompact(event)) as StreamEvent));
};

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('compact events', () => {
  it('restore every event of a run', () => {
    const events = exampleEvents();
    expect(overTheWire(events)).toEqual(asJson(events));
  });

  it('contain each text, call, result and file of a run once', () => {
    const toCompact = createCompactor();
    const sent = exampleEvents({ fragments: false })
      .map((event) => JSON.stringify(toCompact(event)))
      .join('\n');
    for (const content of ['7 degrees.', '"Oslo"', '"degrees"', 'AQID', 'https://example.com', 'Which ', 'city?'])
      expect(sent.split(content)).toHaveLength(2);
  });

  it('refer to what an inner run has emitted, at any depth', () => {
    const nested = (event: StreamEvent): StreamEvent =>
      ({ type: 'nested', id: 'a', name: 'ask', event }) as StreamEvent;
    const plain = exampleEvents({ fragments: false });
    const events = plain.flatMap((event) => [event, nested(event), nested(nested(event))]);
    expect(overTheWire(events)).toEqual(asJson(events));
    const sent = JSON.stringify(events.map(createCompactor()));
    for (const content of ['7 degrees.', '"Oslo"', 'Which ', 'city?']) expect(sent.split(content)).toHaveLength(4);
    const checkpoint = { type: 'checkpoint', checkpoint: {} };
    expect(withoutCheckpoints(nested(nested(checkpoint)))).toBeUndefined();
  });

  it('restore checkpoints in a log, and do not contain them for a transport', () => {
    const toCompact = createCompactor();
    const restore = createRestorer();
    const events = exampleEvents({ checkpoints: true });
    expect(events.some((event) => event.type === 'checkpoint' && 'checkpoint' in event)).toBe(true);
    const logged = events.map(toCompact);
    expect(logged.map(restore)).toEqual(events);
    const sent = logged.map(withoutCheckpoints).filter((event) => event !== undefined);
    expect(sent.map(({ type }) => type)).not.toContain('checkpoint');
    for (const event of sent) expect(event).not.toHaveProperty('checkpoint');
    const waiting = { text: '', thinking: '', messages: [], finishReason: 'waiting', checkpoint: { version: 1 } };
    const result = { type: 'result', result: waiting };
    expect(withoutCheckpoints(createCompactor()(result))).toEqual({
      type: 'result',
      result: { finishReason: 'waiting' },
    });
  });

  it('restore messages that differ from what was emitted', () => {
    const part = fc.oneof(
      fc.constantFrom('a', 'ab', 'b', '').map((text): Part => ({ type: 'text', text })),
      fc.constantFrom('c1', 'c2').map((id): Part => ({ type: 'toolCall', id, name: 'f', arguments: { id } })),
      fc.constantFrom('c1', 'c2').map((id): Part => ({ type: 'toolResult', id, name: 'f', result: id })),
      fc.constantFrom('u', 'v').map((url): Part => ({ type: 'source', url })),
      fc.constant<Part>({ type: 'provider', provider: 'p', data: { signature: 's' } }),
    );
    const event = fc.oneof(
      fc.constantFrom('a', 'b', '\n').map((text) => ({ type: 'text', text })),
      part.filter(({ type }) => type === 'toolCall' || type === 'toolResult'),
      part.filter(({ type }) => type === 'source').map((source) => ({ type: 'source', source })),
      fc.array(part, { maxLength: 5 }).map((parts) => ({ type: 'message', message: { role: 'model', parts } })),
      fc.constantFrom({ type: 'retract' }, { type: 'turn', turn: 1, finishReason: 'stop' }, { type: 'myOwn', x: 1 }),
      fc.record({
        type: fc.constant('result'),
        result: fc.record({
          text: fc.constantFrom('', 'ab'),
          answer: fc.constantFrom('', 'ab'),
          thinking: fc.constant(''),
          messages: fc.constant([]),
        }),
      }),
    );
    fc.assert(
      fc.property(fc.array(event as fc.Arbitrary<StreamEvent>, { maxLength: 30 }), (events) => {
        expect(overTheWire(events)).toEqual(asJson(events));
      }),
      { numRuns: 500 },
    );
  });
});
