import { messageText } from '../../core/message.js';
import { shortJson } from '../draw/lanes.js';
import type { RecordedRun } from '../readRecording.js';

/** A test runner for which specs are written. */
export type SpecRunner = 'jest' | 'vitest' | 'node';

interface Head {
  readonly imports: string;
  readonly it: string;
  /** The statement that compares two expressions deeply. */
  readonly equal: (actual: string, expected: string) => string;
}

const expectEqual = (actual: string, expected: string) => `expect(${actual}).toEqual(${expected});`;

const heads: Readonly<Record<SpecRunner, Head>> = {
  jest: { imports: "import { expect, it } from '@jest/globals';", it: 'it', equal: expectEqual },
  vitest: { imports: "import { expect, it } from 'vitest';", it: 'it', equal: expectEqual },
  node: {
    imports: "import { deepStrictEqual } from 'node:assert/strict';\nimport { it } from 'node:test';",
    it: 'void it',
    equal: (actual, expected) => `deepStrictEqual(${actual}, ${expected});`,
  },
};

/** The parts of a spec that depend on the runner. */
export const headOf = (runner: SpecRunner = 'vitest'): Head => heads[runner];

/** The title of the spec of a run. */
export function titleOf({ start }: RecordedRun): string {
  const input = shortJson((start.input ?? []).map(messageText).join(' ').trim(), 80);
  return `the run ${input === '' ? '' : `"${input}" `}emits the recorded events`;
}
