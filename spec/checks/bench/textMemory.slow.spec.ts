import { execFileSync } from 'node:child_process';
import { expect, it } from '@jest/globals';

interface Measured {
  readonly provider: string;
  readonly isComplete: boolean;
  readonly streaming: number;
  readonly ended: number;
}

it('an answer of 20 MB is held once in memory on each wire, while it streams and in the result', () => {
  const args = ['--expose-gc', '--import', 'tsx', 'spec/checks/bench/textMemory.ts', '20'];
  const measured = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Measured[];
  expect(measured).toHaveLength(6);
  for (const { provider, isComplete, streaming, ended } of measured) {
    expect({ provider, isComplete }).toEqual({ provider, isComplete: true });
    expect({ provider, isOneCopy: streaming < 1.4 && ended < 1.4, streaming, ended }).toMatchObject({
      isOneCopy: true,
    });
  }
}, 120_000);
