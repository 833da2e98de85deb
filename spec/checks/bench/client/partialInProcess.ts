/**
 * Partial objects without a wire: the deltas are in memory, so that only the parser and the operators are measured. All
 * deltas are emitted synchronously, as from one network read, or each in its own macrotask, as from separate reads.
 */
import { Observable } from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import { partialArguments, partialOutput } from '../../../../lib/index.js';
import type { StreamEvent } from '../../../../lib/index.js';
import { incrementalParser } from './incrementalParser.js';
import type { Job, Library } from './job.js';

const nextRead = () => new Promise<void>((resolve) => setImmediate(resolve));

async function each({ deltas = [], apart }: Job, take: (delta: string) => void): Promise<void> {
  for (const delta of deltas) {
    take(delta);
    if (apart) await nextRead();
  }
}

export const floor: Library = async (job) => {
  const json = incrementalParser();
  await each(job, (delta) => json.push(delta));
  job.onPartial(json.value());
};

const through = <T>(
  job: Job,
  eventOf: (delta: string) => StreamEvent,
  operator: OperatorFunction<StreamEvent, T>,
  next: (partial: T) => void,
) =>
  new Promise<void>((resolve, reject) => {
    const events = new Observable<StreamEvent>((out) => {
      void each(job, (delta) => out.next(eventOf(delta))).then(() => out.complete());
    });
    events.pipe(operator).subscribe({ next, error: reject, complete: resolve });
  });

const textOf = (text: string) => ({ type: 'text', text });
const fragmentOf = (args: string) => ({
  type: 'toolCallFragment',
  index: 0,
  id: 'call_0',
  name: 'save',
  arguments: args,
});

export const output: Library = (job) => through(job, textOf, partialOutput<unknown>(), job.onPartial);
export const toolArguments: Library = (job) =>
  through(job, fragmentOf, partialArguments(), (call) => job.onPartial(call.arguments));
