import { lastValueFrom, tap } from 'rxjs';
import { anthropic, cachePrompt, createAgent, priceModel, tool, toolCatalogue } from 'rivulet';
import type { Model } from 'rivulet';
import { toolCall } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import * as z from 'zod';

// A long run with a catalogue of 1,000 tools, once without and once with a cached prompt. `npm run example:long-run` is
// offline: a loopback server with the wire and the cache of Anthropic. With ANTHROPIC_API_KEY, it asks Anthropic.

const prices = { input: 3, output: 15, cachedInput: 0.3, cacheWriteInput: 3.75 }; // dollars per million tokens

const parts = Array.from({ length: 999 }, (_, number) =>
  tool({
    name: `part_${number}`,
    description: `Returns the drawing of part ${number}.`,
    execute: () => `Drawing of part ${number}: ${'line, '.repeat(200)}`,
  }),
);
const gramsOf = (part: number) => (part * 37) % 100;
const weight = tool({
  name: 'weigh_part',
  description: 'Returns the weight of a part, and what is known of its material.',
  parameters: z.object({ part: z.number() }),
  execute: ({ part }) => `Part ${part} weighs ${gramsOf(part)} g. ${'Its material is steel. '.repeat(150)}`,
});
const numbers = Array.from({ length: 8 }, (_, index) => index + 1);
const question = `How much do the parts ${numbers.join(', ')} weigh together? Weigh one after the other.`;

/** What the loopback server answers: it searches for a tool, and then weighs one part in each turn. */
const offlineScript = [
  [toolCall('search_tools', { query: 'weight of a part' })],
  ...numbers.map((part) => [toolCall('weigh_part', { part })]),
  `They weigh ${numbers.reduce((sum, part) => sum + gramsOf(part), 0)} g together.`,
];

/** Runs the question, and prints what each turn has sent. */
async function ask(title: string, model: Model): Promise<void> {
  console.log(title);
  const sent: number[] = [];
  const catalogue = toolCatalogue([...parts, weight]);
  const agent = createAgent({
    model,
    system: 'You weigh parts for a factory.',
    tools: catalogue.tools,
    prepareTurn(state) {
      const changes = catalogue.prepareTurn(state);
      sent.push(changes.tools.length);
      return changes;
    },
  });
  const events = agent.stream(question).pipe(
    tap((event) => {
      if (event.type !== 'turn') return;
      const { input = 0, cachedInput = 0 } = event.usage ?? {};
      console.log(
        `  turn ${event.turn}: ${sent.at(-1)} of 1000 tools, ${input} tokens of input, ${cachedInput} from the cache`,
      );
    }),
  );
  const last = await lastValueFrom(events);
  if (last.type === 'result') console.log(`  ${last.result.text.trim()} It has cost $${last.result.cost?.toFixed(4)}.`);
}

const isOnline = process.env['ANTHROPIC_API_KEY'] !== undefined;
const server = await serveModel([...offlineScript, ...offlineScript], { promptCache: true });
const model = priceModel(
  anthropic('claude-sonnet-5-5', isOnline ? {} : { baseUrl: server.urlFor('anthropic'), apiKey: 'none' }),
  prices,
);
await ask('Without a cached prompt', model);
await ask('With a cached prompt', cachePrompt(model));
await server.close();
