import type { SpecRunner } from '../observe/spec/specText.js';
import { UsageError } from './usageError.js';

/** @throws UsageError for another name. */
export function runnerOf(name: string): SpecRunner {
  if (name === 'jest' || name === 'vitest' || name === 'node') return name;
  throw new UsageError(`--runner "${name}" is not jest, vitest or node.`);
}
