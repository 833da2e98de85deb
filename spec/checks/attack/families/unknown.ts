import assert from 'node:assert/strict';
import type { StreamEvent } from '../../../../lib/core/event.js';
import { isToolCall } from '../../../../lib/core/eventGuards.js';
import { objectOrEmpty } from '../../../../lib/core/json/json.js';
import type { JsonObject } from '../../../../lib/core/json/json.js';
import { describe } from '../family.js';
import type { Family } from '../family.js';
import { bodyOf, eventsOf, modelOfBody, wires } from '../wires.js';

/** Frames of types that no version of a wire has. */
const unknownFrames: readonly (JsonObject | readonly JsonObject[])[] = [
  {},
  { type: 'acme.event' },
  { type: 'acme.event', delta: { type: 'acme_delta', text: 'x' }, item: { type: 'acme_item', id: 'i' }, index: 99 },
  { type: 'response.acme_call.in_progress', item_id: 'i', output_index: 99, sequence_number: 1 },
  { type: 'content_block_acme', index: 99 },
  { object: 'acme.chunk', choices: [] },
  { choices: [{ index: 0, delta: { acme: { nested: [1] } }, finish_reason: null }] },
  { candidates: [{ index: 0, content: { role: 'model', parts: [{ acmePart: { x: 1 } }] } }] },
  { message: { role: 'assistant', acme: [1] }, done: false },
  { acme: 1, event: 'acme', data: { x: 1 }, response: { acme: true } },
];

/** Lines of server-sent events that no version of a wire has. */
const unknownLines = ['id: 7', 'retry: 3', 'acme: x', ': a comment', 'event: acme\ndata: {"type":"acme"}', 'acme'];

/** Fields that are added to each object. */
const unknownFields: readonly string[] = [
  '"acme":null',
  '"acme":{"type":"acme","list":[1,{"x":"y"}]}',
  '"acme_text":"a text of another field"',
  '"__acme":[[]]',
];

/** Adds a field to each object of a JSON text, as its last one. */
const addField = (line: string, field: string): string =>
  line.replace(/"(?:[^"\\]|\\.)*"|\{\}|[{}]/g, (token) => (token === '{}' || token !== '}' ? token : `,${field}}`));

const changing: ReadonlySet<string> = new Set(['metadata', 'usage', 'providerData', 'id']);
const isAdded = (name: string) => /^(?:__)?acme/.test(name);

/**
 * The events without what may change: metadata, usage, generated ids, fields of arguments that were added, and parts
 * that only the provider can read.
 */
const essential = (events: readonly StreamEvent[]): string =>
  JSON.stringify(
    events.filter(({ type }) => type !== 'metadata' && type !== 'provider'),
    (name, value: unknown) => {
      if (changing.has(name) || isAdded(name)) return undefined;
      return Array.isArray(value)
        ? (value as unknown[]).filter((part) => objectOrEmpty(part)['type'] !== 'provider')
        : value;
    },
  );

/** What no version of a wire has sent yet: the same text, the same calls and the same end. */
export const unknown: Family = {
  name: 'unknown',
  async run(check) {
    for (const wire of wires) {
      const { bytes, contentType } = await bodyOf(wire);
      const body = new TextDecoder().decode(bytes);
      const isLines = contentType.includes('ndjson');
      const delimiter = isLines ? '\n' : '\n\n';
      const frames = body.split(delimiter).filter((frame) => frame.trim() !== '');
      const read = (text: string) => eventsOf(modelOfBody(wire, [new TextEncoder().encode(text)], contentType));
      const expected = await read(body);
      assert.equal(expected.error, undefined);
      const attack = (name: string, text: string) =>
        check(`${wire}, ${name}`, async () => {
          const { values, error } = await read(text);
          assert.equal(error, undefined, describe(error));
          assert.equal(essential(values), essential(expected.values));
        });
      const written = [
        ...unknownFrames.map((frame) => (isLines ? '' : 'data: ') + JSON.stringify(frame)),
        ...(isLines ? [] : unknownLines),
      ];
      // Not after the last frame: what follows the end of a response is ignored.
      for (const frame of written)
        for (let at = 0; at < frames.length; at++)
          await attack(
            `${frame} before frame ${at}`,
            [...frames.slice(0, at), frame, ...frames.slice(at), ''].join(delimiter),
          );
      await check(`${wire}, an unknown finish reason`, async () => {
        const reasons = /"(finish_reason|stop_reason|finishReason|done_reason)":"[^"]*"/g;
        const { values, error } = await read(body.replace(reasons, '"$1":"acme_reason"'));
        assert.equal(error, undefined, describe(error));
        const calls = (events: readonly StreamEvent[]) => essential(events.filter(isToolCall));
        assert.equal(calls(values), calls(expected.values));
      });
      for (const field of unknownFields) {
        const added = frames.map((frame) =>
          frame
            .split('\n')
            .map((line) => addField(line, field))
            .join('\n'),
        );
        await attack(`${field} in each object`, `${added.join(delimiter)}${delimiter}`);
      }
    }
  },
};
