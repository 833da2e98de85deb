import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message, Part } from '../../../lib/core/message.js';
import { modelByName, registeredProviders } from '../../../lib/providers/registry/index.js';
import { anthropic } from '../../../lib/testing/server/dialects/anthropic/anthropic.js';
import { chatCompletions } from '../../../lib/testing/server/dialects/chatCompletions/chatCompletions.js';
import type { Dialect } from '../../../lib/testing/server/dialects/dialect.js';
import { google } from '../../../lib/testing/server/dialects/google/google.js';
import { ollama } from '../../../lib/testing/server/dialects/ollama/ollama.js';
import { responses } from '../../../lib/testing/server/dialects/responses/responses.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn } from '../../../lib/testing/server/index.js';
import fc from 'fast-check';

let server: LoopbackServer | undefined;
afterEach(() => server?.close());

const providers = registeredProviders().map(({ name }) => name);

/** What a script sees of a conversation that a provider's own function sends. */
async function seenOf(provider: string, messages: readonly Message[]): Promise<readonly Message[]> {
  let history: readonly Message[] = [];
  server = await serveModel((turn: ServedTurn) => {
    history = turn.history;
    return 'Hi.';
  });
  const model = modelByName(provider, { baseUrl: server.urlFor(provider), apiKey: 'none', retry: false });
  await lastValueFrom(model.stream({ messages }));
  return history;
}

const call = (id: string, name: string, args: JsonObject): Part => ({ type: 'toolCall', id, name, arguments: args });

/** The ids of calls as their numbers: APIs that are strict with ids get others, and some have none. */
function numbered(messages: readonly Message[]): readonly Message[] {
  const ids: string[] = [];
  const numberOf = (id: string) => (ids.includes(id) ? ids.indexOf(id) : ids.push(id) - 1);
  const renamed = (part: Part): Part =>
    part.type === 'toolCall' || part.type === 'toolResult' ? { ...part, id: `${numberOf(part.id)}` } : part;
  return messages.map((message) => ({ ...message, parts: message.parts.map(renamed) }));
}

const conversation: readonly Message[] = [
  systemMessage('Be brief.'),
  userMessage('How warm is it in Oslo and on the moon?'),
  modelMessage([
    { type: 'text', text: 'Let me look.' },
    call('functions.weather:0', 'weather', { city: 'Oslo', days: [1, 2] }),
    call('functions.weather:1', 'weather', { city: 'the moon' }),
  ]),
  userMessage([
    { type: 'toolResult', id: 'functions.weather:0', name: 'weather', result: { celsius: -3, sky: 'clear' } },
    { type: 'toolResult', id: 'functions.weather:1', name: 'weather', error: 'There is no weather on the moon.' },
  ]),
  modelMessage('It is -3 °C in Oslo.'),
  userMessage('What time is it?'),
  modelMessage([call('functions.clock:2', 'clock', {})]),
  userMessage([{ type: 'toolResult', id: 'functions.clock:2', name: 'clock', result: 'noon' }]),
];

describe('history of a scripted request', () => {
  it.each(providers)(
    '%s: history returns instructions, texts, parallel calls, results and errors as they were before encoding',
    async (provider) => {
      expect(numbered(await seenOf(provider, conversation))).toEqual(numbered(conversation));
    },
  );

  const ofBytes = providers.filter((name) => modelByName(name, { apiKey: 'none' }).capabilities?.vision !== false);
  it.each(ofBytes)('%s: history contains an image with its bytes', async (provider) => {
    const image = { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
    const messages = [userMessage([{ type: 'text', text: 'What is this?' }, image])];
    const mediaType = provider === 'ollama' ? 'image/*' : image.mediaType; // its wire has no word for it
    expect(await seenOf(provider, messages)).toEqual([
      userMessage([
        { type: 'text', text: 'What is this?' },
        { ...image, mediaType },
      ]),
    ]);
  });

  it('history matches results without ids by name and order when a tool is called twice at once', () => {
    const named = (name: string) => ({ function: { name, arguments: {} } });
    const messages = [
      { role: 'assistant', content: '', tool_calls: [named('a'), named('b'), named('a')] },
      { role: 'tool', tool_name: 'b', content: '1' },
      { role: 'tool', tool_name: 'a', content: '2' },
      { role: 'tool', content: '{"error":"no"}' },
    ];
    expect(ollama.history({ messages }).at(-1)?.parts).toEqual([
      { type: 'toolResult', id: 'call_2', name: 'b', result: 1 },
      { type: 'toolResult', id: 'call_1', name: 'a', result: 2 },
      { type: 'toolResult', id: 'call_3', name: 'a', error: 'no' },
    ]);
  });

  it('history keeps arguments that are not JSON, as a run does', () => {
    const messages = [{ role: 'assistant', tool_calls: [{ id: 'x', function: { name: 'f', arguments: '{"a":' } }] }];
    expect(chatCompletions.history({ messages })).toEqual([
      { role: 'model', parts: [call('x', 'f', { _raw: '{"a":', _error: 'invalid_json' })] },
    ]);
  });

  it('history omits thinking, signed or not', () => {
    const thought = { type: 'thinking', thinking: 'Hm', signature: 's' };
    const said = [modelMessage('Hi')];
    expect(
      anthropic.history({ messages: [{ role: 'assistant', content: [thought, { type: 'text', text: 'Hi' }] }] }),
    ).toEqual(said);
    expect(
      chatCompletions.history({ messages: [{ role: 'assistant', content: [thought, { type: 'text', text: 'Hi' }] }] }),
    ).toEqual(said);
    expect(
      google.history({ contents: [{ role: 'model', parts: [{ text: 'Hm', thought: true }, { text: 'Hi' }] }] }),
    ).toEqual(said);
    const items = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
      { role: 'assistant', content: 'Hi' },
    ];
    expect(responses.history({ input: items })).toEqual(said);
  });

  const dialects = { anthropic, chatCompletions, google, ollama, responses } satisfies Record<string, Dialect>;
  it.each(Object.entries(dialects))('%s: history reads any body without an error', (_, dialect) => {
    const names = fc.constantFrom(
      'messages',
      'contents',
      'input',
      'role',
      'content',
      'parts',
      'tool_calls',
      'function',
      'type',
      'source',
    );
    const values = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom(
          null,
          1,
          '',
          'tool',
          'assistant',
          'tool_use',
          'tool_result',
          'image',
          'text',
          'function_call_output',
        ),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(names, tie('value'), { maxKeys: 4 }),
      ),
    })).value;
    fc.assert(
      fc.property(fc.dictionary(names, values), (body) => {
        for (const { role, parts } of dialect.history(body as JsonObject)) {
          expect(['system', 'user', 'model']).toContain(role);
          expect(parts.length).toBeGreaterThan(0);
        }
      }),
    );
  });
});

describe('urlFor', () => {
  it("urlFor returns the path that reaches a provider's dialect, for each provider of the registry", async () => {
    server = await serveModel(() => 'Hi.');
    const paths = new Map(
      Object.entries({ mistral: '/mistral/v1', openrouter: '/api/v1', google: '/v1beta', ollama: '', cohere: '/v2' }),
    );
    for (const provider of providers) {
      expect(server.urlFor(provider)).toBe(`http://127.0.0.1:${server.port}${paths.get(provider) ?? '/v1'}`);
    }
  });

  it('urlFor throws for an unknown provider and lists the known ones', async () => {
    const local = (server = await serveModel([]));
    expect(() => local.urlFor('opnai')).toThrow(
      expect.objectContaining({
        code: 'configuration',
        subject: 'provider',
        message: expect.stringMatching(
          /"opnai".*anthropic, cohere, google, google-interactions, mistral, ollama, openai, openai-chat, openrouter, together/,
        ) as unknown,
      }),
    );
  });
});
