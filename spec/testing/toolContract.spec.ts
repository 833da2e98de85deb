import { describe, expect, it } from '@jest/globals';
import { concatMap, finalize, firstValueFrom, fromEvent, map, timer } from 'rxjs';
import { askTool, progress, tool } from 'rivulet';
import type { OptionsOf, Tool } from 'rivulet';
import { toolContract } from 'rivulet/testing';
import * as z from 'zod';

const parameters = z.object({ city: z.string() });
const description = 'The weather.';
const options = { arguments: { city: 'Oslo' }, invalidArguments: { city: 5 }, within: 200 };

/** The titles of the cases that fail. */
async function failing(
  create: () => Tool,
  more: Partial<OptionsOf<typeof toolContract>> = {},
): Promise<readonly string[]> {
  const cases = toolContract(create, { ...options, ...more });
  const outcomes = await Promise.allSettled(cases.map(({ run }) => run()));
  return cases.flatMap(({ title }, index) => (outcomes[index]?.status === 'rejected' ? [title] : []));
}

let held = 0;
const observed = tool({
  name: 'weather',
  description,
  parameters,
  execute: () => {
    held++;
    return timer(5).pipe(
      map(() => 'cold'),
      finalize(() => held--),
    );
  },
});
const promised = tool({
  name: 'weather',
  description,
  parameters,
  execute: (_args, { signal }) =>
    new Promise<string>((resolve, reject) => {
      const end = setTimeout(() => resolve('cold'), 5);
      signal.addEventListener('abort', () => {
        clearTimeout(end);
        reject(new Error('cancelled'));
      });
    }),
});

describe('toolContract', () => {
  it.each(toolContract(() => observed, { ...options, held: () => held }))('an Observable $title', ({ run }) => run());
  it.each(toolContract(() => promised, options))('a Promise $title', ({ run }) => run());
  it.each(toolContract(() => tool({ name: 'now', description, execute: () => 'now' }), { arguments: {} }))(
    'a function $title',
    ({ run }) => run(),
  );

  describe('a tool that asks', () => {
    const asking = askTool({
      name: 'weather',
      description,
      parameters,
      execute: (_, { ask, once }) =>
        ask({ message: 'Which unit?', schema: z.object({ unit: z.string() }), key: 'unit' }).pipe(
          concatMap(({ unit }) => once('measure', () => timer(5).pipe(map(() => `5 ${unit}`)))),
        ),
    });
    it.each(toolContract(() => asking, { ...options, answers: { unit: { unit: 'K' } } }))('$title', ({ run }) => run());

    it('breaks the contract without an answer', async () => {
      expect(await failing(() => asking)).toEqual(['settles with a result', 'keeps two calls at the same time apart']);
      const [settles] = toolContract(() => asking, options);
      await expect(settles?.run()).rejects.toThrow('it asks "Which unit?" (key unit)');
    });
  });

  it('toolContract finds a tool that ignores its signal', async () => {
    const deaf = tool({
      name: 'weather',
      description,
      parameters,
      execute: (_args, { signal }) => (signal.aborted ? 'cold' : new Promise<string>(() => undefined)),
    });
    expect(await failing(() => deaf)).toEqual([
      'settles with a result',
      'keeps two calls at the same time apart',
      'settles when it is cancelled, and reports nothing more',
    ]);
  });

  it('toolContract finds a tool that goes on after it was cancelled', async () => {
    const late = tool({
      name: 'weather',
      description,
      parameters,
      execute: async (_args, { signal, progress: report }) => {
        await firstValueFrom(timer(5));
        if (signal.aborted) report('still working');
        return 'cold';
      },
    });
    expect(await failing(() => late)).toEqual(['settles when it is cancelled, and reports nothing more']);
  });

  it('toolContract finds a tool that holds what it opened', async () => {
    let open = 0;
    const leaking = tool({
      name: 'weather',
      description,
      parameters,
      execute: () => {
        open++;
        return 'cold';
      },
    });
    expect(await failing(() => leaking, { held: () => open })).toEqual([
      'holds nothing after its end',
      'holds nothing after it was cancelled',
    ]);
  });

  it('toolContract finds state that calls share, a failure, and arguments that are not validated', async () => {
    let isBusy = false;
    const exclusive = tool({
      name: 'weather',
      description,
      parameters: z.looseObject({}),
      execute: () => {
        if (isBusy) throw new Error('busy');
        isBusy = true;
        return timer(5).pipe(
          map(() => progress('cold')),
          finalize(() => (isBusy = false)),
        );
      },
    });
    expect(await failing(() => exclusive)).toContain('is not executed with invalid arguments');
    const [, twoCalls] = toolContract(() => exclusive, options);
    await expect(twoCalls?.run()).rejects.toThrow('The tool breaks its contract: a call failed: busy.');
  });

  it('a signal of toolContract is one that a tool can listen to', async () => {
    const aborted: string[] = [];
    const listening = tool({
      name: 'weather',
      description,
      parameters,
      execute: (_args, { signal }) => {
        fromEvent(signal, 'abort').subscribe({ next: () => aborted.push('aborted') });
        return timer(5).pipe(map(() => 'cold'));
      },
    });
    expect(await failing(() => listening)).toEqual([]);
    expect(aborted).toContain('aborted');
  });
});
