import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { compiled } from './build.js';
import { rivulet } from './contestants.js';
import { median } from './statistics.js';

/** A look at the process between runs, after a collection. */
export interface Sample {
  /** Runs so far. */
  readonly runs: number;
  /** MB of the heap that are in use. */
  readonly heap: number;
  /** Timers, sockets and requests that are open. */
  readonly handles: number;
}

/**
 * How much the heap may grow between the second quarter of the time and the last; the first warms up. At some time in its first 5,000 runs a sound process takes
 * 0.3 MB more, once, and stays there (40 seconds are flat): what a leak adds comes with every run. In a minute some 5,000 runs lie between the two: a leak of
 * 120 bytes a run is seen.
 */
const allowed = { share: 0.02, once: 0.4 };

/**
 * Runs one process for so many seconds: whole runs, tool rounds, typed outputs, runs that are left in the middle or before the first byte, and runs that fail.
 *
 * @returns Whether heap and handles stayed flat.
 */
export async function soak(seconds: number, server: string): Promise<boolean> {
  const samples = await samplesOf(seconds, server);
  const quarter = Math.floor(samples.length / 4);
  if (quarter === 0) throw new Error('The soak was too short to tell anything.');
  const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)];
  // The least of a quarter: what has not been collected yet is no leak.
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
  console.log(
    `soak: ${runs} runs in ${seconds} s. Heap ${heap[0].toFixed(2)} MB early, ${heap[1].toFixed(2)} MB late; handles ${handles[0]}, ${handles[1]}. ${flat ? 'Flat.' : 'NOT flat.'}`,
  );
  return flat;
}

async function samplesOf(seconds: number, server: string): Promise<readonly Sample[]> {
  const task = JSON.stringify({ module: rivulet.module, server, seconds });
  // Optimised code and what it learns from grow for minutes, by 10 % of this heap; without, a sound run stays within 0.2 %.
  const args = ['--expose-gc', '--no-opt', join(compiled, 'client/soak.js'), task];
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`The soak's process failed: ${stderr}`));
      else resolve(stdout);
    });
  });
  return JSON.parse(output) as readonly Sample[];
}
