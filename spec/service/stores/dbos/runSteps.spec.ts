import { describe, expect, it } from '@jest/globals';
import { from, lastValueFrom, of, Subject, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { messageText, userMessage } from '../../../../lib/core/message.js';
import type { Message } from '../../../../lib/core/message.js';
import type { DurableEngine } from '../../../../lib/service/stores/dbos/engine.js';
import { RunSteps } from '../../../../lib/service/stores/dbos/runSteps.js';
import type { DurableStep } from '../../../../lib/service/stores/dbos/runSteps.js';

/** An engine that keeps the results of steps in an array, as DBOS does in its tables. */
function createEngine(stored: unknown[]) {
  let next = 0;
  const runStep = <T>(work: () => Promise<T>): Promise<T> => {
    const index = next++;
    if (index < stored.length) return Promise.resolve(stored[index] as T);
    return work().then((result) => (stored[index] = JSON.parse(JSON.stringify(result)) as T));
  };
  return { runStep } as unknown as DurableEngine;
}

const step = (source: Observable<string>): DurableStep<string, { readonly values: readonly string[] }> => ({
  source,
  isHeld: () => true,
  store: (values) => ({ values }),
  restore: ({ values }) => from(values),
});

/** An execution of a run: what it does, and the prompts that join it, in one list. */
function execute(stored: unknown[], arrivals: Observable<Message>) {
  const steps = new RunSteps(createEngine(stored), (thrown) => {
    throw thrown;
  });
  const seen: string[] = [];
  steps.storedPrompts(arrivals).subscribe((prompt) => seen.push(messageText(prompt)));
  const run = (name: string, source: Observable<string>) =>
    lastValueFrom(steps.run(name, step(source)).pipe(toArray())).then((values) => seen.push(...values));
  return { seen, run };
}

describe('RunSteps.storedPrompts', () => {
  it('emits a prompt when the step in which it arrived is stored, and in a later execution after the same step', async () => {
    const stored: unknown[] = [];
    const arrivals = new Subject<Message>();
    const first = execute(stored, arrivals);
    await first.run('one', of('1'));
    const second = new Subject<string>();
    const running = first.run('two', second);
    arrivals.next(userMessage('A'));
    arrivals.next(userMessage('B'));
    expect(first.seen).toEqual(['1']);
    second.next('2');
    second.complete();
    await running;
    await first.run('three', of('3'));
    expect(first.seen).toEqual(['1', 'A', 'B', '2', '3']);

    // The log has all prompts from the start.
    const again = execute(stored, from([userMessage('A'), userMessage('B'), userMessage('C')]));
    for (const name of ['one', 'two', 'three', 'four']) await again.run(name, of('4'));
    expect(again.seen).toEqual(['1', 'A', 'B', '2', '3', 'C', '4']);
  });

  it('keeps the order of prompts that parallel steps have stored', async () => {
    const stored: unknown[] = [];
    const arrivals = new Subject<Message>();
    const first = execute(stored, arrivals);
    const [slow, fast] = [new Subject<string>(), new Subject<string>()];
    const both = [first.run('slow', slow), first.run('fast', fast)];
    arrivals.next(userMessage('A'));
    fast.complete();
    arrivals.next(userMessage('B'));
    slow.complete();
    await Promise.all(both);
    expect(first.seen).toEqual(['A', 'B']);
    const again = execute(stored, from([userMessage('A'), userMessage('B')]));
    await again.run('slow', of(''));
    expect(again.seen).toEqual([]);
    await again.run('fast', of(''));
    expect(again.seen).toEqual(['A', 'B']);
  });
});
