import { execFileSync } from 'node:child_process';
import { expect, it } from '@jest/globals';

interface Measured {
  readonly deltaLength: number;
  readonly log: number;
  readonly reader: number;
  readonly left: number;
  readonly subscribers: number;
  readonly connections: number;
}

it('a client that reads nothing of 8 MB costs less than 4 MB, and nothing once it has vanished', () => {
  const args = ['--expose-gc', '--import', 'tsx', 'spec/checks/bench/slowReader.ts', '8'];
  const measured = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Measured[];
  expect(measured.map(({ deltaLength }) => deltaLength)).toEqual([5, 1]);
  for (const one of measured) {
    const { log, reader, left } = one;
    expect({ ...one, isBounded: reader < 4e6 && left < 2e6 && log < 2.5 }).toMatchObject({
      isBounded: true,
      subscribers: 0,
      connections: 0,
    });
  }
}, 120_000);
