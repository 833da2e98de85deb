import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { playScript, scripts } from '../support/askingWorld.js';

/**
 * Random agents whose tools ask, record steps and need approvals, at once and inside of each other. The process is
 * killed before and after every write of a record, and of a log that outlives it. ASKING_RUNS=50 takes minutes.
 */
const RUNS = Number(process.env['ASKING_RUNS'] ?? 2);

describe('a service whose tools ask, and whose process is killed at any write', () => {
  it.each([
    ['in memory', false],
    ['that processes share', true],
  ])(
    'shows the same answer, has the same history, and does each step with the same key, with a log %s',
    async (_, hasSharedLog) => {
      await fc.assert(
        fc.asyncProperty(
          scripts,
          fc.boolean(),
          fc.boolean(),
          fc.boolean(),
          async (script, reloads, eagerTools, isLive) => {
            const world = { hasSharedLog, eagerTools, patience: isLive ? 60_000 : undefined };
            const { outcome } = await playScript(script, { hasSharedLog, eagerTools });
            const { outcome: undisturbed, writes } = await playScript(script, { ...world, reloads });
            expect(undisturbed).toEqual(outcome);
            for (let write = 1; write <= writes; write += 1)
              for (const when of ['before', 'after'] as const) {
                const played = await playScript(script, { ...world, reloads, kill: { write, when } });
                expect({ write, when, ...played.outcome }).toEqual({ write, when, ...outcome });
              }
          },
        ),
        { numRuns: RUNS, endOnFailure: true },
      );
    },
    600_000,
  );
});
