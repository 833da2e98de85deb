import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent, outputElements, partialOutput, userMessage, typed } from 'rivulet';
import type { Model } from 'rivulet';
import { modelByName } from 'rivulet/registry';
import { toolCall } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';
import * as z from 'zod';
import { wires } from './typedRun.js';

const Tree: z.ZodType = z.array(z.lazy(() => Tree));

/** Schemas whose root is not an object, and a value of each. */
const kinds: readonly (readonly [string, z.ZodType, unknown])[] = [
  ['an array', z.array(z.object({ n: z.number(), note: z.string().optional() })), [{ n: 1 }, { n: 2 }]],
  ['an enum', z.enum(['red', 'green']), 'green'],
  [
    'a union',
    z.union([z.object({ a: z.string() }), z.object({ b: z.number(), value: z.number() })]),
    { b: 1, value: 2 },
  ],
  ['a number', z.number(), 42],
  ['a text', z.string(), 'Å "quoted" }]'],
  ['null', z.object({ a: z.string() }).nullable(), null],
  ['a recursive array', Tree, [[], [[]]]],
];

describe.each(wires)('a typed output whose root is not an object, over the wire of %s', (provider) => {
  let server: LoopbackServer;
  let value: unknown;
  let isInvalidFirst = false;
  let turn = 0;
  beforeAll(async () => {
    server = await serveModel(({ body }) => {
      turn++;
      const written = isInvalidFirst && turn === 1 ? { value: { wrong: 1 } } : { value };
      const hasTool = JSON.stringify((body as { tools?: unknown }).tools ?? []).includes('"return_result"');
      return hasTool
        ? [toolCall('return_result', written as never)]
        : (JSON.stringify(written).match(/[^]{1,3}/gu) ?? []);
    });
  });
  afterAll(() => server.close());
  const model = (capabilities = {}): Model =>
    modelByName(provider, { apiKey: 'key', baseUrl: server.urlFor(provider), retry: false, capabilities });
  const begin = (next: unknown, invalidFirst = false) => {
    [value, isInvalidFirst, turn] = [next, invalidFirst, 0];
  };

  // Anthropic accepts no schema that contains itself (spec/providers/schemas.spec.ts).
  const accepted = kinds.filter(([, output]) => provider !== 'anthropic' || output !== Tree);

  it.each(accepted)('returns %s, and no event contains the wrapper', async (_, output, expected) => {
    begin(expected);
    const events = await lastValueFrom(
      createAgent({ model: model(), output: typed(output) })
        .stream('Go.')
        .pipe(toArray()),
    );
    expect(events.at(-1)).toMatchObject({ result: { output: expected, text: JSON.stringify(expected) } });
    const message = events.find((event) => event.type === 'message')?.message;
    const parts = message?.parts.filter(({ type }) => type !== 'provider'); // OpenAI's ids of items
    expect(parts).toMatchObject([{ type: 'text', text: JSON.stringify(expected) }]);
  });

  it.each(kinds)('returns %s by return_result', async (_, output, expected) => {
    begin(expected);
    const byTool = model({ typedOutput: false, tools: true });
    const result = await lastValueFrom(
      createAgent({ model: byTool, output: typed(output), toolChoice: 'auto' }).run('Go.'),
    );
    expect(result).toMatchObject({ output: expected, text: JSON.stringify(expected) });
  });

  it('repairs an invalid output, and goes on with the conversation', async () => {
    begin([1, 2], true);
    const agent = createAgent({ model: model(), output: typed(z.array(z.number())) });
    const first = await lastValueFrom(agent.run('Go.'));
    expect(first).toMatchObject({ output: [1, 2], turns: 2 });
    const history = [userMessage('Go.'), ...first.messages];
    expect(await lastValueFrom(agent.run('Again.', { history }))).toMatchObject({ output: [1, 2], turns: 1 });
  });

  it('streams the elements and the partial output without the wrapper', async () => {
    begin(['a', 'b']);
    const agent = createAgent({ model: model(), output: typed(z.array(z.string())) });
    expect(await lastValueFrom(agent.stream('Go.').pipe(outputElements(z.string()), toArray()))).toEqual(['a', 'b']);
    expect(await lastValueFrom(agent.stream('Go.').pipe(partialOutput()))).toEqual(['a', 'b']);
  });
});
