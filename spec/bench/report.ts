import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { out, root } from './build.js';
import type { Score } from './measure.js';
import type { Size } from './sizes.js';

/** A case of the report. */
export interface CaseReport {
  readonly name: string;
  readonly unit: string;
  /** The ratio of ours that the project promises. */
  readonly limit?: number;
  readonly scores: readonly Score[];
}

/** The growth of a cost with a size. */
export interface Growth {
  readonly name: string;
  readonly points: readonly (readonly [size: number, cost: number])[];
  readonly exponent: number;
}

/** All that was found. */
export interface Report {
  readonly date: string;
  readonly machine: string;
  readonly node: string;
  readonly commit: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly cases: readonly CaseReport[];
  readonly growth: readonly Growth[];
  readonly sizes: readonly Size[];
}

/** Where and with what it was measured. */
export function circumstances(): Pick<Report, 'date' | 'machine' | 'node' | 'commit' | 'versions'> {
  const [cpu] = cpus();
  const peers = createRequire(join(root, 'spec/bench/peers/package.json'))('./package.json') as { dependencies: Record<string, string> };
  const rxjs = (createRequire(join(root, 'package.json'))('rxjs/package.json') as { version: string }).version;
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} x ${cpu?.model.trim() ?? process.arch}, ${process.platform}`,
    node: process.version,
    commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim(),
    versions: { rxjs, ...peers.dependencies },
  };
}

const number = (value: number) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));

function row({ title, value, ratio, spread, failure }: Score): readonly string[] {
  if (value === undefined || ratio === undefined || spread === undefined) return [title, '-', '-', failure ?? ''];
  return [title, number(value), ratio.toFixed(2), `${spread[0].toFixed(2)} - ${spread[1].toFixed(2)}`];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((cells) => (cells[column] ?? '').length), title.length));
  const line = (cells: readonly string[]) => `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n');
}

/** A case as a table in Markdown. */
export function caseTable({ name, unit, limit, scores }: CaseReport): string {
  const promise = limit === undefined ? '' : ` (ours: at most ${limit})`;
  return `### ${name}${promise}\n\n${table(['library', unit, 'x the first', 'side by side'], scores.map(row))}\n`;
}

export const growthTable = (growth: readonly Growth[]): string =>
  table(
    ['growth', 'exponent', 'CPU ms at each size'],
    growth.map(({ name, exponent, points }) => [
      name,
      exponent.toFixed(2),
      points.map(([size, cost]) => `${size}: ${number(cost)}`).join(', '),
    ]),
  );

export const sizeTable = (sizes: readonly Size[]): string =>
  table(
    ['import', 'bytes, minified and gzipped', 'limit'],
    sizes.map(({ what, bytes, limit }) => [what, String(bytes), String(limit)]),
  );

/** Writes the report where CI and the README's author find it. */
export function write(report: Report, name: string): string {
  mkdirSync(out, { recursive: true });
  const file = join(out, `${name}.json`);
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  return file;
}
