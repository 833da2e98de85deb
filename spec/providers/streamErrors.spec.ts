import { describe, expect, it } from '@jest/globals';
import { catchError, lastValueFrom, of, toArray } from 'rxjs';
import { userMessage } from '../../lib/core/message.js';
import { openaiCompatible } from '../../lib/providers/openaiCompatible.js';
import { openai } from '../../lib/providers/openai.js';

const acme = openaiCompatible({ name: 'acme', baseUrl: 'https://acme.example' });
const sse = (...frames: unknown[]) =>
  frames.map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join('');
const half = { choices: [{ index: 0, delta: { content: 'Half' } }] };
const item = { id: 'm', type: 'message', role: 'assistant', content: [] };
const halfResponse = [
  { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item },
  { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Half' },
];
const noBalance = { id: 'x', choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } };
const empty = { choices: [], base_resp: { status_code: 0, status_msg: 'success' } };

/** What a response with status 200 ends with. */
async function end(create: typeof openai, body: string, type = 'text/event-stream') {
  const fetch = async () => new Response(body, { headers: { 'content-type': type } });
  const chunks = create('m', { apiKey: 'k', fetch, retry: false }).stream({ messages: [userMessage('Hi')] });
  const failure = chunks.pipe(
    catchError((error: unknown) => of(error as Error & { code: string })),
    toArray(),
  );
  return (await lastValueFrom(failure)).at(-1);
}

describe('a response with status 200', () => {
  it.each([
    ["Groq's x_groq.error", acme, sse(half, { choices: [], x_groq: { error: 'over capacity' } }, '[DONE]'), 'over cap'],
    ['x_groq.error beside a choice', acme, sse({ ...half, x_groq: { error: { message: 'Boom' } } }), 'Boom'],
    ["MiniMax's base_resp", acme, sse(half, noBalance), 'insufficient balance'],
    ['[DONE] before the end of a response', openai, sse(...halfResponse, '[DONE]'), 'ended'],
    ['the end before that of a response', openai, sse(...halfResponse), 'ended'],
  ])('fails for %s', async (_, create, body, message) => {
    const last = await end(create, body);
    expect(last).toMatchObject({ code: expect.stringMatching(/^provider|stream_interrupted$/) });
    expect((last as Error).message).toContain(message);
  });

  it.each([
    [noBalance, 'insufficient balance'],
    [{ code: 400, message: 'Boom' }, 'Boom'],
    [{ error: 'Boom' }, 'Boom'],
  ])('fails with the text of the document %j in place of a stream', async (document, message) => {
    const last = await end(acme, JSON.stringify(document), 'application/json');
    expect(last).toMatchObject({ code: 'provider', message: expect.stringContaining(message) });
  });

  it('does not fail for a base_resp or an x_groq that reports success', async () => {
    const stop = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], x_groq: { id: 'req' } };
    expect(await end(acme, sse(half, empty, stop, '[DONE]'))).toMatchObject({ type: 'finish', reason: 'stop' });
  });
});
