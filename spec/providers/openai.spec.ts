import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { userMessage } from '../../lib/core/message.js';
import { openai } from '../../lib/providers/openai.js';
import { answering } from './answering.js';

const messages = [userMessage('Name a river.')];

describe('openai', () => {
  it('streams an answer of the Chat Completions API', async () => {
    const { fetch, seen } = answering(
      { id: 'c1', model: 'gpt-5', choices: [{ index: 0, delta: { content: 'Loire' }, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } },
      '[DONE]',
    );
    const model = openai('gpt-5', { apiKey: 'k', fetch });
    expect(await lastValueFrom(model.stream({ messages, maxOutputTokens: 9 }).pipe(toArray()))).toEqual([
      { type: 'metadata', metadata: { responseId: 'c1', model: 'gpt-5' } },
      { type: 'text', text: 'Loire' },
      { type: 'finish', reason: 'stop', rawReason: 'stop', usage: { input: 5, output: 1, total: 6 } },
    ]);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.url).toBe('https://api.openai.com/v1/chat/completions');
    expect(seen[0]?.headers.get('authorization')).toBe('Bearer k');
    expect(seen[0]?.body).toEqual({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'Name a river.' }],
      max_completion_tokens: 9,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('merges its own options into the request', async () => {
    const { fetch, seen } = answering({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] });
    const model = openai('gpt-5', { apiKey: 'k', fetch });
    await lastValueFrom(
      model.stream({ messages, providerOptions: { openai: { service_tier: 'flex' }, other: { x: 1 } } }),
    );
    expect(seen[0]?.body).toMatchObject({ service_tier: 'flex' });
    expect(seen[0]?.body).not.toHaveProperty('x');
  });

  it('says who it is and what it can do', () => {
    expect(openai('gpt-5')).toMatchObject({
      provider: 'openai',
      name: 'gpt-5',
      capabilities: { tools: true, typedOutputWithTools: true, vision: true },
    });
  });

  it('reports a wish that it has no field for before any request', async () => {
    const { fetch, seen } = answering();
    const stream = openai('gpt-5', { apiKey: 'k', fetch }).stream({ messages, thinking: { budget: 5 } });
    await expect(lastValueFrom(stream)).rejects.toMatchObject({ code: 'configuration', subject: 'options' });
    expect(seen).toEqual([]);
  });
});
