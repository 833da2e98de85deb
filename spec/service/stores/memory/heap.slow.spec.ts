import { expect, it } from '@jest/globals';
import type { StreamEvent } from '../../../../lib/core/event.js';
import type { Message } from '../../../../lib/core/message.js';
import { memoryLog } from '../../../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../../../lib/service/stores/memory/memoryStore.js';
import type { RunRecord } from '../../../../lib/service/ports/runStore.js';
import { collectGarbage } from '../../../support/collectGarbage.js';
import { observe } from '../../../support/observe.js';

const COUNT = 10_000;
const MAX_BYTES = 1_000_000;
/** The table of a Map grows by doubling, and V8 compiles meanwhile. */
const TOLERANCE = 1.4;

const heap = () => {
  for (let round = 0; round < 3; round += 1) collectGarbage();
  return process.memoryUsage().heapUsed;
};
/** As a database or a request creates it: nothing is shared. */
const parsed = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const said = (role: 'user' | 'assistant', text: string) => ({ role, parts: [{ type: 'text', text }] }) as Message;

const minimal = (n: number): RunRecord => ({
  ...{ id: idOf(n), owner: 'ann', state: 'ended', updated: n, attempt: 1, input: [] },
});
const answer = (n: number) => said('assistant', `Hello ${n}.`);
const records: Readonly<Record<string, (n: number) => RunRecord>> = {
  'that are minimal': minimal,
  'of owners of their own': (n) => ({ ...minimal(n), owner: `owner-${n}` }),
  'of a short answer': (n) => ({
    ...minimal(n),
    input: [said('user', `Hi ${n}.`)],
    result: {
      ...{ text: `Hello ${n}.`, thinking: '', messages: [answer(n)], answer: `Hello ${n}.`, output: undefined },
      ...{ finishReason: 'stop', usage: { input: 1, output: 2, total: 3 }, turns: 1 },
    },
  }),
};
const events: Readonly<Record<string, (n: number) => readonly StreamEvent[]>> = {
  'without events': () => [],
  'of one text': (n) => [{ type: 'text', text: `Hello ${n}.` }],
  'of many small events': () => Array.from({ length: 20 }, (_, index) => ({ type: `own${index}` })),
};

/** What the heap has grown by, for each byte of the limit. */
function growth(fill: () => object): number {
  const before = heap();
  const port = fill();
  const used = heap() - before;
  expect(port).toBeDefined(); // it is alive until here
  return used / MAX_BYTES;
}

it.each(Object.entries(records))('memoryStore needs at most `maxBytes` of the heap for records %s', (_, create) => {
  const fill = () => {
    const store = memoryStore({ maxBytes: MAX_BYTES });
    for (let n = 0; n < COUNT; n += 1) observe(store.put(parsed(create(n)), 0));
    return store;
  };
  growth(fill); // compiles
  expect(growth(fill)).toBeLessThan(TOLERANCE);
});

it.each(Object.entries(events))('memoryLog needs at most `maxBytes` of the heap for runs %s', (_, create) => {
  const fill = () => {
    const log = memoryLog({ maxBytes: MAX_BYTES });
    for (let n = 0; n < COUNT; n += 1) {
      observe(log.append(idOf(n), 1, parsed(create(n))));
      observe(log.end(idOf(n), 1, { owner: 'ann' }));
    }
    return log;
  };
  growth(fill);
  expect(growth(fill)).toBeLessThan(TOLERANCE);
});
