import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { root } from './build.js';
import { nodes } from './contestants.js';
import type { Score } from './measure.js';
import type { Size } from './sizes.js';

/** The machine and the versions of a measurement. */
export interface Circumstances {
  readonly machine: string;
  readonly node: string;
  readonly versions: Readonly<Record<string, string>>;
}

/** The date and the commit of a measurement, and how busy the machine was. */
export interface Measured {
  readonly date: string;
  readonly commit: string;
  /** The load of the machine (processes that wait for a core) in the minute before the end of the measurement. */
  readonly load: number;
}

/** A case of the report. */
export interface CaseReport extends Measured {
  readonly name: string;
  readonly unit: string;
  /** Its table and column in docs/performance.md. */
  readonly place?: readonly [table: string, column: string];
  /** The largest ratio of Rivulet that the project accepts. */
  readonly limit?: number;
  readonly scores: readonly Score[];
}

/** The growth of a cost with a size. */
export interface Growth extends Measured {
  readonly name: string;
  readonly points: readonly (readonly [size: number, cost: number])[];
  readonly exponent: number;
  /** The largest exponent that the project accepts. */
  readonly limit?: number;
}

/** The results of the benchmark. */
export interface Report extends Circumstances {
  readonly cases: readonly CaseReport[];
  readonly growth: readonly Growth[];
  readonly sizes: readonly Size[];
}

/** Returns the current machine and versions. */
export function circumstances(): Circumstances {
  const [cpu] = cpus();
  const peers = createRequire(join(root, 'spec/checks/bench/peers/package.json'))('./package.json') as {
    dependencies: Record<string, string>;
  };
  const rxjs = (createRequire(join(root, 'package.json'))('rxjs/package.json') as { version: string }).version;
  return {
    machine: `${cpus().length} x ${cpu?.model.trim() ?? process.arch}, ${process.platform}`,
    node: nodes.map(({ version }) => version).join(' and '),
    versions: { rxjs, ...peers.dependencies },
  };
}

/** Returns the current date, commit and load. A plus after the commit means that lib/ has uncommitted changes. */
export function measured(): Measured {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', 'lib') !== '';
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: git('rev-parse', '--short', 'HEAD') + (changed ? '+' : ''),
    load: loadavg()[0] ?? NaN,
  };
}

/** Formats a value with three digits or more. */
export const formatNumber = (value: number) =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

function row({ title, value, ratio, spread, failure }: Score): readonly string[] {
  if (value === undefined || ratio === undefined || spread === undefined)
    return [title, '-', '-', `failed: ${failure ?? ''}`];
  return [title, formatNumber(value), ratio.toFixed(2), `${spread[0].toFixed(2)} - ${spread[1].toFixed(2)}`];
}

/** Formats a table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(...[head, ...rows].map((cells) => (cells[column] ?? '').length), title.length),
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n');
}

/** Formats a case as a table in Markdown. */
export function caseTable({ name, unit, limit, scores }: CaseReport): string {
  const promise = limit === undefined ? '' : ` (Rivulet: at most ${limit})`;
  return `### ${name}${promise}\n\n${table(['library', unit, 'ratio', 'ratios of the rounds'], scores.map(row))}\n`;
}

export const growthTable = (growth: readonly Growth[]): string =>
  table(
    ['growth', 'exponent', 'CPU ms at each size'],
    growth.map(({ name, exponent, points }) => [
      name,
      exponent.toFixed(2),
      points.map(([size, cost]) => `${size}: ${formatNumber(cost)}`).join(', '),
    ]),
  );
