import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { compiled } from './build.js';
import { baseContestants } from './contestants.js';
import { median } from './statistics.js';

/** The state of the process between runs, after a garbage collection. */
export interface Sample {
  /** The number of completed runs. */
  readonly runs: number;
  /** The used heap in MB. */
  readonly heap: number;
  /** The number of open timers, sockets and requests. */
  readonly handles: number;
}

/**
 * How much the heap may grow between the second and the last quarter; the first one warms up. A process without a leak
 * grows once by 0.3 MB during its first 5,000 runs (then 40 seconds are flat); a leak adds something with every run. In
 * a minute there are about 5,000 runs between the two quarters: a leak of 120 bytes per run is detected.
 */
const allowed = { share: 0.02, once: 0.4 };

/**
 * Runs one process for `seconds`: complete runs, tool rounds, typed outputs, runs that are unsubscribed during or
 * before the response, and runs that fail.
 *
 * @returns Whether heap and handles stayed flat.
 */
export async function soak(seconds: number, server: string): Promise<boolean> {
  const samples = await samplesOf(seconds, server);
  const quarter = Math.floor(samples.length / 4);
  if (quarter === 0) throw new Error('The soak was too short: it has fewer than four samples.');
  const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)];
  // The minimum of a quarter: garbage that is not yet collected is not a leak.
  const heap = [
    Math.min(...early.map((sample) => sample.heap)),
    Math.min(...late.map((sample) => sample.heap)),
  ] as const;
  const handles = [
    median(early.map((sample) => sample.handles)),
    median(late.map((sample) => sample.handles)),
  ] as const;
  const flat = heap[1] <= heap[0] * (1 + allowed.share) + allowed.once && handles[1] <= handles[0] + 1;
  const runs = samples.at(-1)?.runs ?? 0;
  const heaps = `Heap ${heap[0].toFixed(2)} MB early, ${heap[1].toFixed(2)} MB late`;
  console.log(
    `soak: ${runs} runs in ${seconds} s. ${heaps}; handles ${handles.join(', ')}. ${flat ? 'Flat.' : 'NOT flat.'}`,
  );
  return flat;
}

async function samplesOf(seconds: number, server: string): Promise<readonly Sample[]> {
  const task = JSON.stringify({ module: baseContestants('openai')[1].module, server, seconds });
  // Optimised code and its feedback grow for minutes, by 10 % of this heap; without them, a run without a leak stays
  // within 0.2 %.
  const args = ['--expose-gc', '--no-opt', join(compiled, 'client/soak.js'), task];
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`The soak's process failed: ${stderr}`));
      else resolve(stdout);
    });
  });
  return JSON.parse(output) as readonly Sample[];
}
