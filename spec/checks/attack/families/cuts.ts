import assert from 'node:assert/strict';
import { isText, isToolCall } from '../../../../lib/core/eventGuards.js';
import type { StreamEvent } from '../../../../lib/core/event.js';
import { modelByName } from '../../../../lib/providers/registry/index.js';
import { serveModel } from '../../../../lib/testing/server/index.js';
import { offsets, key } from '../family.js';
import type { Family } from '../family.js';
import { bodyOf, chunksOf, eventsOf, modelOfBody, wires } from '../wires.js';
import type { Outcome } from '../../../support/outcome.js';

const textOf = (events: readonly StreamEvent[]) =>
  events
    .filter(isText)
    .map(({ text }) => text)
    .join('');
/** Without their ids, which are random where the server sends none. */
const callsOf = (events: readonly StreamEvent[]) =>
  events.filter(isToolCall).map(({ name, arguments: args }) => ({ name, args }));

/** Asserts that a cut response shows nothing that the complete one does not, and that an end too early is an error. */
function assertPrefix(complete: Outcome<StreamEvent>, cut: Outcome<StreamEvent>): void {
  const calls = callsOf(cut.values);
  assert.ok(textOf(complete.values).startsWith(textOf(cut.values)), `the text is ${textOf(cut.values)}`);
  assert.deepEqual(calls, callsOf(complete.values).slice(0, calls.length));
  if (cut.error === undefined) assert.equal(calls.length, callsOf(complete.values).length);
  else assert.equal((cut.error as { code?: unknown }).code, 'stream_interrupted');
}

/** A response that is cut at every byte: in two reads, in one read that ends too early, and over a socket. */
export const cuts: Family = {
  name: 'cuts',
  async run(check, { choose }) {
    for (const wire of wires) {
      const { bytes, contentType } = await bodyOf(wire);
      const complete = await eventsOf(modelOfBody(wire, [bytes], contentType));
      const chunks = await chunksOf(modelOfBody(wire, [bytes], contentType));
      for (const at of offsets(bytes.length, choose(100, Infinity))) {
        const reads = [bytes.subarray(0, at), bytes.subarray(at)];
        await check(`${wire}, two reads at ${at}`, async () =>
          assert.deepEqual(await chunksOf(modelOfBody(wire, reads, contentType)), chunks),
        );
        await check(`${wire}, ended at ${at}`, async () =>
          assertPrefix(complete, await eventsOf(modelOfBody(wire, reads.slice(0, 1), contentType))),
        );
      }
      const ends = offsets(bytes.length, choose(10, 300));
      const server = await serveModel([], {
        headers: { 'content-type': contentType },
        forRequest: ends.map((at, index) => ({ raw: [bytes.slice(0, at)], ...(index % 2 === 0 ? { reset: 1 } : {}) })),
      });
      const model = modelByName(wire, { baseUrl: server.urlFor(wire), apiKey: key, retry: false });
      for (const at of ends)
        await check(`${wire}, socket ended at ${at}`, async () => assertPrefix(complete, await eventsOf(model)));
      await server.close();
    }
  },
};
