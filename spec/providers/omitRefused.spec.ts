import { afterEach, describe, expect, it } from '@jest/globals';
import { EMPTY, filter, firstValueFrom, toArray } from 'rxjs';
import { createAgent, type Agent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import type { Conversation, ConversationAgent } from '../../lib/chat/index.js';
import { filePart, userMessage, type Message } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import type { StreamEvent } from '../../lib/core/event.js';
import type { Input } from '../../lib/core/input.js';
import { tool } from '../../lib/core/tool.js';
import { omitRefused } from '../../lib/protocol/omitRefused.js';
import { modelByName } from '../../lib/providers/registry/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer, ServeOptions } from '../../lib/testing/server/index.js';

const good = filePart(new TextEncoder().encode('a good image'), 'image/png', 'good.png');
const bad = filePart(new TextEncoder().encode('a broken image'), 'image/png', 'bad.png');
const { data: badData = '' } = bad;
/** The broken file is the first one, so that only its place in the request tells which one it is. */
const photos = userMessage([{ type: 'text', text: 'Compare.' }, bad, good]);

/** How a provider refuses a request: `placed` if the error says where the file is. */
interface Refusal {
  readonly provider: string;
  readonly status?: number;
  readonly body: (message: string) => object;
  readonly message: string;
  readonly isPlaced?: boolean;
}

const openai = (message: string) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } });
const anthropic = (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } });
const google = (message: string) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } });
const plain = (message: string) => ({ error: message });
const atParam = (message: string) => ({ error: { message, param: 'messages[2].content[1]', code: 'invalid_image' } });

/** Texts of reports about real servers: the place counts from 0, after the messages of the first prompt. */
const refusals: readonly Refusal[] = [
  { provider: 'openai', body: openai, message: 'The image data you provided does not represent a valid image.' },
  {
    provider: 'openai',
    body: openai,
    message: "Invalid 'input[2].content[1].image_url'. Expected a base64-encoded data URL.",
    isPlaced: true,
  },
  { provider: 'openai-chat', body: openai, message: 'You uploaded an unsupported image.' },
  { provider: 'openai-chat', body: atParam, message: 'Invalid image data.', isPlaced: true },
  { provider: 'together', status: 422, body: plain, message: 'image cannot be decoded' },
  { provider: 'anthropic', body: anthropic, message: 'Could not process image' },
  {
    provider: 'anthropic',
    body: anthropic,
    message: 'messages.2.content.1.image.source.base64: invalid base64 data',
    isPlaced: true,
  },
  { provider: 'google', body: google, message: 'Unable to process input image. Please retry.' },
  {
    provider: 'google',
    body: google,
    message: "Invalid value at 'contents[2].parts[1].inline_data.data' (TYPE_BYTES), Base64 decoding failed",
    isPlaced: true,
  },
  {
    provider: 'mistral',
    status: 422,
    body: (msg) => ({ detail: [{ type: 'value_error', loc: ['body', 'messages', 2, 'content', 1], msg }] }),
    message: 'Image, could not be loaded as base64.',
    isPlaced: true,
  },
  { provider: 'ollama', body: plain, message: 'Failed to load image or audio file' },
  { provider: 'cohere', body: (message) => ({ message }), message: 'invalid request: image could not be decoded' },
  { provider: 'openrouter', status: 404, body: openai, message: 'No endpoints found that support image input' },
];

const servers: LoopbackServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

/** Serves a provider that refuses each request which contains a text, and counts nothing else. */
async function refusing(
  { provider, status = 400, body, message }: Refusal,
  script: Parameters<typeof serveModel>[0] = ['Hello.', 'I see.', 'Yes.'],
  needle = badData,
  options: ServeOptions = {},
) {
  const server = await serveModel(script, {
    forRequest: (request) =>
      JSON.stringify(request.body).includes(needle) ? { status, body: body(message) as never } : undefined,
    ...options,
  });
  servers.push(server);
  const model = modelByName(`${provider}:m`, {
    baseUrl: server.urlFor(provider),
    apiKey: 'key',
    retry: false,
    capabilities: { vision: true },
  });
  return { server, model };
}

const look = tool({ name: 'look', description: 'Looks.', execute: () => ['See', bad] });
const dump = tool({ name: 'dump', description: 'Prints.', execute: () => 'a very long log' });

it.each([
  ['openai', openai, "Invalid 'input[2].output': string too long."],
  ['openai-chat', openai, "Invalid 'messages[2].content': string too long."],
  ['anthropic', anthropic, 'messages.2.content.0.tool_result.content: string too long'],
])('%s refuses a text: %#', async (provider, body, message) => {
  const { server, model } = await refusing({ provider, body, message }, [[toolCall('dump')], 'Done.'], 'very long log');
  const chat = conversation(createAgent({ model, tools: [dump] }), { wrapTurn: omitRefused });
  const view = chat.view$.subscribe();
  expect(await ask(chat, 'Print.')).toMatchObject({
    status: 'idle',
    text: 'Done.',
    notice: { message: notice('the result of the tool dump') },
  });
  expect(JSON.stringify(server.requests.at(-1)?.body)).toContain(
    '[The result was left out, because the provider refused it.]',
  );
  view.unsubscribe();
});

/** Sends a prompt, and returns the last exchange when its run has ended. */
async function ask(chat: Conversation, prompt: Input) {
  const count = chat.view.exchanges.length;
  chat.send(prompt);
  const ended = chat.view$.pipe(
    filter(({ status, exchanges }) => exchanges.length > count && ['idle', 'failed'].includes(status)),
  );
  const exchange = (await firstValueFrom(ended)).exchanges.at(-1);
  const texts = exchange?.messages.at(-1)?.parts.map((part) => (part.type === 'text' ? part.text : '')) ?? [];
  return { status: exchange?.status, text: texts.join(''), notice: exchange?.notice, error: exchange?.error };
}

const local = (agent: ConversationAgent) => conversation(agent, { wrapTurn: omitRefused });
const remote = (agent: ConversationAgent) => {
  const handler = agentHandler(agent as never);
  return conversation(
    remoteAgent('http://service/chat', { fetch: (input, init) => handler(new Request(input, init)) }),
  );
};

const notice = (what: string) => `The model could not read ${what}. The answer was made without it.`;
const name = ({ provider, message }: Refusal) => `${provider}: ${message}`;
const rows = refusals.map((refusal) => [name(refusal), refusal] as const);

describe.each([
  ['a local agent', local],
  ['a service', remote],
])('a refused file, with %s', (_, converse) => {
  it.each(rows)('%s', async (__, refusal) => {
    const { server, model } = await refusing(refusal);
    const chat = converse(createAgent({ model }));
    const view = chat.view$.subscribe();
    expect(await ask(chat, 'Hi')).toMatchObject({ status: 'idle', text: 'Hello.' });

    const all = refusal.isPlaced ? 'bad.png (image/png)' : 'bad.png (image/png), good.png (image/png)';
    expect(await ask(chat, photos)).toEqual({
      status: 'idle',
      text: 'I see.',
      notice: { code: 'omitted', message: notice(all) },
      error: undefined,
    });
    expect(server.requests).toHaveLength(3);
    const sent = JSON.stringify(server.requests[2]?.body);
    expect([sent.includes(good.data ?? ''), sent.includes(badData)]).toEqual([refusal.isPlaced === true, false]);
    expect(sent).toContain('[bad.png (image/png) was left out, because the provider refused it.]');

    expect(await ask(chat, 'Sure?')).toEqual({ status: 'idle', text: 'Yes.', notice: undefined, error: undefined });
    expect(server.requests).toHaveLength(4); // it is not tried again
    // What is shown and stored has the file.
    expect(chat.view.exchanges[1]?.messages[0]?.parts).toMatchObject([{ text: 'Compare.' }, bad, good]);
    view.unsubscribe();
  });
});

describe('a refused tool result', () => {
  it('an image of a result is left out, and its text stays', async () => {
    const message = 'messages.2.content.0.tool_result.content.1.image.source.base64: invalid base64 data';
    const { server, model } = await refusing({ provider: 'anthropic', body: anthropic, message }, [
      [toolCall('look')],
      'Done.',
    ]);
    const chat = conversation(createAgent({ model, tools: [look] }), { wrapTurn: omitRefused });
    const view = chat.view$.subscribe();
    expect(await ask(chat, 'Look.')).toMatchObject({ status: 'idle', text: 'Done.', notice: { code: 'omitted' } });
    const sent = JSON.stringify(server.requests.at(-1)?.body);
    expect(sent).toContain('See');
    expect(sent).toContain('[bad.png (image/png) was left out');
    view.unsubscribe();
  });
});

describe('a refused file inside an agent of agentTool', () => {
  const message = 'messages.2.content.0.tool_result.content.1.image.source.base64: invalid base64 data';
  /** A sub-agent that looks at a file, and an agent that asks it. */
  async function asking(wrap: (inner: Agent) => Agent = (inner) => inner) {
    const { server, model } = await refusing({ provider: 'anthropic', body: anthropic, message }, [
      [toolCall('look')],
      'A cat.',
    ]);
    const inner = createAgent({ model, tools: [look] }) as unknown as Agent;
    const asked = agentTool(wrap(inner), { name: 'ask', description: 'Asks.' });
    const agent = createAgent({
      model: scriptedModel([[toolCall('ask', { prompt: 'Look.' })], 'So.']),
      tools: [asked],
    });
    const resultOf = (events: readonly StreamEvent[]) => events.find(({ type }) => type === 'toolResult');
    return { server, agent, resultOf };
  }

  it('is left out by the wrapTurn of its runs', async () => {
    const { server, agent, resultOf } = await asking((inner) => {
      const stream: Agent['stream'] = (input, options) =>
        inner.stream(input, { ...options, wrapTurn: omitRefused } as never);
      return { ...inner, stream };
    });
    const events = await firstValueFrom(agent.stream('Look.').pipe(toArray()));
    expect(resultOf(events)).toMatchObject({ result: 'A cat.' });
    expect(server.requests).toHaveLength(3);
  });

  it('is an error of the call in a service, whose own option is for the outer run', async () => {
    const { server, agent } = await asking();
    const chat = remote(agent);
    const view = chat.view$.subscribe();
    expect(await ask(chat, 'Look.')).toMatchObject({ status: 'idle', text: 'So.' });
    expect(server.requests).toHaveLength(2);
    view.unsubscribe();
  });

  it('is an error of the call for an agent alone', async () => {
    const { agent, resultOf } = await asking();
    const events = await firstValueFrom(agent.stream('Look.', { wrapTurn: omitRefused }).pipe(toArray()));
    expect(resultOf(events)).toMatchObject({ code: 'failed' });
  });
});

describe('omitRefused', () => {
  const refusal: Refusal = { provider: 'openai-chat', body: openai, message: 'You uploaded an unsupported image.' };

  it('without omitRefused, the run fails, and the next one knows nothing of its prompt', async () => {
    const { server, model } = await refusing(refusal);
    const chat = conversation(createAgent({ model }));
    const view = chat.view$.subscribe();
    expect(await ask(chat, photos)).toMatchObject({ status: 'failed', error: { code: 'http' }, notice: undefined });
    expect(await ask(chat, 'And now?')).toMatchObject({ status: 'idle' });
    expect(server.requests).toHaveLength(2);
    expect(JSON.stringify(server.requests[1]?.body)).not.toContain('image');
    view.unsubscribe();
  });

  it('a run of an agent alone fails', async () => {
    const { model } = await refusing(refusal);
    await expect(firstValueFrom(createAgent({ model }).run(photos))).rejects.toMatchObject({ status: 400 });
  });

  it.each([
    [400, 'max_tokens is too large'],
    [401, 'This key may not read images'],
    [429, 'Too many images per minute'],
  ])('another refusal stays: %d %s', async (status, message) => {
    const { server, model } = await refusing({ ...refusal, status, message });
    const chat = conversation(createAgent({ model }), { wrapTurn: omitRefused });
    const view = chat.view$.subscribe();
    expect(await ask(chat, photos)).toMatchObject({ status: 'failed', notice: undefined });
    expect(server.requests).toHaveLength(1);
    view.unsubscribe();
  });

  it('a refusal of something else is reported after all files of the kind were left out', async () => {
    const { server, model } = await refusing(refusal, ['Hello.'], 'Compare.');
    const chat = conversation(createAgent({ model }), { wrapTurn: omitRefused });
    const view = chat.view$.subscribe();
    expect(await ask(chat, photos)).toMatchObject({ status: 'failed', error: { code: 'http' }, notice: undefined });
    expect(server.requests).toHaveLength(2);
    view.unsubscribe();
  });

  it('an older file is left out if the newest ones were not the cause', async () => {
    const { server, model } = await refusing(refusal);
    const chat = conversation(createAgent({ model }), { wrapTurn: omitRefused });
    const view = chat.view$.subscribe();
    expect(await ask(chat, [userMessage([bad]), userMessage([good])])).toMatchObject({
      status: 'idle',
      notice: { message: notice('good.png (image/png), bad.png (image/png)') },
    });
    expect(server.requests.map(({ body }) => JSON.stringify(body)).map((body) => body.includes(badData))).toEqual([
      true,
      true,
      false,
    ]);
    expect(chat.view.exchanges[0]?.messages.map(({ parts }) => parts.length)).toEqual([1, 1, 1]);
    view.unsubscribe();
  });

  it('a file that no request to the provider may contain is left out, too', async () => {
    const { server, model } = await refusing(refusal);
    const broken = userMessage([
      { type: 'text', text: 'What?' },
      { type: 'file', mediaType: 'image/png', data: '***' },
    ]);
    const chat = conversation(createAgent({ model }), { wrapTurn: omitRefused });
    const view = chat.view$.subscribe();
    expect(await ask(chat, broken)).toMatchObject({ status: 'idle', notice: { code: 'omitted' } });
    expect(await ask(chat, 'And now?')).toMatchObject({ status: 'idle', notice: undefined });
    expect(server.requests).toHaveLength(2);
    view.unsubscribe();
  });

  it('a saved conversation remembers what was refused', async () => {
    const { server, model } = await refusing(refusal);
    const agent = createAgent({ model });
    const first = conversation(agent, { wrapTurn: omitRefused });
    const view = first.view$.subscribe();
    await ask(first, photos);
    const saved = JSON.stringify(first.save());
    view.unsubscribe();
    const second = conversation(agent, { saved, wrapTurn: omitRefused });
    const again = second.view$.subscribe();
    expect(second.view.exchanges[0]?.notice).toMatchObject({ code: 'omitted' });
    expect(await ask(second, 'Sure?')).toMatchObject({ status: 'idle' });
    expect(server.requests).toHaveLength(3);
    again.unsubscribe();
  });
});

it('omitRefused reads each message of a conversation once, however many turns it has', () => {
  let reads = 0;
  const messages = Array.from({ length: 50 }, (_, index): Message => {
    const { role, parts } = userMessage(`Prompt ${index}`);
    return {
      role,
      get parts() {
        reads++;
        return parts;
      },
    };
  });
  const model: Model = { provider: 'test', name: 'test', stream: () => EMPTY };
  const ask = omitRefused((sent: readonly Message[], context: { readonly model: Model }) =>
    context.model.stream({ messages: sent, tools: [] }).subscribe(),
  );
  for (let turn = 1; turn <= messages.length; turn++) ask(messages.slice(0, turn), { model });
  expect(reads).toBe(messages.length);
});
