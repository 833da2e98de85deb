import { afterEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, toArray } from 'rxjs';
import type { StreamEvent } from '../../lib/core/event.js';
import { isText } from '../../lib/core/eventGuards.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { toolCall } from '../../lib/testing/index.js';
import type { Script } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn, ServeOptions } from '../../lib/testing/server/index.js';
import { outcome } from './outcome.js';
import type { Outcome } from './outcome.js';

/** The text of events, joined. */
export const textIn = (events: readonly StreamEvent[]): string =>
  events
    .filter(isText)
    .map((event) => event.text)
    .join('');

const text = 'Let me look.';
const completeCalls = [
  {
    type: 'toolCall',
    name: 'temperature',
    arguments: { city: 'Reykjav\u00edk', note: 'a longer text, so that it arrives in fragments' },
  },
  { type: 'toolCall', name: 'season', arguments: {} },
];
const script: Script<ServedTurn> = () => [
  text,
  ...completeCalls.map(({ name, arguments: args }, at) => toolCall(name, args, `call_${at}`)),
];

/** The least number of bytes between two cuts. */
const cutDistance = 29;

/** A provider whose responses are cut. */
export interface CutProvider {
  /** The provider's name, as on the model. */
  readonly name: string;
  /** Makes a model for the loopback server. */
  readonly modelAt: (server: LoopbackServer, options: ModelOptions) => Model;
  /** How many cuts inside frames are tested: evenly distributed over the response, always at the same bytes; 0: none. */
  readonly maxCuts: number;
}

/** Tests that a model reports a response that ends early as an interruption, and emits nothing that is incomplete. */
export function describeCutResponses({ name, modelAt, maxCuts }: CutProvider): void {
  describe(`${name}: a response that is cut`, () => {
    const servers: LoopbackServer[] = [];
    afterEach(async () => {
      await Promise.all(servers.splice(0).map((server) => server.close()));
    });
    const serve = async (options: ServeOptions = {}) => {
      const server = await serveModel(script, options);
      servers.push(server);
      return server;
    };
    const run = (server: LoopbackServer, options: ModelOptions = {}) =>
      outcome(
        modelAt(server, { retry: false, ...options })
          .stream({ messages: [userMessage('How warm is it?')] })
          .pipe(accumulateToolCalls()),
      );

    /**
     * Checks that all events are correct, and that the stream was interrupted or is complete. Returns the number of
     * calls.
     */
    function expectNothingIncomplete({ values, error }: Outcome<StreamEvent>): number {
      expect(text.startsWith(textIn(values))).toBe(true);
      const calls = values.filter(({ type }) => type === 'toolCall');
      expect(calls).toMatchObject(completeCalls.slice(0, calls.length));
      if (error === undefined) expect(calls).toHaveLength(completeCalls.length);
      else expect(error).toMatchObject({ code: 'stream_interrupted', provider: name });
      return calls.length;
    }

    it('a response that is cut between two frames exposes no incomplete call, and is an interruption unless it was complete', async () => {
      const uncut = await serve();
      expect(expectNothingIncomplete(await run(uncut))).toBe(completeCalls.length);
      const events = firstValueFrom(uncut.events.pipe(toArray()));
      await uncut.close();
      const frames = (await events).filter(({ type }) => type === 'frame').length;
      const cuts = Array.from({ length: frames - 1 }, (_, at) => ({ endEarly: at + 1 }));
      const server = await serve({ forRequest: cuts });
      for (const { endEarly } of cuts) expect(expectNothingIncomplete(await run(server))).toBeLessThanOrEqual(endEarly);
      expect(server.requests).toHaveLength(frames - 1);
    });

    if (maxCuts === 0) return;
    it('a response that is cut inside a frame exposes no incomplete call, and is an interruption, closed or reset', async () => {
      let bytes = new Uint8Array();
      const recordBytes: typeof fetch = async (input, init) => {
        const response = await fetch(input, init);
        bytes = new Uint8Array(await response.arrayBuffer());
        return new Response(bytes, response);
      };
      const uncut = await run(await serve(), { fetch: recordBytes });
      expect(expectNothingIncomplete(uncut)).toBe(completeCalls.length);
      const distance = Math.max(cutDistance, bytes.length / maxCuts);
      const cuts = Array.from({ length: Math.floor(bytes.length / distance) - 1 }, (_, at) => ({
        raw: [bytes.slice(0, Math.round((at + 1) * distance))],
        ...(at % 2 ? { reset: 1 } : {}),
      }));
      expect(cuts.length).toBeGreaterThan(10);
      const server = await serve({ forRequest: cuts });
      while (server.requests.length < cuts.length) expectNothingIncomplete(await run(server));
    });
  });
}
