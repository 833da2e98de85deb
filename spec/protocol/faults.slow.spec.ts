import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { faults, finishOffset, textWithin } from '../support/faults.js';

interface Outcome {
  readonly end: string;
  readonly text: string;
  readonly retracted?: string;
  readonly milliseconds: number;
  readonly leaksKey: boolean;
}
interface Report {
  readonly outcomes: Readonly<Record<string, readonly Outcome[]>> & {
    readonly gigabyte: Outcome;
    readonly storm: unknown;
  };
  readonly uncaught: readonly string[];
  readonly left: { readonly megabytes: number; readonly sockets: number; readonly most: number };
}

/** The longest time of an attempt: the limit of a turn, and what a busy machine adds. */
const longest = 4000 + 4000;
const ending = ({ end, text, retracted }: Outcome) => [end, text, retracted];

// One process: its memory, its sockets and its uncaught errors are those of the library.
describe('faults over real sockets', () => {
  let report: Report;
  beforeAll(async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--expose-gc', '--import', 'tsx', 'spec/support/faultRuns.ts'],
      { timeout: 280_000, maxBuffer: 2 ** 26 },
    );
    report = JSON.parse(stdout) as Report;
  });

  const table = [
    ...Object.entries(faults).map(([name, { code, text = '', isRetried = true }]) => ({ name, code, text, isRetried })),
    { name: 'refused', code: 'connection', text: '', isRetried: false },
  ];

  it.each(table)('a response with this fault ends in its error, in time, and keeps its text: $name', (row) => {
    const outcome = report.outcomes[row.name]?.[0];
    expect(outcome).toMatchObject({ end: row.code, text: row.text, leaksKey: false });
    expect(outcome?.milliseconds).toBeLessThan(longest);
  });

  it.each(table)('retryModel starts over after this fault if it is transient: $name', (row) => {
    const retracted = row.text === '' ? undefined : row.text;
    const expected = row.isRetried ? ['complete', 'Hello world', retracted] : [row.code, row.text, undefined];
    const outcome = report.outcomes[row.name]?.[1];
    expect(outcome && ending(outcome)).toEqual(expected);
    expect(outcome?.leaksKey).toBe(false);
  });

  it.each(table)('fallback answers from another server after this fault: $name', (row) => {
    const outcome = report.outcomes[row.name]?.[2];
    expect(outcome && ending(outcome)).toEqual(['complete', 'Hello world', row.text === '' ? undefined : row.text]);
    expect(outcome?.leaksKey).toBe(false);
  });

  it('a connection that is reset at any byte is retried, and shows a part of the text at most', () => {
    const outcomes = report.outcomes['resets'] ?? [];
    expect(outcomes).toHaveLength(finishOffset);
    for (const [offset, { end, text, retracted = '', leaksKey }] of outcomes.entries()) {
      expect([end, text, leaksKey]).toEqual(['complete', 'Hello world', false]);
      expect(textWithin(offset).startsWith(retracted)).toBe(true); // a reset discards what was not read
    }
  });

  it('a connection that is closed at any byte is retried, after all of the text that was sent', () => {
    const outcomes = report.outcomes['ends'] ?? [];
    expect(outcomes).toHaveLength(finishOffset);
    for (const [offset, { end, text, retracted = '' }] of outcomes.entries())
      expect([end, text, retracted]).toEqual(['complete', 'Hello world', textWithin(offset)]);
  });

  it('a hundred runs pass a storm of 429, 503 and resets, and end in its errors if it does not end', () => {
    expect(report.outcomes.storm).toEqual({ recovered: ['complete'], failed: ['connection', 'http'], requests: 400 });
  });

  it('a response of a gigabyte takes the memory of a small one', () => {
    expect(report.outcomes.gigabyte).toMatchObject({ end: 'complete', text: 'Hello world' });
    expect(report.left.most).toBeLessThan(250); // megabytes of the whole process, with its modules
  });

  it('no fault ends the process, or leaves memory or sockets', () => {
    expect(report.uncaught).toEqual([]);
    expect(report.left.sockets).toBeLessThanOrEqual(0);
    expect(report.left.megabytes).toBeLessThan(50);
  });
});
