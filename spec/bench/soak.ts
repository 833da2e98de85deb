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

/** How much the heap may grow between the second quarter of the time and the last. The first warms up. */
const allowed = 0.05;

/** Runs one process for so many seconds: whole runs, tool rounds, and runs that are left in the middle. Whether heap and handles stayed flat. */
export async function soak(seconds: number, server: string): Promise<boolean> {
  const task = JSON.stringify({ module: rivulet.module, server, seconds });
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      ['--expose-gc', join(compiled, 'client/soak.js'), task],
      { maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error) reject(new Error(`The soak's process failed: ${stderr}`));
        else resolve(stdout);
      },
    );
  });
  const samples = JSON.parse(output) as readonly Sample[];
  const quarter = Math.floor(samples.length / 4);
  const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)];
  const heap = [median(early.map((sample) => sample.heap)), median(late.map((sample) => sample.heap))] as const;
  const handles = [Math.max(...early.map((sample) => sample.handles)), Math.max(...late.map((sample) => sample.handles))] as const;
  const flat = heap[1] <= heap[0] * (1 + allowed) && handles[1] <= handles[0];
  const runs = samples.at(-1)?.runs ?? 0;
  console.log(
    `${runs} runs in ${seconds} s. Heap ${heap[0].toFixed(1)} MB early, ${heap[1].toFixed(1)} MB late; handles ${handles[0]}, ${handles[1]}. ${flat ? 'Flat.' : 'NOT flat.'}`,
  );
  return flat;
}
