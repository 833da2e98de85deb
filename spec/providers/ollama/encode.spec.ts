import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { filePart, modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import type { Request } from '../../../lib/core/model.js';
import { encodeOllama } from '../../../lib/providers/ollama/encode.js';
import { ollama } from '../../../lib/providers/ollama/ollama.js';

const messages = [userMessage('Hi')];
const body = (request: Partial<Request>) => encodeOllama('qwen3:8b', { messages, ...request }).body;
const sent = (...conversation: readonly Message[]) => body({ messages: conversation })['messages'];
const tools = [{ name: 'f', description: 'F.', parameters: { type: 'object', properties: {} } }];
const bytes = (text: string) => new TextEncoder().encode(text);

describe('ollama: the request', () => {
  it('says nothing that was not asked for', () => {
    expect(encodeOllama('qwen3:8b', { messages })).toEqual({
      path: '/api/chat',
      body: { model: 'qwen3:8b', messages: [{ role: 'user', content: 'Hi' }], stream: true },
    });
  });

  it('puts each setting in its field', () => {
    const output = { type: 'object' };
    expect(
      body({ temperature: 0, topP: 0.9, maxOutputTokens: 10, stopSequences: ['END'], seed: 7, output }),
    ).toMatchObject({
      format: output,
      options: { temperature: 0, top_p: 0.9, num_predict: 10, stop: ['END'], seed: 7 },
    });
  });

  it.each<[Request['thinking'], unknown]>([
    [true, true],
    [false, false],
    [{}, true],
    [{ effort: 'high' }, 'high'],
    [{ effort: 'minimal' }, 'low'],
  ])('asks for thinking %j with %j', (thinking, think) => {
    expect(body(thinking === undefined ? {} : { thinking })['think']).toBe(think);
  });

  it('declares tools, unless there are to be no calls', () => {
    expect(body({ tools, toolChoice: 'auto' })['tools']).toEqual([{ type: 'function', function: tools[0] }]);
    expect(body({ tools, toolChoice: 'none' })).not.toHaveProperty('tools');
  });

  it.each<[string, Partial<Request>, RegExp]>([
    [
      'a call that is demanded',
      { tools, toolChoice: 'required' },
      /cannot be told to call a tool \(toolChoice: required\).*'auto'/,
    ],
    ['a certain tool', { tools, toolChoice: { name: 'f' } }, /toolChoice: f/],
    ['one call at a time', { tools, parallelToolCalls: false }, /no field that forbids several calls/],
    ['a budget for thinking', { thinking: { budget: 100 } }, /no budget for thinking \(100 tokens\).*effort/],
    [
      'an image by address',
      { messages: [userMessage([filePart(new URL('https://x/y.png'), 'image/png')])] },
      /no files by address.*filePart/,
    ],
    [
      'a PDF',
      { messages: [userMessage([filePart(bytes('%PDF'), 'application/pdf')])] },
      /no application\/pdf files.*images/,
    ],
  ])('refuses %s before any request, and says what to do', (_, request, why) => {
    expect(() => body(request)).toThrow(why);
  });
});

describe('ollama: what it cannot do', () => {
  it.each<[string, Partial<Request>]>([
    ['tools together with a schema', { tools, output: { type: 'object' } }],
    ['a PDF', { messages: [userMessage([filePart(bytes('%PDF'), 'application/pdf')])] }],
  ])('refuses %s by its capabilities, before any request', async (_, request) => {
    const fetch: typeof globalThis.fetch = () => Promise.reject(new Error('no request was expected'));
    await expect(lastValueFrom(ollama('m', { fetch }).stream({ messages, ...request }))).rejects.toMatchObject({
      subject: 'capability',
    });
  });
});

describe('ollama: the conversation', () => {
  it('sends texts as one, text files among them, and images beside them', () => {
    const image = { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0K' } as const;
    const said = userMessage([{ type: 'text', text: 'Look.' }, image, filePart(bytes('a,b'), 'text/csv', 'x.csv')]);
    expect(sent(systemMessage('Be brief.'), said)).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Look.\n\nx.csv:\na,b', images: ['iVBORw0K'] },
    ]);
  });

  it('sends results by name and in order, ids only where Ollama gave them, and nothing that another provider kept', () => {
    const call = (id: string, providerData: NonNullable<Message['metadata']>) =>
      ({ type: 'toolCall', id, name: 'f', arguments: { a: 1 }, providerData }) as const;
    expect(
      sent(
        {
          ...modelMessage([call('1', { ollama: { id: 'x' } }), call('2', { google: { id: 'y' } })]),
          metadata: { google: { thinking: 'no' } },
        },
        userMessage([
          { type: 'toolResult', id: '1', name: 'f', result: 'plain' },
          { type: 'toolResult', id: '2', name: 'f', error: 'no' },
          { type: 'text', text: 'And?' },
        ]),
      ),
    ).toEqual([
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'x', function: { name: 'f', arguments: { a: 1 } } },
          { function: { name: 'f', arguments: { a: 1 } } },
        ],
      },
      { role: 'tool', tool_name: 'f', tool_call_id: 'x', content: 'plain' },
      { role: 'tool', tool_name: 'f', content: '{"error":"no"}' },
      { role: 'user', content: 'And?' },
    ]);
  });
});

describe('ollama: where it is', () => {
  it.each([
    [undefined, 'http://localhost:11434/api/chat'],
    ['http://box:1', 'http://box:1/api/chat'],
    ['http://box:1/api', 'http://box:1/api/chat'],
    ['https://box/proxy/api/', 'https://box/proxy/api/chat'],
    ['https://box/api?team=1', 'https://box/api/chat?team=1'],
  ])('asks with the base URL %s at %s, without a key', async (baseUrl, url) => {
    const asked: [string, Headers][] = [];
    const fetch: typeof globalThis.fetch = (input, init) => {
      asked.push([typeof input === 'string' ? input : '', new Headers(init?.headers)]);
      return Promise.resolve(new Response('{"done":true}\n', { headers: { 'content-type': 'application/x-ndjson' } }));
    };
    await lastValueFrom(ollama('m', { fetch, ...(baseUrl === undefined ? {} : { baseUrl }) }).stream({ messages }));
    expect(asked.map(([at]) => at)).toEqual([url]);
    expect(asked[0]?.[1].has('authorization')).toBe(false);
  });
});
