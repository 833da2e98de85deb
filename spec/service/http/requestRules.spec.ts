import { afterEach, describe, expect, it } from '@jest/globals';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { agUiHandler } from '../../../lib/agUi.js';
import { tool } from '../../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { createServers, protocolNames, protocols } from '../../support/services.js';
import type { ServiceProtocol, SharedOptions } from '../../support/services.js';

const { serve, close } = createServers();
afterEach(close);

const mediaType = 'application/pdf';

/** A prompt with a file, in each protocol, and one with a text after it. */
const prompts: Readonly<Record<keyof typeof protocols, (url: string, isEarlier: boolean) => unknown>> = {
  agentHandler(url, isEarlier) {
    const input = [{ role: 'user', parts: [{ type: 'file', mediaType, url }] }];
    return isEarlier ? { input: 'Well?', history: [{ id: crypto.randomUUID(), input }] } : { input };
  },
  agUiHandler: (value, isEarlier) => ({
    threadId: 't',
    runId: 'r',
    messages: [
      { id: 'm', role: 'user', content: [{ type: 'document', source: { type: 'url', value } }] },
      ...(isEarlier ? [{ id: 'n', role: 'user', content: 'Well?' }] : []),
    ],
  }),
  uiChatHandler: (url, isEarlier) => ({
    id: 'c',
    messages: [
      { id: 'm', role: 'user', parts: [{ type: 'file', mediaType, url }] },
      ...(isEarlier ? [{ id: 'n', role: 'user', parts: [{ type: 'text', text: 'Well?' }] }] : []),
    ],
  }),
};

const where = tool({ name: 'look', description: 'Looks at the page.' }); // the browser answers
const send = (url: string, { headers }: ServiceProtocol, body: unknown) =>
  fetch(url, { method: 'POST', headers: headers(), body: JSON.stringify(body) });

const places = protocolNames.flatMap((name) => [[name, 'a request'] as const, [name, 'an earlier prompt'] as const]);

describe.each(places)('%s and the URL of a file in %s', (name, place) => {
  const protocol = protocols[name];
  const start = async (options: SharedOptions = {}) => {
    const model = scriptedModel(() => ['Read.']);
    const url = await serve(protocol.handler(createAgent({ model }), options));
    return { model, ask: (file: string) => send(url, protocol, prompts[name](file, place === 'an earlier prompt')) };
  };

  it.each([
    'file:///etc/passwd',
    'http://169.254.169.254/latest/meta-data/',
    'http://example.org/a.pdf',
    'gs://bucket/a.pdf',
    '/relative.pdf',
  ])('does not send the model %s', async (file) => {
    const { ask, model } = await start();
    expect((await ask(file)).status).toBe(400);
    expect(model.requests).toEqual([]);
  });

  it.each(['https://example.org/a.pdf', 'data:application/pdf;base64,JVBERg=='])('sends the model %s', async (file) => {
    const { ask, model } = await start();
    expect(await (await ask(file)).text()).toContain('Read.');
    expect(JSON.stringify(model.requests[0]?.messages)).toContain(file.slice(-8));
  });

  it('asks `allowFileUrl`', async () => {
    const { ask, model } = await start({ browser: { allowFileUrl: ({ hostname }) => hostname === 'files.example' } });
    expect((await ask('https://example.org/a.pdf')).status).toBe(400);
    expect(await (await ask('http://files.example/a.pdf')).text()).toContain('Read.');
    expect(model.requests).toHaveLength(1);
  });

  it.each([
    ['https://files.example\\@evil.example/a', 400],
    ['https://user@files.example/a', 400],
    [' https://files.example/a', 400],
    ['https://files.example/a\n', 400],
    ['https:files.example/a', 400],
    ['https:///files.example/a', 400],
    ['https:\\\\files.example\\a', 400],
    ['https://Files.Example:443?a=@b', 200],
    ['https://files.example', 200],
  ])('is refused if another reader would find another host: %j', async (url, status) => {
    const { ask } = await start({ browser: { allowFileUrl: ({ hostname }) => hostname === 'files.example' } });
    expect((await ask(url)).status).toBe(status);
  });
});

describe('the URL of a file in a result that the browser sends', () => {
  const file = { type: 'file', mediaType, url: 'file:///etc/passwd' };
  const start = async (protocol: ServiceProtocol) => {
    const model = scriptedModel([[toolCall('look', {}, 'c1')], 'Seen.']);
    const tools = [where];
    const url = await serve(protocol.handler(createAgent({ model, tools }), { tools }));
    return { model, url };
  };

  it('agentHandler refuses it, and the run still waits', async () => {
    const protocol = protocols.agentHandler;
    const { url, model } = await start(protocol);
    const resume = crypto.randomUUID();
    const body = JSON.stringify({ input: 'Look.' });
    await (await fetch(url, { method: 'POST', headers: { ...protocol.headers(), 'x-run-id': resume }, body })).text();
    const refused = await send(url, protocol, { resume, results: { c1: [[file]] } });
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('Send files as data, or with'),
    ]);
    expect(model.requests).toHaveLength(1);
    expect(await (await send(url, protocol, { resume, results: { c1: 'A cat.' } })).text()).toContain('Seen.');
  });

  it.each([
    ['a link of another type', { ...file, type: 'link' }],
    ['a file without a type of media', { type: 'file', url: file.url }],
    ['a file whose address is not a text', { ...file, url: 7 }],
    ['nothing', null],
  ])('agentHandler sends the model %s, which it does not fetch', async (_, value) => {
    const protocol = protocols.agentHandler;
    const { url, model } = await start(protocol);
    const resume = crypto.randomUUID();
    const body = JSON.stringify({ input: 'Look.' });
    await (await fetch(url, { method: 'POST', headers: { ...protocol.headers(), 'x-run-id': resume }, body })).text();
    await (await send(url, protocol, { resume, results: { c1: [[value]] } })).text();
    expect(JSON.stringify(model.requests[1]?.messages)).toContain(JSON.stringify(value));
  });

  it('uiChatHandler refuses it', async () => {
    const protocol = protocols.uiChatHandler;
    const { url, model } = await start(protocol);
    const first = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Look.' }] };
    const text = await (await send(url, protocol, { id: 'c', messages: [first] })).text();
    const id = /"messageId":"([^"]+)"/.exec(text)?.[1];
    const answer = (output: unknown) => {
      const part = { type: 'tool-look', toolCallId: 'c1', state: 'output-available', input: {}, output };
      return send(url, protocol, { id: 'c', messages: [first, { id, role: 'assistant', parts: [part] }] });
    };
    expect((await answer({ seen: file })).status).toBe(400);
    expect(model.requests).toHaveLength(1);
    expect(await (await answer('A cat.')).text()).toContain('Seen.');
  });

  it('agUiHandler refuses it, also as text of a call that it does not know', async () => {
    const protocol = protocols.agUiHandler;
    const model = scriptedModel([[toolCall('look', {}, 'c1')], 'Seen.']);
    const agent = createAgent({ model, tools: [where] });
    const url = await serve(agUiHandler(() => agent, { clientTools: ['look'] }));
    const ask = (content?: string) => {
      const answers = content === undefined ? [] : [{ id: 'a', role: 'tool', toolCallId: 'c1', content }];
      const messages = [{ id: 'm', role: 'user', content: 'Look.' }, ...answers];
      return send(url, protocol, { threadId: 't', runId: 'r', messages });
    };
    await (await ask()).text();
    expect((await ask(JSON.stringify([file]))).status).toBe(400);
    expect(model.requests).toHaveLength(1);
    expect(await (await ask('A cat.')).text()).toContain('Seen.');
  });
});
