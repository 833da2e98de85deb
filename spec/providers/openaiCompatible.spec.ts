import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { openaiCompatible } from '../../lib/providers/openaiCompatible.js';
import { openTool } from '../checks/conformance/case.js';
import { answering } from './answering.js';

const messages = [userMessage('Name a river.')];
const answer = { choices: [{ index: 0, delta: { content: 'Ems' }, finish_reason: 'stop' }] };

describe('openaiCompatible', () => {
  afterEach(() => {
    delete process.env['RIVULET_SPEC_KEY'];
  });

  it('openaiCompatible makes models of one server, with its key', async () => {
    const { fetch, requests } = answering(answer);
    const groq = openaiCompatible({ name: 'groq', baseUrl: 'https://api.groq.test/openai/v1/', apiKey: 'k', fetch });
    const model = groq('llama');
    expect(model).toMatchObject({ provider: 'groq', name: 'llama' });
    expect(await lastValueFrom(model.stream({ messages, maxOutputTokens: 9 }).pipe(toArray()))).toEqual([
      { type: 'text', text: 'Ems' },
      { type: 'finish', reason: 'stop', rawReason: 'stop' },
    ]);
    expect(requests[0]).toMatchObject({
      url: 'https://api.groq.test/openai/v1/chat/completions',
      body: { model: 'llama', max_tokens: 9 },
    });
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer k');
  });

  it('openaiCompatible sends no authorization to a server without a key', async () => {
    const { fetch, requests } = answering(answer);
    await lastValueFrom(
      openaiCompatible({ name: 'local', baseUrl: 'http://localhost:8080/v1', fetch })('any').stream({ messages }),
    );
    expect(requests[0]?.headers.has('authorization')).toBe(false);
  });

  it('openaiCompatible reads the key from the variable, and names the variable if it is not set', async () => {
    const { fetch, requests } = answering(answer);
    const server = openaiCompatible({
      name: 'local',
      baseUrl: 'http://localhost/v1',
      apiKeyVariable: 'RIVULET_SPEC_KEY',
      fetch,
    });
    await expect(lastValueFrom(server('any').stream({ messages }))).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('RIVULET_SPEC_KEY'),
    });
    process.env['RIVULET_SPEC_KEY'] = 'from-env';
    await lastValueFrom(server('any').stream({ messages }));
    expect(requests.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer from-env']);
  });

  it('openaiCompatible reads a text as calls only for a server or a model with textCalls', async () => {
    const content = '<|python_tag|>{"name":"delete_all","parameters":{}}';
    const { fetch } = answering({ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] });
    const local = { name: 'local', baseUrl: 'http://localhost/v1', fetch };
    const types = async (model: Model) => {
      const stream = model.stream({ messages, tools: [openTool('delete_all')] });
      return (await lastValueFrom(stream.pipe(toArray()))).map(({ type }) => type);
    };
    expect(await types(openaiCompatible(local)('any'))).toEqual(['text', 'finish']);
    expect(await types(openaiCompatible(local)('any', { textCalls: true }))).toEqual(['toolCallFragment', 'finish']);
    expect(await types(openaiCompatible({ ...local, textCalls: true })('any'))).toEqual(['toolCallFragment', 'finish']);
  });

  it("openaiCompatible overrides the server's options with the model's, and merges headers", async () => {
    const { fetch, requests } = answering(answer);
    const server = openaiCompatible({
      name: 'local',
      baseUrl: 'http://localhost/v1',
      apiKey: 'k',
      headers: { 'x-a': '1', 'x-b': '1' },
      streamUsage: false,
      fetch,
    });
    await lastValueFrom(server('any', { apiKey: undefined, headers: { 'x-b': '2' } }).stream({ messages }));
    const { headers, body } = requests[0] ?? { headers: new Headers(), body: {} };
    expect([headers.get('authorization'), headers.get('x-a'), headers.get('x-b')]).toEqual(['Bearer k', '1', '2']);
    expect(body).not.toHaveProperty('stream_options');
  });

  it('openaiCompatible emits the content before an error in the stream, and names the server in the error', async () => {
    const { fetch } = answering(
      { choices: [{ delta: { content: 'E' } }] },
      { error: { message: 'worker died', code: 500 }, choices: [] },
    );
    const texts: unknown[] = [];
    const stream = openaiCompatible({ name: 'local', baseUrl: 'http://localhost/v1', fetch })('any').stream({
      messages,
    });
    const error = await new Promise((resolve) =>
      stream.subscribe({ next: (chunk) => texts.push(chunk), error: resolve }),
    );
    expect(texts).toEqual([{ type: 'text', text: 'E' }]);
    expect(error).toMatchObject({
      code: 'provider',
      provider: 'local',
      providerCode: '500',
      retryable: true,
      message: expect.stringContaining('worker died'),
    });
  });
});
