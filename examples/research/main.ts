import { lastValueFrom, tap } from 'rxjs';
import { createAgent, tool } from 'rivulet';
import { modelByName } from 'rivulet/registry';
import { toolCall, scriptedModel } from 'rivulet/testing';
import * as z from 'zod';
import { stripControlCharacters } from '../terminal/text.js';
import { research } from './research.js';

// A custom orchestrator. `npm run example:research` is offline; with `-- openai:gpt-6.1-terra` and an API key it uses a real
// model.

const areas: Readonly<Record<string, number>> = { Norway: 385_207, Portugal: 92_230 };
const area = tool({
  name: 'area',
  description: 'The area of a country, in km².',
  parameters: z.object({ country: z.string() }),
  execute: ({ country }) => areas[country] ?? `There is no ${country} in the table: ${Object.keys(areas).join(', ')}.`,
});

const offlineModel = () =>
  scriptedModel([
    'Needed: the areas of Norway and of Portugal.',
    [toolCall('area', { country: 'Norway' }), toolCall('area', { country: 'Portugal' })],
    'Norway has 385207 km², Portugal 92230 km².',
    'Norway is about four times as large as Portugal.',
  ]);

const name = process.argv[2];
const agent = createAgent({ model: name ? modelByName(name) : offlineModel(), tools: [area], orchestrator: research });

await lastValueFrom(
  agent.stream('How many times as large as Portugal is Norway?').pipe(
    tap((event) => {
      if (event.type === 'text') process.stdout.write(stripControlCharacters(event.text));
      if (event.type === 'toolCall')
        console.log(stripControlCharacters(`→ ${event.name} ${JSON.stringify(event.arguments)}`));
      if (event.type === 'turn') console.log(`\n[turn ${event.turn}]`);
    }),
  ),
);
