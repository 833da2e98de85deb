import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { out } from './build.js';
import { baseContestants } from './contestants.js';
import type { Contestant } from './contestants.js';
import { many, shapes } from './plans.js';
import { runClient } from './processes.js';
import { table } from './report.js';
import { median } from './statistics.js';
import type { Api } from './wire.js';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

/** A profile of V8: the sampled functions, and the microseconds before each sample. */
interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const folder = join(out, 'profiles');
const shown = 20;
/** The microseconds between two samples. A longer gap is time in which another process had the core. */
const interval = 100;

/** Prints where the floor and Rivulet spend the CPU time of a run: the time of each file and of each function itself. */
export async function profile(name: string, wire: Api, server: string): Promise<void> {
  const job = shapes.find((shape) => shape.case.split('-')[0] === name.split('-')[0])?.job;
  for (const contestant of baseContestants(wire, job)) {
    const { cpu, frames } = await profileOf(contestant, name, server);
    console.log(`${name}, ${wire}, ${contestant.title}: ${(cpu * 1000).toFixed(0)} us of CPU time a run\n`);
    for (const titleOf of [fileOf, functionOf]) {
      const times = new Map<string, number>();
      for (const [frame, time] of frames) times.set(titleOf(frame), (times.get(titleOf(frame)) ?? 0) + time);
      const total = [...times.values()].reduce((sum, time) => sum + time, 0);
      const top = [...times].sort(([, one], [, other]) => other - one).slice(0, shown);
      const rows = top.map(([title, time]) => [title, ((1000 * cpu * time) / total).toFixed(1)]);
      console.log(`${table([titleOf === fileOf ? 'file' : 'function', 'us a run'], rows)}\n`);
    }
  }
}

type Frame = ProfileNode['callFrame'];

/** Returns the CPU milliseconds of a run, and the samples of the second half: the first half is the warm-up. */
async function profileOf({ module, library }: Contestant, name: string, server: string) {
  rmSync(folder, { recursive: true, force: true });
  const flags = ['--cpu-prof', '--cpu-prof-interval', String(interval), '--cpu-prof-dir', folder];
  const task = { module, library, server, case: name, ...many, budget: 6_000, least: 1 };
  const { finding, failure } = await runClient(task, process.execPath, flags);
  const [file] = readdirSync(folder);
  if (!finding || file === undefined) throw new Error(`${name}: ${failure}`);
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile;
  const known = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const frames = samples
    .map((id, at) => [known.get(id), Math.min(timeDeltas[at] ?? 0, interval)] as const)
    .slice(samples.length / 2)
    .filter(
      (sample): sample is readonly [Frame, number] => sample[0] !== undefined && sample[0].functionName !== '(idle)',
    );
  return { cpu: median(finding.costs), frames };
}

/** The last two parts of a path. */
const shortened = (url: string) => url.split('/').slice(-2).join('/');

/** The file of a function, or the folder of a package; a native function has none. */
const fileOf = ({ functionName, url }: Frame): string =>
  /node_modules\/([^/]+)/.exec(url)?.[1] ?? (url === '' ? functionName : shortened(url));

const functionOf = ({ functionName, url, lineNumber }: Frame): string =>
  `${functionName || '(anonymous)'}${url === '' ? '' : ` ${shortened(url)}:${lineNumber + 1}`}`;
