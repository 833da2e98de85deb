import { of } from 'rxjs';
import { marbleMatchers } from 'rivulet/testing';
import type { MarbleValues } from 'rivulet/testing';

declare global {
  namespace jest {
    interface Matchers<R> {
      toEmitMarbles(marbles: string, values?: MarbleValues<unknown>, error?: unknown): R;
    }
  }
}

expect.extend(marbleMatchers);
expect(() => of(1)).toEmitMarbles('(a|)', { a: [1] });
