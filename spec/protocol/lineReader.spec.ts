import { expect, it } from '@jest/globals';
import { createNdjsonReader } from '../../lib/protocol/ndjson.js';
import { createSseReader } from '../../lib/protocol/sse.js';
import { collectGarbage } from '../support/collectGarbage.js';
import { utf8 } from './wires.js';

const COUNT = 400_000;

/** An event without an end, in a read that is repeated. */
const events = {
  'sse: data lines': { createReader: createSseReader, beginning: '', read: 'data:\n'.repeat(100), times: COUNT / 100 },
  'sse: a line in small reads': { createReader: createSseReader, beginning: 'data: ', read: 'x', times: COUNT },
  'ndjson: a line in small reads': { createReader: createNdjsonReader, beginning: '{', read: 'x', times: COUNT },
} as const;

it.each(Object.entries(events))('%s without an end need little more than their text', (_, event) => {
  const reader = event.createReader({ provider: 'toy' }, () => undefined);
  const bytes = utf8(event.read);
  reader.push(utf8(event.beginning));
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < event.times; n += 1) reader.push(bytes);
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(3 * COUNT);
  reader.push(utf8('\n\n'));
});
