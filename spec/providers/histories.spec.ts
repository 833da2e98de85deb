import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { JsonValue } from '../../lib/core/json/json.js';
import { filePart, userMessage } from '../../lib/core/message.js';
import type { Message, ToolResultPart } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { googleInteractions } from '../../lib/providers/googleInteractions/googleInteractions.js';
import { modelByName } from '../../lib/providers/registry/index.js';
import { toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../lib/testing/server/index.js';

const providers = [
  'openai-chat',
  'openai',
  'anthropic',
  'google',
  'google-interactions',
  'cohere',
  'mistral',
  'ollama',
  'openrouter',
  'together',
] as const;
type Provider = (typeof providers)[number];

const look = tool({ name: 'look', description: 'Looks.', execute: () => 'blue' });

const picture = { ...filePart(new Uint8Array(3), 'image/png') };

/** All texts within a value, except those that name a type or the provider. */
const textsIn = (value: JsonValue | undefined): readonly string[] => {
  if (typeof value === 'string') return value.length < 5 ? [] : [value];
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => (name === 'type' ? [] : textsIn(inner)))
    : [];
};

/** What only the provider of the messages may receive, beside what everybody may. */
const secretsIn = (messages: readonly Message[]): readonly string[] => {
  const parts = messages.flatMap(({ parts: all }) => all);
  const shown = JSON.stringify(parts.map((part) => (part.type === 'provider' ? {} : { ...part, providerData: null })));
  const data = parts.map((part) =>
    part.type === 'provider' ? part.data : 'providerData' in part && part.providerData,
  );
  return data.flatMap((own) => textsIn(own || null)).filter((text) => !shown.includes(text));
};

describe('a history of one provider that another one continues', () => {
  const servers: LoopbackServer[] = [];
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

  const open = async (provider: Provider, ...script: Parameters<typeof serveModel>) => {
    const server = await serveModel(...script);
    servers.push(server);
    const options = { apiKey: 'k', baseUrl: server.urlFor(provider), retry: false, session: false } as const;
    const model: Model =
      provider === 'google-interactions'
        ? googleInteractions('gemini-3.8-flash', options)
        : modelByName(provider, options);
    return { server, model };
  };

  /** A run with thinking, a text and a call, as it is stored: JSON. */
  const historyOf = async (provider: Provider): Promise<readonly Message[]> => {
    const { model } = await open(provider, [
      [{ type: 'thinking', text: 'Deep thoughts.' }, 'Let me look.', toolCall('look', {})],
      'It is blue.',
    ]);
    const { messages } = await lastValueFrom(createAgent({ model, tools: [look] }).run('What colour?'));
    return JSON.parse(JSON.stringify([userMessage('What colour?'), ...messages])) as readonly Message[];
  };

  it.each(providers)('%s: each provider accepts it, and only the first one receives its data', async (from) => {
    const history = await historyOf(from);
    const secrets = secretsIn(history);
    expect(secrets.length).toBeGreaterThan(0);
    for (const to of providers) {
      const { server, model } = await open(to, ['Yes.']);
      const { text } = await lastValueFrom(createAgent({ model, tools: [look] }).run('Sure?', { history }));
      expect(`${to}: ${text}`).toBe(`${to}: Yes.`);
      const body = JSON.stringify(server.requests[0]?.body);
      expect(body).toContain('Let me look.');
      const received = secrets.filter((secret) => body.includes(JSON.stringify(secret).slice(1, -1)));
      expect({ to, received: received.length > 0 }).toEqual({ to, received: to === from });
    }
  });

  it.each(providers)('%s: the model reads that a person has changed the arguments of a call', async (provider) => {
    const id = 'call_123456789012345';
    const answers: readonly ToolResultPart[] = [
      { type: 'toolResult', id, name: 'look', result: 'blue', arguments: { at: 'the sky' } },
      { type: 'toolResult', id, name: 'look', result: [picture, 'blue'], arguments: { at: 'the sky' } },
    ];
    for (const answer of answers) {
      const { server, model } = await open(provider, ['Yes.']);
      const history: readonly Message[] = [
        userMessage('What colour?'),
        { role: 'model', parts: [{ type: 'toolCall', id, name: 'look', arguments: { at: 'the moon' } }] },
        { role: 'user', parts: [answer] },
      ];
      await lastValueFrom(createAgent({ model, tools: [look] }).run('Sure?', { history }));
      const body = JSON.stringify(server.requests[0]?.body).replace(/\\/g, '');
      expect(body).toContain('The user changed the arguments to {"at":"the sky"}.');
      expect(body).toContain('blue');
    }
  });
});
