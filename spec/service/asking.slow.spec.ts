import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { playScript, scripts } from '../support/askingWorld.js';

/**
 * Random agents whose tools ask, record steps and need approvals, at once and inside of each other. The process is
 * killed before and after every write of a record, and of a log that outlives it; or it shuts down then, while another
 * one begins; or the person stops the answer after some views. ASKING_RUNS=50 takes minutes.
 */
const RUNS = Number(process.env['ASKING_RUNS'] ?? 1);

const worlds = fc.record({
  reloads: fc.boolean(),
  eagerTools: fc.boolean(),
  patience: fc.constantFrom(undefined, 60_000),
});
const places = fc.array(fc.nat(), { minLength: 10, maxLength: 10 });
const logs = [
  ['in memory', false],
  ['that processes share', true],
] as const;

describe('a service whose tools ask, with a log', () => {
  it.each(logs)(
    '%s, shows the same answer and does each step with the same key, if its process ends at any write',
    async (_, hasSharedLog) => {
      await fc.assert(
        fc.asyncProperty(scripts, worlds, async (script, disturbed) => {
          const world = { hasSharedLog, ...disturbed };
          const { outcome } = await playScript(script, { hasSharedLog, eagerTools: world.eagerTools });
          const { outcome: undisturbed, writes } = await playScript(script, world);
          expect(undisturbed).toEqual(outcome);
          for (let write = 1; write <= writes; write += 1)
            for (const when of ['before', 'after', 'shutdown'] as const) {
              const played = await playScript(script, { ...world, kill: { write, when } });
              expect({ write, when, ...played.outcome }).toEqual({ write, when, ...outcome });
            }
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
    },
    600_000,
  );

  it.each(logs)(
    '%s, does no other step if it is stopped after any view, and leaves no call open',
    async (_, hasSharedLog) => {
      await fc.assert(
        fc.asyncProperty(scripts, worlds, places, async (script, disturbed, chosen) => {
          const world = { hasSharedLog, ...disturbed };
          const { outcome, views } = await playScript(script, world);
          for (const place of chosen) {
            const stopAfter = 1 + (place % views);
            const { outcome: stopped, ending } = await playScript(script, { ...world, stopAfter });
            expect(outcome.steps).toEqual(expect.arrayContaining([...stopped.steps]));
            expect({ stopAfter, ...ending }).toMatchObject({ stopAfter, open: [] });
            expect([undefined, 'stop', 'stopped']).toContain(ending.finishReason);
          }
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
    },
    600_000,
  );
});
