import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastValueFrom } from 'rxjs';
import type { Capability } from '../../../lib/core/capabilities.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Model } from '../../../lib/core/model.js';
import { openaiCompatible } from '../../../lib/providers/openaiCompatible.js';
import { capabilityTable } from '../../../lib/providers/shared/capabilityTable.js';
import {
  createRegistry,
  modelByName,
  registeredProviders,
  registerProvider,
} from '../../../lib/providers/registry/index.js';
import { deprecatedModels } from '../../checks/drift/deprecated.js';
import { answering } from '../answering.js';
import { delta } from '../chatCompletions/reading.js';

const named = ({ provider, name }: Model) => `${provider} ${name}`;
const errorOf = (subject: string, message: RegExp) =>
  expect.objectContaining({ code: 'configuration', subject, message: expect.stringMatching(message) as unknown });

describe('modelByName', () => {
  it.each([
    ['anthropic:claude-sonnet-5-5', 'anthropic claude-sonnet-5-5'],
    ['openrouter:google/gemini-3.8-flash', 'openrouter google/gemini-3.8-flash'],
    ['ollama:qwen3:8b', 'ollama qwen3:8b'],
    ['OpenAI:gpt-6.1-terra', 'openai gpt-6.1-terra'],
    ['openai-chat:gpt-6.1-terra', 'openai-chat gpt-6.1-terra'],
    ['google/gemini-3.8-flash', 'google gemini-3.8-flash'],
    ['claude:claude-opus-4-5', 'anthropic claude-opus-4-5'],
    ['gemini', 'google gemini-3.8-flash'],
    ['googleai:', 'google gemini-3.8-flash'],
    ['mistralai', 'mistral mistral-small-latest'],
    ['cohere', 'cohere command-a-plus-05-2026'],
    [' openai:gpt-6.1-terra\n', 'openai gpt-6.1-terra'],
  ])('modelByName(%j) makes the model %s', (name, expected) => {
    expect(named(modelByName(name))).toBe(expected);
  });

  it('modelByName lists the registered providers when the provider is unknown', () => {
    expect(() => modelByName('opnai:gpt-6.1-terra')).toThrow(
      errorOf('model', /"opnai".*openai \(responses\), openai-chat, .*anthropic \(claude\).*google \(gemini,/s),
    );
    for (const name of ['openai-responses:gpt-6.1-terra', ' OpenAI-Responses'])
      expect(() => modelByName(name)).toThrow(errorOf('model', /called "openai" now.*Chat.*"openai-chat"/s));
    for (const name of ['', ':gpt-6.1-terra', '/x'])
      expect(() => modelByName(name)).toThrow(errorOf('model', /does not name a provider/));
  });

  it('modelByName passes the options on, and requires a key only when the model is used', async () => {
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

  it('registerProvider registers a custom provider, with aliases and a default model', () => {
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

  it('registerProvider makes a model name required when there is no default model', () => {
    const registry = createRegistry();
    registry.registerProvider('groq', groq);
    expect(() => registry.modelByName('groq')).toThrow(errorOf('model', /no default/));
    expect(() => createRegistry().modelByName('groq')).toThrow(errorOf('model', /registered providers are: none/));
  });

  it('registerProvider replaces a provider of the same name, and rejects the name of another provider', () => {
    const registry = createRegistry();
    registry.registerProvider('a', groq, { aliases: ['x'], defaultModel: 'one' });
    registry.registerProvider('b', groq, { aliases: ['y'] });
    registry.registerProvider('A', groq, { aliases: ['z'], defaultModel: 'two' });
    expect(named(registry.modelByName('z'))).toBe('groq two');
    expect(() => registry.modelByName('x')).toThrow(errorOf('model', /no provider "x"/));
    expect(() => registry.registerProvider('c', groq, { aliases: ['b'] })).toThrow(
      errorOf('provider', /"b" is already used/),
    );
    expect(() => registry.registerProvider('c', groq, { aliases: ['y'] })).toThrow(
      errorOf('provider', /"y" is already used/),
    );
    expect(() => registry.registerProvider('y', groq)).toThrow(errorOf('provider', /"y" is already used/));
    for (const bad of ['', 'a:b', 'a/b', 'a b'])
      expect(() => registry.registerProvider(bad, groq)).toThrow(errorOf('provider', /not a valid provider name/));
  });
});

describe('keyVariable', () => {
  const builtIn = registeredProviders().map(({ name, keyVariable }) => [name, keyVariable] as const);

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each(builtIn)('keyVariable of %s is the one that its models require: %s', async (name, keyVariable) => {
    jest.replaceProperty(process, 'env', {});
    const { fetch, requests } = answering(delta({ content: 'a' }, 'stop'));
    const answer = lastValueFrom(modelByName(name, { fetch, retry: false }).stream({ messages: [userMessage('Hi')] }));
    const error: unknown = await answer.catch((thrown: unknown) => thrown);
    if (keyVariable === undefined) expect(requests).toHaveLength(1);
    else expect(error).toEqual(errorOf('apiKey', new RegExp(`Set ${keyVariable} or pass`)));
  });
});

describe('the capabilities of the registered providers', () => {
  /** Models with capabilities that the default model of their provider lacks. */
  const special: Readonly<Record<string, readonly string[]>> = {
    google: ['gemini-3-pro-preview'],
    cohere: ['command-a-reasoning-08-2025', 'command-a-vision-07-2025'],
  };
  const builtIn = registeredProviders().filter(({ name }) => name !== 'groq');

  it('capabilities are those of the default model of each provider', () => {
    for (const { name, capabilities } of builtIn)
      expect([name, Object.keys(capabilities).length > 4]).toEqual([name, true]);
  });

  it('no default model is deprecated', () => {
    const defaults = builtIn.map(({ defaultModel }) => defaultModel ?? '');
    expect(defaults.filter((model) => deprecatedModels.includes(model))).toEqual([]);
  });

  it('the README, the guides and the examples name no deprecated model', () => {
    const examples = readdirSync('examples', { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|md)$/.test(name) && !/(^|[/\\])node_modules[/\\]/.test(name))
      .map((name) => join('examples', name));
    const guides = readdirSync('docs')
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name));
    for (const file of ['README.md', ...guides, ...examples]) {
      const names = new Set(readFileSync(file, 'utf8').match(/[a-z0-9]+(?:[.-][a-z0-9]+)+/g));
      expect([file, ...deprecatedModels.filter((model) => names.has(model))]).toEqual([file]);
    }
  });

  it('capabilityTable agrees with the capabilities of the models', () => {
    for (const [capability, names] of Object.entries(capabilityTable)) {
      const can = builtIn
        .filter(({ capabilities }) => capabilities[capability as Capability] === true)
        .map(({ name }) => name);
      expect([capability, can.filter((name) => !names.includes(name))]).toEqual([capability, []]);
      for (const name of names) {
        const models = [...(special[name] ?? []).map((model) => modelByName(`${name}:${model}`)), modelByName(name)];
        const values = models.map(({ capabilities = {} }) => capabilities[capability as Capability]);
        expect([capability, name, values.every((can) => can === false)]).toEqual([capability, name, false]);
      }
    }
  });

  it('a missing capability is an error before the request', async () => {
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
