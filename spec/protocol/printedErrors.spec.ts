import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, type Observable } from 'rxjs';
import { fetchAgUi } from '../../lib/chat/agUi/fetchAgUi.js';
import { fromAgUi } from '../../lib/chat/agUi/fromAgUi.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { userMessage } from '../../lib/core/message.js';
import { RivuletError } from '../../lib/core/errors.js';
import { anthropic } from '../../lib/providers/anthropic/index.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { mcpTools } from '../../lib/tools/mcp/index.js';
import { inMemory } from '../tools/mcp/servers.js';
import { runOptions } from '../support/runOptions.js';

/** Titles, colours, a cursor, a bell, C1, and texts that run backwards. */
const hostile = 'Bo\u001b]0;title\u0007\u001b[31m\u001b[2J\u009b1m\u0008\u200b\u202eom\u2066!\r\n\tNext';
const json = (value: unknown, status = 200) => new Response(JSON.stringify(value), { status });
const sse = (text: string, type = 'text/event-stream') => new Response(text, { headers: { 'content-type': type } });

type Fetch = () => Promise<Response>;
const ask = (create: typeof openaiChat | typeof anthropic, fetch: Fetch): Observable<unknown> =>
  create('m', { apiKey: 'k', fetch, retry: false }).stream({ messages: [userMessage('Hi')] });

class OwnError extends RivuletError {
  readonly code = 'own';
}

/** What fails with a text of others. */
const failures: Readonly<Record<string, () => Observable<unknown> | Promise<unknown>>> = {
  'a refusal of a provider': () => ask(openaiChat, async () => json({ error: { message: hostile } }, 400)),
  'a refusal that is a text': () => ask(openaiChat, async () => new Response(hostile, { status: 500 })),
  'an error in a stream': () =>
    ask(anthropic, async () =>
      sse(`event: error\ndata: ${JSON.stringify({ type: 'error', error: { message: hostile } })}\n\n`),
    ),
  'a frame that is not JSON': () => ask(openaiChat, async () => sse(`data: {${hostile.replace(/\s/g, '')}\n\n`)),
  'another content type': () => ask(openaiChat, async () => sse(`<p>${hostile}`, 'text/html')),
  'a connection that fails': () => ask(openaiChat, () => Promise.reject(new Error(hostile))),
  'a refusal of a service': () =>
    remoteAgent('/x', { fetch: async () => json({ code: 'bad', message: hostile }, 400) }).stream(
      'Hi',
      runOptions('0'.repeat(32)),
    ),
  'the error of a run at a service': () =>
    fetchAgUi(
      '/x',
      { threadId: 't', runId: 'r', messages: [] },
      {
        fetch: async () => sse(`data: ${JSON.stringify({ type: 'RUN_ERROR', message: hostile })}\n\n`),
      },
    ).pipe(fromAgUi()),
  'an MCP server': async () => {
    const { client } = await inMemory({
      list: () => {
        throw new Error(hostile);
      },
    });
    return lastValueFrom(mcpTools(client));
  },
  'an error of a user': () => Promise.reject(new OwnError(hostile)),
};

describe('the message of an error', () => {
  it.each(Object.keys(failures))('of %s does not control a terminal when it is printed', async (name) => {
    const failed = failures[name]?.();
    const error: unknown = await Promise.resolve(failed && 'subscribe' in failed ? lastValueFrom(failed) : failed).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ message: expect.any(String), stack: expect.any(String) });
    const { message, stack } = error as Error;
    for (const printed of [message, stack, String(error), inspect(error)])
      expect(printed).not.toMatch(/[^\n\t\u0020-\u007e\u00a0-\u2029\u202f-\u2065\u206a-\uffff]/);
  });
});
