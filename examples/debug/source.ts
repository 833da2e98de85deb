import { tool, toolDefinition, userMessage } from 'rivulet';
import type { Model, Request } from 'rivulet';
import { modelByName, registeredProviders } from 'rivulet/registry';
import { toolCall } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';
import type { Options } from './options.js';
import { serveRecorded } from './recordings.js';

/** Whom to ask, and what. */
export interface Source {
  readonly about: string;
  readonly model: Model;
  readonly request: Request;
  /** How often to ask. */
  readonly answers: number;
  readonly close: () => Promise<void>;
}

const tools = [
  tool({
    name: 'weather',
    description: 'The weather in a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: () => 'sunny',
  }),
  tool({ name: 'clock', description: 'The time now.', execute: () => '12:00' }),
];

/** What the stand-in says: text, and two calls of which the second has no arguments. */
const script = () => [
  { type: 'thinking', text: 'Two look-ups.' } as const,
  'Let me look.',
  toolCall('weather', { city: 'Lisbon' }),
  toolCall('clock'),
];

/**
 * A recording, the provider, or, without its key, a stand-in that speaks its wire format.
 *
 * @param options The command line.
 * @param fetch Makes the requests.
 */
export async function sourceOf({ recording, ...options }: Options, fetch: typeof globalThis.fetch): Promise<Source> {
  const served = recording === undefined ? undefined : await serveRecorded(recording);
  const wanted = options.provider ?? served?.provider ?? 'openai';
  const found = registeredProviders().find(({ name, aliases }) => name === wanted || aliases.includes(wanted));
  if (!found)
    throw new Error(
      `There is no provider "${wanted}". There are: ${registeredProviders()
        .map(({ name }) => name)
        .join(', ')}.`,
    );
  const { name, keyVariable, defaultModel } = found;
  const model = `${name}:${options.model ?? defaultModel}`;
  const request = {
    messages: [
      userMessage(options.prompt ?? 'What is the weather in Lisbon, and what time is it? Use both tools at once.'),
    ],
    tools: tools.map(toolDefinition),
  };
  const offline = async (server: LoopbackServer, about: string, answers = 1): Promise<Source> => ({
    about,
    request,
    answers,
    model: modelByName(model, { baseUrl: server.urlFor(name), apiKey: 'none', fetch, retry: false }),
    close: () => server.close(),
  });
  if (served) return offline(served.server, `${recording}, read as ${model}`, served.answers);
  const key = keyVariable && process.env[keyVariable]?.trim();
  if (key)
    return { about: model, request, answers: 1, model: modelByName(model, { fetch }), close: () => Promise.resolve() };
  return offline(
    await serveModel(script),
    `${model}, by a scripted stand-in${keyVariable ? `; set ${keyVariable} for the real one` : ''}`,
  );
}
