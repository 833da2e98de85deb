import { describe, expect, it } from '@jest/globals';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { cachePrompt } from '../../lib/models/cachePrompt.js';
import { modelMessage, systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { fromAiSdk } from '../../lib/providers/aiSdk/aiSdk.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { cohere } from '../../lib/providers/cohere/cohere.js';
import { google } from '../../lib/providers/google/google.js';
import { googleInteractions } from '../../lib/providers/googleInteractions/googleInteractions.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { mistral } from '../../lib/providers/mistral.js';
import { ollama } from '../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openai } from '../../lib/providers/openai.js';
import { openrouter } from '../../lib/providers/openrouter.js';
import { together } from '../../lib/providers/together.js';

const wires: Readonly<Record<string, (options: ModelOptions) => Model>> = {
  'openai-chat': (options) => openaiChat('gpt-6.1-terra', options),
  'openai, without vision': (options) => openaiChat('gpt-6.1-terra', { ...options, capabilities: { vision: false } }),
  openai: (options) => openai('gpt-6.1-terra', options),
  'openai, not stored': (options) => openai('gpt-6.1-terra', { ...options, store: false }),
  anthropic: (options) => anthropic('claude-sonnet-5-5', options),
  'anthropic, cached': (options) => cachePrompt(anthropic('claude-sonnet-5-5', options)),
  google: (options) => google('gemini-3.8-flash', options),
  'google, before Gemini 3': (options) => google('gemini-2.5-flash', options),
  googleInteractions: (options) => googleInteractions('gemini-3.8-flash', options),
  cohere: (options) => cohere('command-a-plus-05-2026', options),
  mistral: (options) => mistral('mistral-small-latest', options),
  ollama: (options) => ollama('qwen3', options),
  openrouter: (options) => openrouter('qwen/qwen3', options),
  together: (options) => together('qwen/qwen3', options),
};

/** A model whose requests never end, and the function that sends one and returns its body. */
function sending(wire: string): (messages: readonly Message[]) => unknown {
  let sent: unknown;
  const never = (body: unknown) => {
    sent = body;
    return new Promise<never>(() => undefined);
  };
  const create = wires[wire];
  const sdk = {
    specificationVersion: 'v4',
    provider: 'acme',
    modelId: 'm',
    doStream: (options: unknown) => never(options),
  };
  const model =
    create?.({ apiKey: 'k', baseUrl: 'http://localhost/v1', fetch: (_, init) => never(init?.body) }) ??
    fromAiSdk(sdk as unknown as LanguageModelV4);
  return (messages) => {
    sent = undefined;
    model.stream({ messages }).subscribe().unsubscribe();
    return sent;
  };
}

const all = [...Object.keys(wires), 'aiSdk'];

/** A question, a call, its result and an answer. */
const exchange = (id: string): readonly Message[] => [
  userMessage(`Question ${id}`),
  modelMessage([
    { type: 'text', text: 'Let me look.' },
    { type: 'toolCall', id, name: 'look', arguments: { at: [id] } },
  ]),
  userMessage([{ type: 'toolResult', id, name: 'look', result: { found: [id, { deep: 'x'.repeat(100) }] } }]),
  modelMessage(`Answer ${id}`),
];

const call = (id: string) => modelMessage([{ type: 'toolCall', id, name: 'functions.look', arguments: {} }]);
const result = (id: string) =>
  userMessage([{ type: 'toolResult', id, name: 'functions.look', result: [{ a: 1 }, 'text'] }]);

/** Histories, of which some need a repair at each request. */
const histories: Readonly<Record<string, readonly Message[]>> = {
  'a conversation with calls': [systemMessage('Be brief.'), ...exchange('a'), ...exchange('b'), ...exchange('c')],
  'a long turn': [userMessage('Go.'), ...['a', 'b', 'c', 'd', 'e'].flatMap((id) => [call(id), result(id)])],
  'prompts that join the results': [
    userMessage('Go.'),
    ...['a', 'b', 'c'].flatMap((id) => [call(id), result(id), userMessage(`And ${id}.`)]),
    modelMessage('Done.'),
    userMessage('Thanks.'),
  ],
  'empty messages, cancelled calls and late system messages': [
    userMessage('Go.'),
    modelMessage([]),
    call('a'),
    userMessage('Stop.'),
    systemMessage('Be brief.'),
    modelMessage('Stopped.'),
    systemMessage('Be kind.'),
    ...exchange('b'),
  ],
};

/** Counts the reads of a value at any depth. */
function counted<T extends object>(value: T, count: () => void, known: WeakMap<object, object>): T {
  const existing = known.get(value);
  if (existing) return existing as T;
  const proxy = new Proxy(value, {
    get(target, name) {
      count();
      const inner: unknown = Reflect.get(target, name);
      return typeof inner === 'object' && inner !== null ? counted(inner, count, known) : inner;
    },
  });
  known.set(value, proxy);
  return proxy;
}

const copyOf = (messages: readonly Message[]) => structuredClone(messages);

describe('a history that grows', () => {
  it.each(all.flatMap((wire) => Object.keys(histories).map((name) => ({ wire, name }))))(
    '$wire sends of $name what it sends of a new history',
    ({ wire, name }) => {
      const history = copyOf(histories[name] ?? []);
      const send = sending(wire);
      for (let length = 1; length <= history.length; length++) {
        const sent = send(history.slice(0, length));
        expect(sent).toBeDefined();
        expect(sent).toEqual(sending(wire)(copyOf(history.slice(0, length))));
      }
    },
  );

  it.each(all)('%s sends no id of a message', (wire) => {
    const options = { [wire]: { extra: 1 }, acme: { extra: 1 } };
    const bodies = [{}, { id: 'f'.repeat(32) }].map((id) =>
      sending(wire)([
        { ...userMessage('One.'), ...id, providerOptions: options },
        { ...modelMessage('Two.'), ...id },
        { ...userMessage('Three.'), ...id },
        { ...userMessage('Four.'), ...id },
      ]),
    );
    expect(bodies[0]).toBeDefined();
    expect(bodies[1]).toEqual(bodies[0]);
  });

  it.each(all.flatMap((wire) => Object.keys(histories).map((name) => ({ wire, name }))))(
    '$wire looks into no earlier message of $name again',
    ({ wire, name }) => {
      const rounds = Array.from({ length: 5 }, (_, index) => exchange(`e${index}`)).flat();
      let reads = 0;
      const known = new WeakMap<object, object>();
      // What stands next to the new messages is read with them: a call with its result, two results of one message.
      const past = [...copyOf(histories[name] ?? []), ...rounds];
      const history = [
        ...past.slice(0, -8).map((message) => counted(message, () => reads++, known)),
        ...past.slice(-8),
      ];
      const send = sending(wire);
      send(history);
      expect(reads).toBeGreaterThan(0);
      reads = 0;
      send([...history, ...exchange('new')]);
      send([...history, ...exchange('new'), ...exchange('newer')]);
      expect(reads).toBe(0);
    },
  );
});
