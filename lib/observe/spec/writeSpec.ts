import type { RunRecording } from '../recording/readRecording.js';
import { escapeHidden } from '../../core/plainText.js';
import { runOf } from '../recording/replay.js';
import { requireRepeatable } from '../recording/replayRun.js';
import { marbleSpec } from './marbleSpec.js';
import { repeatVirtually } from './repeatVirtually.js';
import { headOf, titleOf, type SpecRunner } from './specText.js';

/** Options of `writeSpec`. */
export interface WriteSpecOptions {
  /** Which run of the recording, from 1. Default: 1. */
  readonly run?: number | undefined;
  /** The runner whose functions the spec imports. Default: `vitest`. */
  readonly runner?: SpecRunner | undefined;
  /**
   * The file of the recording, relative to the spec. The spec reads it. Default: none; what the model and the tools
   * emitted is written into the spec, as marble diagrams.
   */
  readonly fixture?: string | undefined;
}

/**
 * Writes a spec that repeats a recorded run in virtual time, and expects its events.
 *
 * <span class="informal">From a bug in production to a failing test.</span>
 *
 * The spec creates an agent with the recorded model, the recorded tools and the recorded settings, and expects the
 * recorded events. Replace the tools, the orchestrator or the operators by your own: the spec then fails where they
 * behave differently. To turn a bug into a failing spec, write it without a `fixture`, and correct the expected events.
 *
 * With a `fixture`, the spec reads the file of the recording. Without one, it contains everything: a marble diagram of
 * the model's chunks for each request, one for each tool call, and one of the expected events. A letter stands for
 * everything that was emitted in one millisecond. Events that different calls emitted in the same millisecond may come
 * in another order in such a spec: use a fixture for them, which keeps the order.
 *
 * ```ts
 * await writeFile('run.spec.ts', writeSpec(recording, { fixture: './run.jsonl', runner: 'jest' }));
 * ```
 *
 * @param recording A recording of `recordRun`.
 * @param options `run` (default: 1, the first one), `runner` (default: `vitest`; also `jest` and `node`), `fixture`
 * (default: none, so that the spec is complete).
 * @returns The spec, in TypeScript.
 * @throws ConfigurationError `recording` if it has no such run, if the run is the recording of a model, or if it was
 * resumed and its checkpoint is missing.
 */
export function writeSpec(recording: RunRecording, options: WriteSpecOptions = {}): string {
  const { run = 1, fixture } = options;
  const recordedRun = runOf(recording, { run });
  requireRepeatable(recordedRun);
  const spec =
    fixture === undefined
      ? marbleSpec(repeatVirtually(recording, run), options)
      : fixtureSpec(titleOf(recordedRun), fixture, run, options);
  return escapeHidden(spec); // all texts are literals: escapes fit
}

function fixtureSpec(title: string, fixture: string, run: number, { runner }: WriteSpecOptions): string {
  const { imports, it, equal } = headOf(runner);
  const at = run === 1 ? '' : `, { run: ${run} }`;
  return `import { readFileSync } from 'node:fs';
${imports}
import { createAgent } from 'rivulet';
import { readRecording, recordedEvent, replayRun } from 'rivulet/recording';
import { inVirtualTime } from 'rivulet/testing';

const recording = readRecording(readFileSync(new URL(${JSON.stringify(fixture)}, import.meta.url), 'utf8'));

${it}(${JSON.stringify(title)}, () => {
  const replayed = replayRun(recording${at});
  // The recorded model, tools and settings. Replace parts by your own.
  const agent = createAgent({ ...replayed.agent });
  const { values } = inVirtualTime(() => replayed.play(agent));
  // Without their times: in virtual time, computing takes no time.
  ${equal('values.map(({ value }) => recordedEvent(value))', 'replayed.events.map(({ event }) => event)')}
});
`;
}
