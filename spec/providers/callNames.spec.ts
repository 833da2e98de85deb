import { describe, expect, it } from '@jest/globals';
import { from, lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { Model, ModelRequest } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { userMessage } from '../../lib/core/message.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { cohere } from '../../lib/providers/cohere/cohere.js';
import { google } from '../../lib/providers/google/google.js';
import { googleInteractions } from '../../lib/providers/googleInteractions/googleInteractions.js';
import { mistral } from '../../lib/providers/mistral.js';
import { ollama } from '../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openai } from '../../lib/providers/openai.js';

const wires = { anthropic, cohere, google, googleInteractions, mistral, ollama, openaiChat, openai };
const invented = [
  'functions.weather',
  'default_api:weather',
  'weather<|channel|>commentary',
  'print(default_api.weather())',
  'creating:weather',
  'wetter_für_köln',
  'weather ',
  '1st',
  '\ud83d',
  'n'.repeat(90),
  '',
];

/** The names in a body, of calls and of results. */
function namesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = 'name' in value && typeof value.name === 'string' ? [value.name] : [];
  return [...own, ...Object.values(value).flatMap(namesIn)];
}

describe('names of calls', () => {
  it.each(Object.keys(wires))('%s echoes an invented name as one that every provider accepts', async (wire) => {
    for (const name of invented) {
      let body: unknown;
      const fetch = (async (_: unknown, init?: RequestInit) => {
        body = JSON.parse(init?.body as string);
        return new Response('{}', { status: 400 });
      }) as typeof globalThis.fetch;
      const call = { type: 'toolCall', id: 'abcdefghi', name, arguments: {} } as const;
      const result = { type: 'toolResult', id: 'abcdefghi', name, error: 'There is no such tool.' } as const;
      const messages = [
        userMessage('Hi'),
        { role: 'model', parts: [call] },
        { role: 'user', parts: [result] },
      ] as const;
      const chunks = wires[wire as 'openai']('m', { apiKey: 'k', fetch, retry: false }).stream({ messages });
      await lastValueFrom(chunks).catch(() => undefined);
      const names = namesIn(body);
      expect(names.length).toBeGreaterThan(0);
      for (const each of names) expect(each).toMatch(/^[A-Za-z_][\w-]{0,63}$/);
      expect(new Set(names).size).toBe(1);
    }
  });

  it('keeps the name of a tool of the request, which Google may accept with dots', async () => {
    let body = '';
    const fetch = (async (_: unknown, init?: RequestInit) => {
      body = init?.body as string;
      return new Response('{}', { status: 400 });
    }) as typeof globalThis.fetch;
    const call = { type: 'toolCall', id: 'a', name: 'maps.find', arguments: {} } as const;
    const request: ModelRequest = {
      messages: [userMessage('Hi'), { role: 'model', parts: [call] }],
      tools: [{ name: 'maps.find', description: 'Finds.', parameters: { type: 'object' } }],
    };
    await lastValueFrom(google('m', { apiKey: 'k', fetch, retry: false }).stream(request)).catch(() => undefined);
    expect(body).toContain('"functionCall":{"name":"maps.find"');
  });

  it.each([
    ['functions.weather', true],
    ['default_api.weather', true],
    ['default_api:weather', true],
    ['weather<|channel|>commentary', true],
    ['weather ', true],
    ['Weather', false],
    ['unfunctions.weather', false],
    ['functions.rain', false],
    ['weather.functions', false],
  ])('a call of %j runs the tool "weather": %s', async (name, runs) => {
    const turns: Chunk[][] = [
      [
        { type: 'toolCallFragment', index: 0, id: 'c', name, arguments: '{}' },
        { type: 'finish', reason: 'stop' },
      ],
      [
        { type: 'text', text: 'Done' },
        { type: 'finish', reason: 'stop' },
      ],
    ];
    const model: Model = { provider: 'toy', name: 'toy', stream: () => from(turns.shift() ?? []) };
    const weather = tool({ name: 'weather', description: 'Tells it.', execute: () => 'sun' });
    const events = await lastValueFrom(
      createAgent({ model, tools: [weather] })
        .stream('Hi')
        .pipe(toArray()),
    );
    expect(events.some(({ type }) => type === 'toolStart')).toBe(runs);
    expect(events.some((event) => event.type === 'text' && event.text.includes('Done'))).toBe(true);
  });

  it.each(['a b', 'a/b', 'wetter_für_köln', 'a<|b|>', 'n'.repeat(129)])('tool() refuses the name %j', (name) => {
    expect(() => tool({ name, description: 'T', execute: () => 1 })).toThrow(
      /No provider accepts a tool with the name/,
    );
  });
});
