// npm run debug:streaming-tool-calls: what arrives on the wire, and what each operator makes of it.
import { tap } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { accumulateToolCalls, consolidate } from 'rivulet';
import { run } from '../debug/run.js';

await run(
  'Shows each frame of an answer, the chunks it is decoded to, and what each operator adds to them.',
  (answer, print) => {
    const known = new WeakSet<object>();
    /** Shows what an operator has made; what it only passes on was shown before. */
    const made = <E extends { readonly type: string }>(by: string): MonoTypeOperatorFunction<E> =>
      tap((event) => {
        const { type, ...fields } = event;
        if (!known.has(event)) print(by, `${type} ${JSON.stringify(fields)}`);
        known.add(event);
      });
    return answer.pipe(
      made('  chunk'),
      accumulateToolCalls(),
      made('  accumulateToolCalls'),
      consolidate(),
      made('  consolidate'),
    );
  },
);
