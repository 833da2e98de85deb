import type { SpecRunner } from '../observe/spec/specText.js';
import { UsageError } from './usageError.js';

export function runnerOf(name: string): SpecRunner {
  if (name === 'jest' || name === 'vitest' || name === 'node') return name;
  throw new UsageError(`--runner "${name}" is not jest, vitest or node.`);
}
