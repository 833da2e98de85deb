import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent, tool, typed } from 'rivulet';
import type { Model, ModelOptions } from 'rivulet';
import { modelByName } from 'rivulet/registry';
import { toolCall } from 'rivulet/testing';
import type { Step } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';
import * as z from 'zod';
import { wires } from './typedRun.js';

const City = z.object({ name: z.string(), people: z.number() });
const oslo = { name: 'Oslo', people: 700_000 };
const json = JSON.stringify(oslo);
const look = tool({
  name: 'look',
  description: 'Looks it up.',
  parameters: z.object({ city: z.string() }),
  execute: () => 700_000,
});

/** Answers in whatever way it is asked: by the schema, by return_result, in two phases; over the wire of the provider. */
function answer(tools: readonly string[], said: readonly string[]): readonly Step[] {
  return tools.includes('return_result') ? [toolCall('return_result', JSON.parse(said.join('')) as never)] : said;
}

const toolsIn = (body: unknown): readonly string[] =>
  ['look', 'return_result'].filter((name) =>
    JSON.stringify((body as { tools?: unknown }).tools ?? []).includes(`"${name}"`),
  );
const chunks = (text: string): readonly string[] => [text.slice(0, 9), text.slice(9)];

describe.each(wires)('typedOutput over the wire of %s', (provider) => {
  let server: LoopbackServer;
  let script: (tools: readonly string[], turn: number) => readonly Step[];
  let turn = 0;
  const begin = (next: typeof script) => {
    turn = 0;
    script = next;
  };
  beforeAll(async () => {
    server = await serveModel(({ body }) => script(toolsIn(body), ++turn));
  });
  afterAll(() => server.close());
  const model = (options: ModelOptions = {}): Model =>
    modelByName(provider, { apiKey: 'key', baseUrl: server.urlFor(provider), retry: false, ...options });

  it('streams the JSON and validates it (without tools)', async () => {
    begin((tools) => answer(tools, chunks(json)));
    const result = await lastValueFrom(createAgent({ model: model(), output: typed(City) }).run('Oslo?'));
    expect(result.output).toEqual(oslo);
    expect(JSON.parse(result.text)).toEqual(oslo);
  });

  it('runs the tools before it returns the output', async () => {
    begin((tools, at) =>
      tools.includes('look') && at === 1
        ? [toolCall('look', { city: 'Oslo' })]
        : tools.includes('look') && at === 2 && !tools.includes('return_result')
          ? chunks(json)
          : answer(tools, chunks(json)),
    );
    const events = await lastValueFrom(
      createAgent({ model: model(), tools: [look], output: typed(City) })
        .stream('Oslo?')
        .pipe(toArray()),
    );
    expect(events.find(({ type }) => type === 'toolResult')).toMatchObject({ name: 'look', result: 700_000 });
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { output: oslo } });
  });

  it('repairs an invalid output', async () => {
    begin((tools, at) => answer(tools, chunks(at === 1 ? '{"name":"Oslo","people":"many"}' : json)));
    const { output, turns } = await lastValueFrom(createAgent({ model: model(), output: typed(City) }).run('Oslo?'));
    expect(output).toEqual(oslo);
    expect(turns).toBe(2);
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('people');
  });

  it('reports a refusal', async () => {
    begin(() => ['I will not say.', { type: 'finish', reason: 'contentFilter' }]);
    await expect(
      lastValueFrom(createAgent({ model: model(), output: typed(City) }).run('Oslo?')),
    ).rejects.toMatchObject(
      provider === 'ollama' || provider === 'together' || provider === 'mistral' || provider === 'cohere'
        ? { code: 'output' }
        : { code: 'output', reason: 'refused', text: 'I will not say.' },
    );
  });
});
