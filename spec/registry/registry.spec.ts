import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import type { Capability } from '../../lib/core/capabilities.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { openaiCompatible } from '../../lib/providers/openaiCompatible.js';
import { capabilityTable } from '../../lib/providers/shared/capabilityTable.js';
import { createRegistry, modelByName, registeredProviders, registerProvider } from '../../lib/registry/index.js';
import { answering } from '../providers/answering.js';
import { delta } from '../providers/chatCompletions/reading.js';

const named = ({ provider, name }: Model) => `${provider} ${name}`;
const refused = (subject: string, message: RegExp) =>
  expect.objectContaining({ code: 'configuration', subject, message: expect.stringMatching(message) as unknown });

describe('modelByName', () => {
  it.each([
    ['anthropic:claude-sonnet-4-5', 'anthropic claude-sonnet-4-5'],
    ['openrouter:google/gemini-2.5-flash', 'openrouter google/gemini-2.5-flash'],
    ['ollama:qwen2.5:7b', 'ollama qwen2.5:7b'],
    ['OpenAI:gpt-5', 'openai gpt-5'],
    ['openai-responses:gpt-5', 'openai-responses gpt-5'],
    ['google/gemini-2.5-flash', 'google gemini-2.5-flash'],
    ['claude:claude-opus-4-5', 'anthropic claude-opus-4-5'],
    ['gemini', 'google gemini-2.5-flash'],
    ['googleai:', 'google gemini-2.5-flash'],
    ['mistralai', 'mistral mistral-small-latest'],
    ['cohere', 'cohere command-a-03-2025'],
    [' openai:gpt-5\n', 'openai gpt-5'],
  ])('%s', (name, expected) => {
    expect(named(modelByName(name))).toBe(expected);
  });

  it('lists what there is where there is no such provider', () => {
    expect(() => modelByName('opnai:gpt-5')).toThrow(
      refused('model', /"opnai".*openai, .*anthropic \(claude\).*google \(gemini,/s),
    );
    for (const name of ['', ':gpt-5', '/x'])
      expect(() => modelByName(name)).toThrow(refused('model', /names no provider/));
  });

  it('passes options on, and asks for a key only when the model is used', async () => {
    const { fetch, requests } = answering(delta({ content: 'a' }, 'stop'));
    const model = modelByName('openrouter:m', {
      apiKey: 'k',
      baseUrl: 'https://proxy.test/v1',
      fetch,
      capabilities: { vision: false },
    });
    expect(model.capabilities).toMatchObject({ tools: true, vision: false });
    await lastValueFrom(model.stream({ messages: [userMessage('Hi')] }));
    expect(requests[0]?.url).toBe('https://proxy.test/v1/chat/completions');
  });
});

describe('registerProvider', () => {
  const groq = openaiCompatible({ name: 'groq', baseUrl: 'https://api.groq.com/openai/v1' });

  it('names a provider of your own, with aliases and a default model', () => {
    registerProvider('groq', groq, {
      aliases: ['GroqCloud'],
      defaultModel: 'llama-3.3-70b-versatile',
      keyVariable: 'GROQ_API_KEY',
    });
    expect(named(modelByName('groq'))).toBe('groq llama-3.3-70b-versatile');
    expect(named(modelByName('groqcloud:openai/gpt-oss-20b'))).toBe('groq openai/gpt-oss-20b');
    expect(registeredProviders().at(-1)).toEqual({
      name: 'groq',
      aliases: ['groqcloud'],
      defaultModel: 'llama-3.3-70b-versatile',
      keyVariable: 'GROQ_API_KEY',
      capabilities: {},
    });
  });

  it('wants a model where there is no default', () => {
    const registry = createRegistry();
    registry.registerProvider('groq', groq);
    expect(() => registry.modelByName('groq')).toThrow(refused('model', /no default/));
    expect(() => createRegistry().modelByName('groq')).toThrow(refused('model', /There are: none/));
  });

  it('replaces a provider of the same name, aliases and all, and takes no name of another', () => {
    const registry = createRegistry();
    registry.registerProvider('a', groq, { aliases: ['x'], defaultModel: 'one' });
    registry.registerProvider('b', groq, { aliases: ['y'] });
    registry.registerProvider('A', groq, { aliases: ['z'], defaultModel: 'two' });
    expect(named(registry.modelByName('z'))).toBe('groq two');
    expect(() => registry.modelByName('x')).toThrow(refused('model', /no provider "x"/));
    expect(() => registry.registerProvider('c', groq, { aliases: ['b'] })).toThrow(
      refused('provider', /"b" means another/),
    );
    expect(() => registry.registerProvider('c', groq, { aliases: ['y'] })).toThrow(
      refused('provider', /"y" means another/),
    );
    expect(() => registry.registerProvider('y', groq)).toThrow(refused('provider', /"y" means another/));
    for (const bad of ['', 'a:b', 'a/b', 'a b'])
      expect(() => registry.registerProvider(bad, groq)).toThrow(refused('provider', /no name/));
  });
});

describe('the variable of a key', () => {
  const builtIn = registeredProviders().map(({ name, keyVariable }) => [name, keyVariable] as const);

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each(builtIn)('of %s is the one that its models ask for: %s', async (name, keyVariable) => {
    jest.replaceProperty(process, 'env', {});
    const { fetch, requests } = answering(delta({ content: 'a' }, 'stop'));
    const answer = lastValueFrom(modelByName(name, { fetch, retry: false }).stream({ messages: [userMessage('Hi')] }));
    const error: unknown = await answer.catch((thrown: unknown) => thrown);
    if (keyVariable === undefined) expect(requests).toHaveLength(1);
    else expect(error).toEqual(refused('apiKey', new RegExp(`Set ${keyVariable} or pass`)));
  });
});

describe('what providers can do', () => {
  /** Models that can what the default model of their provider cannot. */
  const special: Readonly<Record<string, readonly string[]>> = {
    google: ['gemini-3-pro-preview'],
    cohere: ['command-a-reasoning-08-2025', 'command-a-vision-07-2025'],
  };
  const builtIn = registeredProviders().filter(({ name }) => name !== 'groq');

  it('is told by the default model of each', () => {
    for (const { name, capabilities } of builtIn)
      expect([name, Object.keys(capabilities).length > 4]).toEqual([name, true]);
  });

  it('is what the error says that names those who can', () => {
    for (const [capability, names] of Object.entries(capabilityTable)) {
      const can = builtIn
        .filter(({ capabilities }) => capabilities[capability as Capability] === true)
        .map(({ name }) => name);
      expect([capability, can.filter((name) => !names.includes(name))]).toEqual([capability, []]);
      for (const name of names) {
        const models = [...(special[name] ?? []).map((model) => modelByName(`${name}:${model}`)), modelByName(name)];
        const said = models.map(({ capabilities = {} }) => capabilities[capability as Capability]);
        expect([capability, name, said.every((can) => can === false)]).toEqual([capability, name, false]);
      }
    }
  });

  it('is an error before the request where a model has it not', async () => {
    const { fetch, requests } = answering();
    const model = modelByName('together:m', { apiKey: 'k', fetch });
    const pdf = { type: 'file', mediaType: 'application/pdf', data: 'AQ==' } as const;
    await expect(lastValueFrom(model.stream({ messages: [userMessage([pdf])] }))).rejects.toMatchObject({
      code: 'configuration',
      subject: 'capability',
      message: expect.stringMatching(/together:m cannot read documents.*openai, .*anthropic/s) as unknown,
    });
    expect(requests).toEqual([]);
  });
});
