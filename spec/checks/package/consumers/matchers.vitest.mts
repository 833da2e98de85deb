import { of } from 'rxjs';
import { expect } from 'vitest';
import { marbleMatchers } from 'rivulet/testing';
import type { MarbleValues } from 'rivulet/testing';

declare module 'vitest' {
  interface Matchers<T = any> {
    toEmitMarbles(marbles: string, values?: MarbleValues<unknown>, error?: unknown): void;
  }
}

expect.extend(marbleMatchers);
expect(() => of(1)).toEmitMarbles('(a|)', { a: [1] });
