import { describe, it } from '@jest/globals';
import { from } from 'rxjs';
import type { JsonObject } from '../../lib/core/json/json.js';
import { omitOptionalNulls } from '../../lib/core/json/optionalNulls.js';
import { partialArguments } from '../../lib/operators/partialArguments.js';
import { replay } from '../../lib/providers/chatCompletions/replay.js';
import { UnknownCollector } from '../../lib/providers/chatCompletions/unknown.js';
import { StepDecoder } from '../../lib/providers/googleInteractions/steps.js';
import { OutputDecoder } from '../../lib/providers/openaiResponses/output.js';
import { expectLinear } from '../support/cost.js';

// What is joined of many fragments must not be copied for each.

const out = { emit: () => undefined };
const fields = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, index]));
const repeat = (count: number, work: (index: number) => void) => {
  for (let index = 0; index < count; index += 1) work(index);
};

/** A union of three kinds that refers to itself. */
const kinds: JsonObject = {
  $ref: '#/$defs/item',
  $defs: {
    item: {
      anyOf: ['a', 'b', 'c'].map((kind) => ({
        type: 'object',
        properties: { kind: { const: kind }, next: { $ref: '#/$defs/item' }, note: { type: 'string' } },
        required: ['kind'],
      })),
    },
  },
};
const nested = (depth: number): JsonObject =>
  depth === 0 ? { kind: 'c', note: null } : { kind: 'a', note: null, next: nested(depth - 1) };

const readers: Readonly<Record<string, (count: number) => void>> = {
  'reasoning details of which the first has as many fields': (count) => {
    const collector = replay.createCollector('p', out);
    collector.add({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: '', ...fields(count) }] });
    repeat(count, () => collector.add({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'a' }] }));
    collector.end(true);
  },
  'thoughts of which the first has as many fields': (count) => {
    const collector = replay.createCollector('p', out);
    collector.addPart({ type: 'thinking', thinking: [], ...fields(count) });
    repeat(count, () => collector.addPart({ type: 'thinking', thinking: [{ type: 'text', text: 'a' }] }));
    collector.end(true);
  },
  'unknown parts': (count) => {
    const collector = new UnknownCollector();
    repeat(count, (index) => collector.addDelta({ content: [{ type: 'own', index }] }));
  },
  'summaries of a thought': (count) => {
    const decoder = new StepDecoder(out);
    decoder.start(0, { type: 'thought' });
    repeat(count, () => decoder.delta(0, { type: 'thought_summary', content: { type: 'text', text: 'a' } }));
    decoder.stop(0);
  },
  'fragments with arguments as objects': (count) => {
    const fragment = (index: number) =>
      ({ type: 'toolCallFragment', index: 0, id: 'a', name: 't', arguments: { [`field${index}`]: 1 } }) as const;
    from(Array.from({ length: count }, (_, index) => fragment(index)))
      .pipe(partialArguments())
      .subscribe();
  },
  'unknown parts of an item with as long an id': (count) => {
    const content = Array.from({ length: count / 4 }, (_, index) => ({ type: `own${index}` }));
    const item = { type: 'message', id: 'x'.repeat(16_384 + count), content };
    new OutputDecoder(out, undefined).addEvent('response.output_item.done', { item });
  },
  'fields that are null, in a union of as many': (count) => {
    const anyOf = Object.keys(fields(count)).map((name) => ({ properties: { [name]: { type: 'string' } } }));
    omitOptionalNulls(Object.fromEntries(Object.keys(fields(count)).map((name) => [name, null])), { anyOf });
  },
  'fields that lead to as many choices': (count) => {
    const $defs = { any: { anyOf: Array.from({ length: count / 2 }, () => ({ type: 'string' })) } };
    const properties = Object.fromEntries(Object.keys(fields(count)).map((name) => [name, { $ref: '#/$defs/any' }]));
    for (const value of [null, {}])
      omitOptionalNulls(Object.fromEntries(Object.keys(properties).map((name) => [name, value])), {
        properties,
        $defs,
      });
  },
  'levels of a union with optional nulls': (count) => {
    repeat(100, () => omitOptionalNulls(nested(count / 100), kinds));
  },
};

describe('the cost of fragments', () => {
  it.each(Object.keys(readers))('is linear in the number of %s', (reader) => {
    const read = readers[reader] ?? (() => undefined);
    read(100);
    expectLinear(read, [2500, 5000, 10_000]);
  });
});
