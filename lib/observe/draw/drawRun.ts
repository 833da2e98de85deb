import { layoutRun } from './layoutRun.js';
import { renderPage } from './renderHtml.js';
import { wireOfRun } from './wire.js';
import type { RunRecording } from '../recording/readRecording.js';
import { runOf } from '../recording/replay.js';
import type { ReplayOptions } from '../recording/timeline.js';

/**
 * Draws a recorded run as one HTML page.
 *
 * <span class="informal">Where the time of a run went, at a glance.</span>
 *
 * The page has a lane for each turn, request, tool call and sub-agent on a real time axis. A request shows its deltas
 * (the higher, the more characters), how long it waited, silences of a second and more, retries, rate limits, and what
 * a retraction has voided. A tool call shows how long it was queued, waited for a decision and ran, its progress and
 * its result. Subscribing, prompts, a stop, unsubscribing and the result are marks of the run.
 *
 * A click or the arrow keys select an event and show its JSON and, if the recording has HTTP exchanges (`recordFetch`),
 * the frame of the wire before it. The page is self-contained: it loads nothing, has a dark form, fits a phone and can
 * be printed.
 *
 * ```ts
 * await writeFile('run.html', drawRun(readRecording(await readFile('runs.jsonl', 'utf8'))));
 * ```
 *
 * @param recording A recording of `recordRun` or `record`.
 * @param options `run` (default: 1, the first one).
 * @returns The page, as HTML.
 * @throws ConfigurationError `recording` if it has no such run.
 */
export function drawRun(recording: RunRecording, options: Pick<ReplayOptions, 'run'> = {}): string {
  const run = runOf(recording, options);
  const wire = wireOfRun(recording, run);
  return renderPage(layoutRun(run, wire), wire, run.start.at);
}
