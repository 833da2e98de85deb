import { tap } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { accumulateToolCalls, consolidate } from 'rivulet';
import type { Debugger } from '../debug/run.js';

/** Shows what arrives on the wire, and what each operator makes of it. */
export const operators: Debugger = {
  usage: 'Shows each frame of an answer, the chunks that are decoded from it, and what each operator adds to them.',
  watch(answer, print) {
    const printed = new WeakSet<object>();
    /** Prints the events that an operator creates. An event that it only passes on has been printed before. */
    const printNew = <E extends { readonly type: string }>(label: string): MonoTypeOperatorFunction<E> =>
      tap((event) => {
        const { type, ...fields } = event;
        if (!printed.has(event)) print(label, `${type} ${JSON.stringify(fields)}`);
        printed.add(event);
      });
    return answer.pipe(
      printNew('  chunk'),
      accumulateToolCalls(),
      printNew('  accumulateToolCalls'),
      consolidate(),
      printNew('  consolidate'),
    );
  },
};
