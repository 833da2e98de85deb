import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, of, Subscription, throwError } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import type { Conversation, ConversationAgent } from '../../lib/chat/index.js';
import { ConfigurationError, HttpError } from '../../lib/core/errors.js';
import { messagesOf, type Input } from '../../lib/core/input.js';
import { messageText, systemMessage, userMessage, type Message } from '../../lib/core/message.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { shutDown } from '../support/services.js';

let work = new Subscription();
afterEach(() => {
  work.unsubscribe();
  work = new Subscription();
});

const URL = 'http://service.test/api/chat';
const text = { type: 'text', text: 'What is this?' } as const;
const fileOf = (mediaType: string, size: number) => ({ type: 'file', mediaType, data: 'A'.repeat(size) }) as const;

/** What stands before a service refuses bodies that contain a text: with a status, or as if there were no network. */
type Gate = readonly [contained: string, status: number | 'offline'];

/** A service that reads 4 KB, and pages of 3 KB of files. */
function createService(gate?: Gate) {
  const model = scriptedModel(() => 'Hello.');
  const handler = agentHandler(createAgent({ model }), { limits: { maxBodyBytes: 4000 } });
  work.add(() => shutDown(handler));
  const network = { gate };
  const send: typeof fetch = (address, init) => {
    const [contained, status] = network.gate ?? ['', 0];
    if (status !== 0 && typeof init?.body === 'string' && init.body.includes(contained)) {
      if (status === 'offline') return Promise.reject(new Error('offline'));
      return Promise.resolve(new Response('<h1>Refused</h1>', { status }));
    }
    return handler(new Request(address, init));
  };
  return { agent: remoteAgent(URL, { fetch: send, retries: 0, maxBodyBytes: 3000 }), model, network };
}

/** An agent whose server has no memory, such as one of AG-UI: it receives all messages, and may refuse any of them. */
function createStateless(status: number) {
  const model = scriptedModel(() => 'Hello.');
  const local = createAgent({ model });
  const isRefused = ({ parts }: Message) => parts.some(({ type }) => type === 'file');
  const refusal = () => new HttpError('Refused.', { provider: 'the AG-UI server', status, retryable: false });
  const agent: ConversationAgent = {
    stream: (input, options) =>
      [...options.history, ...messagesOf(input)].some(isRefused)
        ? throwError(() => refusal())
        : local.stream(input, options),
    resume: (checkpoint, options) => (checkpoint ? local.resume(checkpoint, options) : of()),
  };
  return { agent, model };
}

/** A provider that cannot read files, without `omitRefused`. */
function createLocal(error: Error) {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ parts }) => parts.some(({ type }) => type === 'file')) ? [{ error }] : 'Hello.',
  );
  return { agent: createAgent({ model }), model };
}

interface Row {
  readonly service: () => { readonly agent: ConversationAgent; readonly model: ReturnType<typeof scriptedModel> };
  readonly input: Input;
  /** What the model knows of the input later. */
  readonly known?: string;
}

const rows: Readonly<Record<string, Row>> = {
  'a file with an address that the service forbids': {
    service: createService,
    input: userMessage([text, { type: 'file', mediaType: 'image/png', url: 'http://10.0.0.1/cat.png' }]),
  },
  'a system message': { service: createService, input: [systemMessage('Obey.'), userMessage('Hi')] },
  'a message of the model': { service: createService, input: [userMessage('Hi'), { role: 'model', parts: [text] }] },
  'a part that the service does not know': {
    service: createService,
    input: userMessage([text, { type: 'source', id: '1', url: 'https://example.org' } as never]),
  },
  'a text that is too large': { service: createService, input: 'x'.repeat(5000) },
  'files that are too large for the page': {
    service: createService,
    input: userMessage([text, fileOf('image/png', 3500)]),
    known: text.text,
  },
  'a file that is too large for a balancer': {
    service: () => createService(['image/png', 413]),
    input: userMessage([text, fileOf('image/png', 1000)]),
    known: text.text,
  },
  'a file of a type that a balancer refuses': {
    service: () => createService(['image/tiff', 415]),
    input: userMessage([text, fileOf('image/tiff', 10)]),
    known: text.text,
  },
  'a text that a firewall refuses with 400': { service: () => createService(['<script', 400]), input: '<script>' },
  'a text that a firewall refuses with 422': { service: () => createService(['<script', 422]), input: '<script>' },
  'a file that a server without a memory refuses': {
    service: () => createStateless(400),
    input: userMessage([text, fileOf('image/png', 10)]),
  },
  'a file that is too large for a server without a memory': {
    service: () => createStateless(413),
    input: userMessage([text, fileOf('image/png', 10)]),
    known: text.text,
  },
  'a file that a provider refuses': {
    service: () => createLocal(new HttpError('No.', { provider: 'openai', status: 400, retryable: false })),
    input: userMessage([text, fileOf('image/png', 10)]),
  },
  'a file that a wire cannot send': {
    service: () => createLocal(new ConfigurationError('capability', 'No files.', 'Send none.')),
    input: userMessage([text, fileOf('image/png', 10)]),
  },
};

async function settled(chat: Conversation, count: number) {
  const isSettled = ({ status, exchanges }: Conversation['view']) =>
    exchanges.length === count && ['idle', 'failed'].includes(status);
  return firstValueFrom(chat.view$.pipe(filter(isSettled)));
}
const open = (...args: Parameters<typeof conversation>) => {
  const chat = conversation(...args);
  work.add(chat.view$.subscribe());
  return chat;
};
const prompts = (messages: readonly Message[] = []) =>
  messages.filter(({ role }) => role === 'user').map((message) => messageText(message));

type Page = ReturnType<Row['service']>;

/** How a person may send an input, and go on. */
const ways: Readonly<Record<string, (page: Page, input: Input) => Promise<Conversation>>> = {
  sent: async ({ agent }, input) => {
    const chat = open(agent);
    chat.send(input);
    await settled(chat, 1);
    return chat;
  },
  'sent before a reload': async (page, input) => {
    const chat = await ways['sent']?.(page, input);
    return open(page.agent, { saved: JSON.stringify(chat?.save()) });
  },
  'sent in place of another one': async ({ agent }, input) => {
    const chat = open(agent);
    chat.send('Hi');
    const { exchanges } = await settled(chat, 1);
    chat.edit(exchanges[0]?.id ?? '', input);
    await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'failed')));
    return chat;
  },
};

describe('an input that was refused', () => {
  const cells = Object.entries(rows).flatMap(([name, row]) =>
    Object.entries(ways).map(([way, send]) => [name, way, row, send] as const),
  );
  it.each(cells)(
    '%s, %s, does not keep the next prompts from the model, and stays in the view',
    async (_, __, row, send) => {
      const { service, input, known } = row;
      const page = service();
      const chat = await send(page, input);
      expect(chat.view.status).toBe('failed');
      const [shown] = chat.view.exchanges;
      for (const [index, prompt] of ['Hello?', 'And now?'].entries()) {
        chat.send(prompt);
        expect((await settled(chat, index + 2)).exchanges.at(-1)?.error).toBeUndefined();
        expect(prompts(page.model.requests.at(-1)?.messages)).toEqual(
          [known ?? [], 'Hello?', 'And now?'].flat().slice(0, index + (known ? 2 : 1)),
        );
      }
      expect(chat.view.exchanges[0]?.messages).toEqual(shown?.messages);
    },
  );

  it('an input that did not arrive, and is refused with a later one, is left out with it', async () => {
    const { agent, model, network } = createService(['<script', 'offline']);
    const chat = open(agent);
    chat.send('<script>');
    await settled(chat, 1);
    network.gate = ['<script', 400];
    chat.send('Hello?');
    expect((await settled(chat, 2)).exchanges[1]?.error).toMatchObject({ status: 400 });
    chat.send('And now?');
    expect((await settled(chat, 3)).status).toBe('idle');
    expect(prompts(model.requests.at(-1)?.messages)).toEqual(['And now?']);
  });

  it('an input that was answered is known to the model after a later one was refused', async () => {
    const { agent, model } = createStateless(400);
    const chat = open(agent);
    chat.send('Hi');
    await settled(chat, 1);
    chat.send(userMessage([text, fileOf('image/png', 10)]));
    expect((await settled(chat, 2)).exchanges[1]?.error).toMatchObject({ status: 400 });
    chat.send('And now?');
    expect((await settled(chat, 3)).status).toBe('idle');
    expect(prompts(model.requests.at(-1)?.messages)).toEqual(['Hi', 'And now?']);
  });

  it('an input whose request has failed for another reason is sent with the next prompt', async () => {
    const { agent, model, network } = createService(['Hi', 'offline']);
    const chat = open(agent);
    chat.send('Hi');
    await settled(chat, 1);
    network.gate = undefined;
    chat.send('Hello?');
    expect((await settled(chat, 2)).status).toBe('idle');
    expect(prompts(model.requests.at(-1)?.messages)).toEqual(['Hi', 'Hello?']);
  });

  it('files that a service has refused are complete when the prompt is sent again', async () => {
    const { agent, model, network } = createService(['image/png', 413]);
    const chat = open(agent);
    const photo = fileOf('image/png', 1000);
    chat.send(userMessage([text, photo]));
    await settled(chat, 1);
    network.gate = undefined;
    chat.regenerate();
    await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'idle')));
    expect(model.requests.at(-1)?.messages).toEqual([userMessage([text, photo])]);
  });
});
