import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lastValueFrom, of } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { isJsonObject, isRecord } from '../../lib/core/json/json.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import type { Model, ModelRequest } from '../../lib/core/model.js';
import { tool, toolDefinition } from '../../lib/core/tool.js';
import { cachePrompt } from '../../lib/models/cachePrompt.js';
import type { CachePromptOptions } from '../../lib/models/cachePrompt.js';
import { fallback } from '../../lib/models/fallback.js';
import { priceModel } from '../../lib/models/priceModel.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openai } from '../../lib/providers/openai.js';
import { openrouter } from '../../lib/providers/openrouter.js';
import { toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer, ServeOptions } from '../../lib/testing/server/index.js';
import { modelOf } from './models.js';

const handbook = 'Answer with one word. '.repeat(250); // 1,375 tokens
const page = 'A page. '.repeat(500); // 1,000 tokens

const look = tool({
  name: 'look',
  description: 'Returns a page.',
  parameters: { type: 'object', properties: {} },
  execute: () => of(page),
});
const servers: LoopbackServer[] = [];

async function serve(turns: number, options: ServeOptions = { promptCache: true }) {
  const calls = Array.from({ length: turns - 1 }, (_, turn) => [toolCall('look', {}, `c${turn + 1}`)]);
  const server = await serveModel([...calls, 'Done.'], options);
  servers.push(server);
  return server;
}

/** A run of ten turns, each of which adds a page to the history. */
const tenTurns = (model: Model) =>
  lastValueFrom(createAgent({ model, system: handbook, tools: [look] }).run('Read nine pages.'));

/** What a model receives from `cachePrompt`. */
function requestFor(request: ModelRequest, options: CachePromptOptions = {}, name = 'm'): ModelRequest {
  let received = request;
  const model = {
    ...modelOf(name, []),
    stream(given: ModelRequest) {
      received = given;
      return of();
    },
  };
  cachePrompt(model, options).stream(request).subscribe();
  return received;
}

const isMarked = (value: { readonly providerOptions?: unknown }) =>
  isRecord(value.providerOptions) && isRecord(value.providerOptions['anthropic']);
const breakpoints = (body: unknown): number =>
  (JSON.stringify(body).match(/"cache_control":\{"type":"ephemeral"/g) ?? []).length;
const bodies = (server: LoopbackServer): readonly JsonObject[] =>
  server.requests.map(({ body }) => body).filter(isJsonObject);

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

describe('cachePrompt', () => {
  it('cachePrompt lets Anthropic read all but the new part of a prompt, over ten turns', async () => {
    const plain = await serve(10);
    const cached = await serve(10);
    const prices = { input: 3, output: 15, cachedInput: 0.3, cacheWriteInput: 3.75 };
    const modelAt = (server: LoopbackServer) =>
      priceModel(anthropic('claude-sonnet-5-5', { baseUrl: server.urlFor('anthropic'), apiKey: 'none' }), prices);
    const without = await tenTurns(modelAt(plain));
    const result = await tenTurns(cachePrompt(modelAt(cached)));
    expect(without.usage).toMatchObject({ cachedInput: 0, cacheWriteInput: 0 });
    const { input = 0, cachedInput = 0, cacheWriteInput = 0 } = result.usage;
    expect(input).toBe(without.usage.input);
    expect(cachedInput / input).toBeGreaterThan(0.8);
    // Each part of the last prompt was written once.
    expect(cacheWriteInput).toBeLessThan(9 * 1000 + 2500);
    expect(result.cost).toBeLessThan((without.cost ?? 0) * 0.4);
    expect(bodies(cached).map(breakpoints)).toEqual([3, ...Array<number>(9).fill(4)]);
  });

  it('cachePrompt with the long lifetime is billed for it', async () => {
    const server = await serve(2);
    const model = anthropic('claude-sonnet-5-5', { baseUrl: server.urlFor('anthropic'), apiKey: 'none' });
    const { usage } = await tenTurns(cachePrompt(model, { lifetime: 'long' }));
    expect(usage.cachedInput).toBeGreaterThan(1000);
    expect(usage.longCacheWriteInput).toBe(usage.cacheWriteInput);
  });

  it.each([
    ['openai-chat', 'openai-chat', openaiChat],
    ['openai', 'openai', openai],
  ] as const)('cachePrompt sends the same key in all turns to %s', async (_, provider, create) => {
    const server = await serve(10);
    const model = create('gpt-6.1-terra', { baseUrl: server.urlFor(provider), apiKey: 'none' });
    const result = await tenTurns(cachePrompt(model));
    const keys = new Set(bodies(server).map(({ prompt_cache_key: key }) => key));
    expect([...keys]).toEqual([expect.stringMatching(/^rivulet-[0-9a-f]{16}$/)]);
    expect((result.usage.cachedInput ?? 0) / (result.usage.input ?? 1)).toBeGreaterThan(0.8);
  });

  it('cachePrompt derives the key from what a conversation keeps: instructions, tools and the first prompt', () => {
    const messages = [systemMessage('Be brief.'), userMessage('Hi')];
    const tools = [toolDefinition(look)];
    const keyOf = (request: ModelRequest, options?: CachePromptOptions) =>
      requestFor(request, options).providerOptions?.['openai-chat']?.['prompt_cache_key'];
    const key = keyOf({ messages, tools });
    expect(keyOf({ messages: [...messages, modelMessage('Hello'), userMessage('Bye')], tools })).toBe(key);
    expect(keyOf({ messages: [systemMessage('Be brief.'), userMessage('Ho')], tools })).not.toBe(key);
    expect(keyOf({ messages, tools: [] })).not.toBe(key);
    expect(keyOf({ messages }, { key: 'chat-1' })).toBe('chat-1');
    expect(keyOf({ messages }, { key: (request) => `chat-${request.messages.length}` })).toBe('chat-2');
  });

  it('cachePrompt derives the same key in all processes and versions', () => {
    const keyOf = (request: ModelRequest) => requestFor(request).providerOptions?.['openai-chat']?.['prompt_cache_key'];
    // The first half is the well-known FNV-1a hash.
    expect(keyOf({ messages: [userMessage('a')] })).toBe('rivulet-e40c292c93ec655f');
    expect(keyOf({ messages: [userMessage('Hi 4')] })).toBe('rivulet-0f6467ae12cfffb3');
    const messages = [systemMessage('Be brief.'), userMessage('Hi')];
    expect(keyOf({ messages, tools: [toolDefinition(look)] })).toBe('rivulet-fc0743806193b91b');
  });

  it('cachePrompt asks for the short lifetime of each wire by default', () => {
    expect(requestFor({ messages: [userMessage('a')] }, {}, 'anthropic/claude-sonnet-5-5').providerOptions).toEqual({
      'openai-chat': { prompt_cache_key: 'rivulet-e40c292c93ec655f' },
      openai: { prompt_cache_key: 'rivulet-e40c292c93ec655f' },
      openrouter: { cache_control: { type: 'ephemeral' } },
    });
  });

  it('cachePrompt marks no message without content, and keeps the other options of what it marks', () => {
    const providerOptions = { anthropic: { x: 1 }, other: { y: 2 } };
    const empty: Message = { role: 'user', parts: [] };
    const messages = [systemMessage('Be brief.'), systemMessage(' '), { ...userMessage('Hi'), providerOptions }, empty];
    const cached = requestFor({ messages });
    expect(cached.messages.map(isMarked)).toEqual([true, false, true, false]);
    expect(cached.messages[2]?.providerOptions).toEqual({
      anthropic: { x: 1, cache_control: { type: 'ephemeral' } },
      other: { y: 2 },
    });
    expect(cached).not.toHaveProperty('tools');
  });

  it.each<[string, (marked: object) => Partial<ModelRequest>, number]>([
    ['the request', (marked) => marked, 3],
    ['a part', (marked) => ({ messages: [{ role: 'model', parts: [{ type: 'text', text: 'a', ...marked }] }] }), 3],
    ['a tool', (marked) => ({ tools: [{ ...toolDefinition(look), ...marked }] }), 3],
    ['no place', () => ({}), 4],
  ])('cachePrompt counts a breakpoint of the user among the four: at %s', (_, own, added) => {
    const marked = { providerOptions: { anthropic: { cache_control: { type: 'ephemeral' } } } };
    const { messages = [], ...rest } = own(marked);
    const request: ModelRequest = {
      tools: [toolDefinition(look)],
      ...rest,
      messages: [systemMessage('Be brief.'), userMessage('1'), ...messages, userMessage('2')],
    };
    const before = breakpoints(request);
    const after = breakpoints(requestFor(request));
    expect([after - before, before]).toEqual([added, 4 - added]);
  });

  it('cachePrompt leaves a message with a part that the user has marked as it is', () => {
    const marked = { providerOptions: { anthropic: { cache_control: { type: 'ephemeral' } } } };
    const message: Message = {
      role: 'user',
      parts: [
        { type: 'text', text: 'a', ...marked },
        { type: 'text', text: 'b' },
      ],
    };
    expect(requestFor({ messages: [message] }).messages).toEqual([message]);
  });

  it('cachePrompt asks for the long lifetime of each wire, and keeps the options of the request', () => {
    const providerOptions = { 'openai-chat': { prompt_cache_key: 'mine', service_tier: 'flex' } };
    const request = { messages: [userMessage('Hi')], providerOptions };
    const { messages, ...rest } = requestFor(request, { lifetime: 'long' }, 'anthropic/claude-sonnet-5-5');
    expect(rest.providerOptions).toMatchObject({
      'openai-chat': { prompt_cache_key: 'mine', service_tier: 'flex', prompt_cache_options: { ttl: '12h' } },
      openai: { prompt_cache_options: { ttl: '12h' } },
      openrouter: { cache_control: { type: 'ephemeral', ttl: '1h' } },
    });
    expect(messages[0]?.providerOptions).toEqual({ anthropic: { cache_control: { type: 'ephemeral', ttl: '1h' } } });
    expect(requestFor(request).providerOptions).not.toHaveProperty('openrouter');
  });

  it('cachePrompt marks the last two user messages, the instructions and the last tool that is not deferred', () => {
    const deferred = { ...toolDefinition(look), providerOptions: { anthropic: { defer_loading: true } } };
    const messages = ['1', '2', '3'].flatMap((text) => [userMessage(text), modelMessage(`answer ${text}`)]);
    const request = { messages: [systemMessage('Be brief.'), ...messages], tools: [toolDefinition(look), deferred] };
    const cached = requestFor(request);
    expect(cached.messages.map(isMarked)).toEqual([true, false, false, true, false, true, false]);
    expect(cached.tools?.[0]).toHaveProperty('providerOptions.anthropic.cache_control', { type: 'ephemeral' });
    expect(cached.tools?.[1]).toBe(deferred);
    const strict = { ...toolDefinition(look), providerOptions: { 'openai-chat': { strict: true } } };
    expect(requestFor({ ...request, tools: [strict] }).tools?.[0]?.providerOptions).toEqual({
      'openai-chat': { strict: true },
      anthropic: { cache_control: { type: 'ephemeral' } },
    });
    expect(request.messages.some(isMarked)).toBe(false);
  });

  it('cachePrompt keeps the breakpoints of the user, and sends no more than four', () => {
    const marked = { providerOptions: { anthropic: { cache_control: { type: 'ephemeral' } } } };
    const message = fc.record({ role: fc.constantFrom('user' as const, 'model' as const), own: fc.boolean() });
    const run = (own: readonly { role: 'user' | 'model'; own: boolean }[], tools: number) => {
      const messages: Message[] = own.map((one) => ({
        role: one.role,
        parts: [{ type: 'text', text: 'Hi' }],
        ...(one.own ? marked : {}),
      }));
      const request = { messages, tools: Array.from({ length: tools }, () => ({ ...toolDefinition(look) })) };
      const before = own.filter((one) => one.own).length;
      const cached = requestFor(request);
      const after = breakpoints([cached.messages, cached.tools]);
      expect(after).toBeLessThanOrEqual(Math.max(4, before));
      expect(after).toBeGreaterThanOrEqual(before);
      own.forEach((one, at) => one.own && expect(cached.messages[at]).toBe(messages[at]));
    };
    fc.assert(fc.property(fc.array(message, { maxLength: 8 }), fc.nat(2), run));
  });

  it('cachePrompt serves all models of a fallback, and models that know no cache', async () => {
    const server = await serve(1, { promptCache: true, forRequest: [{ status: 400 }] });
    const models = [
      openrouter('meta/llama', { baseUrl: server.urlFor('openrouter'), apiKey: 'none' }),
      anthropic('claude-sonnet-5-5', { baseUrl: server.urlFor('anthropic'), apiKey: 'none' }),
    ];
    const { text } = await lastValueFrom(createAgent({ model: cachePrompt(fallback(models)) }).run('Hi'));
    expect(text).toBe('Done.');
    expect(bodies(server).map(breakpoints)).toEqual([0, 1]);
    expect(bodies(server)[0]).not.toHaveProperty('prompt_cache_key');
  });

  it('cachePrompt marks a message and a tool once, so that their encodings are reused', () => {
    const requests: ModelRequest[] = [];
    const model = { ...modelOf('m', []), stream: (request: ModelRequest) => (requests.push(request), of()) };
    const cached = cachePrompt()(model);
    const first: ModelRequest = { messages: [userMessage('Hi')], tools: [toolDefinition(look)] };
    cached.stream(first).subscribe();
    cached.stream({ ...first, messages: [...first.messages, modelMessage('Hello')] }).subscribe();
    expect(requests[1]?.messages[0]).toBe(requests[0]?.messages[0]);
    expect(requests[1]?.tools?.[0]).toBe(requests[0]?.tools?.[0]);
  });

  it.each([
    [{ lifetime: '1h' }, 'cachePrompt: "lifetime" is "1h". Use "short" or "long".'],
    [{ lifetim: 'long' }, 'cachePrompt: there is no option "lifetim". Did you mean "lifetime"?'],
  ])('cachePrompt rejects %j', (options, message) => {
    expect(() => cachePrompt(options as CachePromptOptions)).toThrow(message);
    expect(() => cachePrompt(options as CachePromptOptions)).toThrow(expect.objectContaining({ subject: 'options' }));
  });
});
