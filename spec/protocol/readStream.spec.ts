import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, materialize, take, toArray } from 'rxjs';
import { readStream } from '../../lib/protocol/post.js';

/** A stream that counts what is pulled; after the values it closes, breaks or is silent. */
function source(values: readonly number[], end: 'close' | 'break' | 'silence') {
  const seen = { pulled: 0, cancelled: 0 };
  const left = values[Symbol.iterator]();
  const stream = new ReadableStream<number>(
    {
      pull(controller) {
        const { done, value } = left.next();
        seen.pulled += 1;
        if (!done) controller.enqueue(value);
        else if (end === 'break') controller.error(new Error('broken'));
        else if (end === 'close') controller.close();
      },
      cancel() {
        seen.cancelled += 1;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, seen };
}

const failure = (thrown: unknown) => new Error(`failed: ${String(thrown)}`);

describe('readStream', () => {
  it('emits the values and completes with the stream, which it does not cancel then', async () => {
    const { stream, seen } = source([1, 2], 'close');
    expect(await lastValueFrom(readStream(stream, failure).pipe(toArray()))).toEqual([1, 2]);
    expect(seen.cancelled).toBe(0);
  });

  it('errors with what is made of the failure, after the values', async () => {
    const all = await lastValueFrom(readStream(source([1], 'break').stream, failure).pipe(materialize(), toArray()));
    expect(all).toMatchObject([
      { kind: 'N', value: 1 },
      { kind: 'E', error: { message: 'failed: Error: broken' } },
    ]);
  });

  it('cancels in the tick of the unsubscription, and reads no further than its reader wants', async () => {
    const { stream, seen } = source([1, 2, 3], 'close');
    expect(await lastValueFrom(readStream(stream, failure).pipe(take(1)))).toBe(1);
    expect(seen).toEqual({ pulled: 1, cancelled: 1 });
    const silent = source([], 'silence');
    readStream(silent.stream, failure).subscribe().unsubscribe();
    expect(silent.seen.cancelled).toBe(1);
  });
});
