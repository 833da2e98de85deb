import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BehaviorSubject, catchError, EMPTY, lastValueFrom, of, toArray } from 'rxjs';
import { userMessage } from '../../../lib/core/message.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { cohere } from '../../../lib/providers/cohere/cohere.js';
import { google } from '../../../lib/providers/google/google.js';
import { googleInteractions } from '../../../lib/providers/googleInteractions/googleInteractions.js';
import type { ModelOptions } from '../../../lib/providers/httpModel.js';
import { mistral } from '../../../lib/providers/mistral.js';
import { ollama } from '../../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../../lib/providers/openaiChat.js';
import { openaiCompatible } from '../../../lib/providers/openaiCompatible.js';
import { openai } from '../../../lib/providers/openai.js';
import { openrouter } from '../../../lib/providers/openrouter.js';
import { together } from '../../../lib/providers/together.js';

const acme = openaiCompatible({ name: 'acme', baseUrl: 'https://api.acme.example/v1', apiKeyVariable: 'ACME_API_KEY' });
const providers = {
  acme,
  anthropic,
  cohere,
  google,
  googleInteractions,
  mistral,
  openaiChat,
  openai,
  openrouter,
  together,
};
const variables = ['ACME', 'ANTHROPIC', 'COHERE', 'GEMINI', 'MISTRAL', 'OPENAI', 'OPENROUTER', 'TOGETHER'].map(
  (name) => `${name}_API_KEY`,
);

/** Answers each request with a status, and remembers the headers. */
function server(...statuses: number[]) {
  const sent: Record<string, string>[] = [];
  const fetch = async (_: unknown, init?: RequestInit) => {
    sent.push(init?.headers as Record<string, string>);
    return new Response('{"error":{"message":"No."}}', { status: statuses.shift() ?? 400 });
  };
  return { sent, fetch: fetch as typeof globalThis.fetch };
}

const failure = (model: ReturnType<typeof openaiChat>) =>
  lastValueFrom(
    model.stream({ messages: [userMessage('Hi')] }).pipe(
      catchError((error: unknown) => of(error as Error)),
      toArray(),
    ),
  ).then((all) => all.at(-1) as Error);

/** Which sources of credentials a request contains. */
async function sources(create: typeof openaiChat, options: ModelOptions): Promise<string> {
  const { sent, fetch } = server();
  await failure(create('m', { ...options, fetch, retry: false }));
  expect(sent).toHaveLength(1);
  const text = JSON.stringify(sent);
  return ['environment', 'option', 'header'].filter((source) => text.includes(`of-the-${source}`)).join('+');
}

const option = { apiKey: 'of-the-option' };
const credentials: Record<string, [options: ModelOptions, vendor: string, other: string]> = {
  'nothing else': [{}, 'environment', ''],
  option: [option, 'option', 'option'],
  'an empty option': [{ apiKey: ' ' }, 'environment', ''],
  'a function': [{ apiKey: () => Promise.resolve('of-the-option') }, 'option', 'option'],
  authorization: [{ headers: { authorization: 'Bearer of-the-header' } }, 'header', 'header'],
  Authorization: [{ headers: { Authorization: 'Bearer of-the-header' } }, 'header', 'header'],
  'api-key': [{ headers: { 'api-key': 'of-the-header' } }, 'header', 'header'],
  'x-api-key': [{ headers: { 'x-api-key': 'of-the-header' } }, 'header', 'header'],
  'x-goog-api-key': [{ headers: () => of({ 'x-goog-api-key': 'of-the-header' }) }, 'header', 'header'],
  'option + authorization': [{ ...option, headers: { authorization: 'Bearer of-the-header' } }, 'header', 'header'],
  'option + a token of a gateway': [
    { ...option, headers: { 'helicone-auth': 'Bearer of-the-header' } },
    'option+header',
    'option+header',
  ],
  'a header without credentials': [{ headers: { 'x-trace': 'abc' } }, 'environment', ''],
};
const otherUrls = [
  'https://gateway.example/v1',
  'https://api.openai.com.evil.example/v1',
  'https://api.openai.com@evil.example/v1',
  'https://evil.example/api.openai.com',
  'https://evilapi.openai.com.example',
  'https://api.openai.com:8443/v1',
  'http://api.openai.com/v1',
  'http://192.168.1.7:8000/v1',
];

describe('withCredentials', () => {
  beforeEach(() => {
    for (const name of variables) process.env[name] = 'of-the-environment';
  });
  afterEach(() => {
    for (const name of variables) Reflect.deleteProperty(process.env, name);
  });

  it.each(Object.keys(providers))('%s sends one credential: header, else option, else environment', async (name) => {
    const create = providers[name as keyof typeof providers];
    const wrong: string[] = [];
    for (const [what, [options, vendor, other]] of Object.entries(credentials))
      for (const baseUrl of [undefined, ...otherUrls]) {
        const seen = await sources(create, { ...options, ...(baseUrl === undefined ? {} : { baseUrl }) });
        const due = baseUrl === undefined ? vendor : other;
        if (seen !== due) wrong.push(`${what} at ${baseUrl}: ${seen}, not ${due}`);
      }
    expect(wrong).toEqual([]);
  });

  it.each([
    [openaiChat, 'https://eu.api.openai.com/v1'],
    [openaiChat, 'https://API.OPENAI.COM/v1/'],
    [openrouter, 'https://eu.openrouter.ai/api/v1'],
    [mistral, 'https://api.eu.mistral.ai/v1'],
    [together, 'https://api.together.ai/v1'],
    [cohere, 'https://api.cohere.ai/v2'],
    [acme, 'https://us-east-1.api.acme.example/v1'],
  ])('sends the key of the environment to a region or another host of the vendor (%#)', async (create, baseUrl) => {
    expect(await sources(create, { baseUrl })).toBe('environment');
  });

  it('sends the key of a variable that is defined together with a server to that server, over http too', async () => {
    const local = openaiCompatible({ name: 'local', baseUrl: 'http://gpu:8000/v1', apiKeyVariable: 'ACME_API_KEY' });
    expect(await sources(local, {})).toBe('environment');
    expect(await sources(local, { baseUrl: 'http://gpu:8001/v1' })).toBe('');
  });

  it('asks functions for each request, retries included', async () => {
    const { sent, fetch } = server(503, 429, 400);
    const apiKey = () => new BehaviorSubject(`token-${sent.length + 1}`);
    const headers = () => ({ 'x-attempt': String(sent.length) });
    await failure(openaiChat('m', { apiKey, headers, fetch, retry: { count: 2, initialDelay: 0 } }));
    expect(sent.map((each) => [each['authorization'], each['x-attempt']])).toEqual([
      ['Bearer token-1', '0'],
      ['Bearer token-2', '1'],
      ['Bearer token-3', '2'],
    ]);
  });

  it('merges the headers of a server and of a model, also those of functions', async () => {
    const { sent, fetch } = server();
    const base = {
      name: 'a',
      baseUrl: 'https://a.test',
      fetch,
      headers: () => Promise.resolve({ 'x-a': '1', b: '1' }),
    };
    await failure(openaiCompatible(base)('m', { headers: { B: '2' } }));
    expect(sent[0]).toMatchObject({ 'x-a': '1', b: '2' });
  });

  it.each([() => '', () => EMPTY, () => Promise.resolve(undefined as never)])(
    'fails before the request if the function returns no key (%#)',
    async (apiKey) => {
      const { sent, fetch } = server();
      expect(await failure(openaiChat('m', { apiKey, fetch }))).toMatchObject({ subject: 'apiKey' });
      expect(sent).toEqual([]);
    },
  );

  it('says that no key was sent if another server refuses a request without one', async () => {
    const ask = async (create: typeof openaiChat, options: ModelOptions) =>
      (await failure(create('m', { ...options, fetch: server(401).fetch }))).message;
    expect(await ask(openaiChat, { baseUrl: 'https://gateway.example' })).toMatch(
      /No key was sent, since OPENAI_API_KEY is only sent to the vendor: pass \{ apiKey: process\.env\.OPENAI_API_KEY \}/,
    );
    expect(await ask(ollama, {})).toMatch(/No key was sent: pass \{ apiKey \}/);
    expect(await ask(openaiChat, {})).toMatch(/Check the API key/);
  });
});
