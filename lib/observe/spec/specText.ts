import { messageText } from '../../core/message.js';
import { shortJson } from '../draw/drawnLane.js';
import type { RecordedRun } from '../recording/readRecording.js';

/** A test runner for which specs are written. */
export type SpecRunner = 'jest' | 'vitest' | 'node';

interface Head {
  readonly imports: string;
  readonly it: string;
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

export const headOf = (runner: SpecRunner = 'vitest'): Head => heads[runner];

export function titleOf({ start }: RecordedRun): string {
  const input = shortJson((start.input ?? []).map(messageText).join(' ').trim(), 80);
  return `the run ${input === '' ? '' : `"${input}" `}emits the recorded events`;
}

/** `__proto__` is a computed key, which does not set the prototype. It follows a brace or comma; no text does. */
export const toSource = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/(?<=[{,])"__proto__":/g, '["__proto__"]:');

export function importLine(module: string, names: readonly string[]): string {
  const types = names.filter((name) => name.startsWith('type ')).map((name) => name.slice('type '.length));
  const values = names.filter((name) => !name.startsWith('type '));
  const line = (keyword: string, list: readonly string[]) =>
    list.length > 0 ? `${keyword} { ${list.join(', ')} } from '${module}';\n` : '';
  return line('import', values) + line('import type', types);
}
