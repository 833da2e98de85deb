import { tool, toolDefinition, userMessage } from 'rivulet';
import type { Model, ModelRequest } from 'rivulet';
import { modelByName } from 'rivulet/registry';
import { toolCall } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';
import { findProvider } from '../terminal/providers.js';
import type { Options } from './options.js';
import { serveRecorded } from './recordings.js';

/** A model and the request for it. */
export interface Source {
  readonly about: string;
  readonly model: Model;
  readonly request: ModelRequest;
  /** How many answers there are: the request is sent once for each. */
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

/** The stand-in's answer: thinking, text, and two calls, the second without arguments. */
const script = () => [
  { type: 'thinking', text: 'Two look-ups.' } as const,
  'Let me look.',
  toolCall('weather', { city: 'Lisbon' }),
  toolCall('clock'),
];

/**
 * Opens a recording, the provider, or, without its key, a stand-in that speaks its wire format.
 *
 * @param options The command line.
 * @param env May hold the key.
 * @param fetch Makes the requests.
 */
export async function openSource(
  { recording, ...options }: Options,
  env: NodeJS.ProcessEnv,
  fetch: typeof globalThis.fetch,
): Promise<Source> {
  const served = recording === undefined ? undefined : await serveRecorded(recording);
  const { name, keyVariable, defaultModel } = findProvider(options.provider ?? served?.provider ?? 'openai');
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
  if (served) return offline(served.server, `${recording} as ${model}`, served.answers);
  const key = keyVariable && env[keyVariable]?.trim();
  if (key)
    return { about: model, request, answers: 1, model: modelByName(model, { fetch }), close: () => Promise.resolve() };
  return offline(
    await serveModel(script),
    `${model} from a scripted stand-in${keyVariable ? `; set ${keyVariable} for the real model` : ''}`,
  );
}
