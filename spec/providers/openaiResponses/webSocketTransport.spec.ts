import { afterAll, afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  defer,
  filter,
  first,
  firstValueFrom,
  interval,
  lastValueFrom,
  NEVER,
  of,
  Subject,
  take,
  tap,
  toArray,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { HttpError } from '../../../lib/core/errors.js';
import type { RunEvent } from '../../../lib/core/event.js';
import { objectOrEmpty } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { retryModel } from '../../../lib/models/retryModel.js';
import { openai } from '../../../lib/providers/openai.js';
import type { ResponsesOptions } from '../../../lib/providers/openai.js';
import { background } from '../../../lib/providers/openaiResponses/background.js';
import { webSocketTransport } from '../../../lib/providers/openaiResponses/webSocketTransport.js';
import type { WebSocketTransport } from '../../../lib/providers/openaiResponses/webSocketTransport.js';
import { toolCall } from '../../../lib/testing/index.js';
import type { Script } from '../../../lib/testing/index.js';
import { responses } from '../../../lib/testing/server/dialects/responses/responses.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn, ServeOptions } from '../../../lib/testing/server/index.js';
import { describeProviderContract } from '../../support/providerContract.js';
import { openGateway } from '../../../examples/steering/gateway.js';
import type { SteeringBehaviour, WebSocketGateway } from '../../../examples/steering/gateway.js';

const shared = await openGateway();
const contractTransport = webSocketTransport(shared.webSocket);
afterAll(async () => {
  contractTransport.close();
  await shared.close();
});

describeProviderContract({
  name: 'openai',
  make: (baseUrl, options) =>
    openai('gpt-6.1-terra', { baseUrl, ...options, fetch: options.fetch ?? contractTransport.fetch }),
  dialect: responses,
  isHttp: false,
});

describe('webSocketTransport', () => {
  const closing: (() => unknown)[] = [];
  afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

  async function open(
    script: Script<ServedTurn>,
    options: ServeOptions = {},
    settings: ResponsesOptions = {},
    steering?: SteeringBehaviour,
  ) {
    const server = await serveModel(script, options);
    const gateway = await openGateway(steering);
    const sockets = webSocketTransport(gateway.webSocket);
    closing.push(
      () => sockets.close(),
      () => gateway.close(),
      () => server.close(),
    );
    const model = openai('gpt-6.1-terra', {
      baseUrl: server.urlFor('openai'),
      apiKey: 'none',
      fetch: sockets.fetch,
      session: true,
      ...settings,
    });
    return { server, gateway, sockets, model };
  }
  type Opened = { server: LoopbackServer; gateway: WebSocketGateway; sockets: WebSocketTransport };
  const typesOf = ({ gateway }: Pick<Opened, 'gateway'>) =>
    gateway.connections.map((messages) => messages.map((message) => (message as { type: string }).type));
  const ask = { messages: [userMessage('Hi')] };
  const work = tool({ name: 'work', description: 'Works.', execute: () => of('worked') });

  it.each([
    ['with terminate, at once, if a response is left', true, ['terminate'], 'left'],
    ['without terminate, by a close frame', false, ['close'], 'left'],
    ['with terminate, at once, if a request waits for an open connection', true, ['terminate'], 'opening'],
    ['with terminate, by a close frame, after a response', true, ['close'], 'ended'],
  ] as const)('webSocketTransport ends a connection %s', async (_, canTerminate, expected, when) => {
    const calls: string[] = [];
    class Socket {
      onopen = (): void => undefined;
      onmessage: (event: { data: string }) => void = () => undefined;
      onerror: unknown;
      onclose: unknown;
      terminate = canTerminate ? () => void calls.push('terminate') : undefined;
      constructor() {
        if (when !== 'opening') queueMicrotask(() => this.onopen());
      }
      send() {
        if (when !== 'ended') return;
        const response = { id: 'r1', status: 'completed', output: [] };
        for (const type of ['response.created', 'response.completed'])
          this.onmessage({ data: JSON.stringify({ type, response }) });
      }
      close() {
        calls.push('close');
      }
    }
    const sockets = webSocketTransport(Socket as never);
    const model = openai('gpt-6.1-terra', { apiKey: 'none', fetch: sockets.fetch });
    const subscription = model.stream(ask).subscribe({ error: () => undefined });
    for (let turn = 0; turn < 9; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toEqual([]);
    subscription.unsubscribe();
    sockets.close();
    expect(calls).toEqual(expected);
  });

  it('webSocketTransport sends all turns of a run over one connection, each with only what is new', async () => {
    const opened = await open([[toolCall('work', {}, 'c1')], [toolCall('work', {}, 'c2')], 'Done.']);
    const { text } = await lastValueFrom(createAgent({ model: opened.model, tools: [work] }).run('Work.'));
    expect(text).toContain('Done.');
    expect(typesOf(opened)).toEqual([['response.create', 'response.create', 'response.create']]);
    expect(opened.gateway.connections[0]?.[2]).toMatchObject({
      previous_response_id: 'resp_2',
      input: [{ type: 'function_call_output', call_id: 'c2' }],
    });
    expect(opened.gateway.connections[0]?.[0]).not.toHaveProperty('stream');
  });

  it('webSocketTransport opens a connection for each of several requests at once, and reuses them', async () => {
    const opened = await open(() => 'Hello.');
    const one = () => lastValueFrom(opened.model.stream(ask).pipe(toArray()));
    await Promise.all([one(), one(), one()]);
    await one();
    expect(typesOf(opened).map(({ length }) => length)).toEqual([2, 1, 1]);
  });

  it('webSocketTransport closes the connection when the reader leaves, and the provider stops', async () => {
    const opened = await open(['One', 'Two'], { delay: 5, cut: Infinity, silent: 5 });
    await firstValueFrom(opened.model.stream(ask).pipe(take(1)));
    await firstValueFrom(opened.server.events.pipe(filter(({ type }) => type === 'closed')));
    expect(opened.server.connections).toBe(0);
  });

  it('webSocketTransport fails with the status of an error that comes first', async () => {
    const { model } = await open(['Hello.'], { status: 401 });
    const error = await lastValueFrom(model.stream(ask)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ status: 401, retryable: false });
  });

  it('webSocketTransport sends the whole conversation again if the server no longer has the response', async () => {
    const opened = await open([[toolCall('work', {}, 'c1')], 'Done.'], {
      forRequest: [
        undefined,
        { status: 400, body: { error: { code: 'previous_response_not_found', message: 'It is gone.' } } },
      ],
    });
    const { text } = await lastValueFrom(createAgent({ model: opened.model, tools: [work] }).run('Work.'));
    expect(text).toContain('Done.');
    expect(opened.gateway.connections[1]?.[0]).not.toHaveProperty('previous_response_id');
  });

  it('webSocketTransport fails with an interruption if the connection breaks, which retryModel repeats', async () => {
    const opened = await open(['Hello.', 'Hello again.'], { forRequest: [{ silent: 6 }] });
    const chunks: string[] = [];
    const run = lastValueFrom(
      createAgent({ model: retryModel(opened.model, { delay: 0 }) })
        .stream('Hi')
        .pipe(toArray()),
    );
    await firstValueFrom(
      opened.server.events.pipe(
        filter(({ type }) => type === 'frame'),
        take(6),
        toArray(),
      ),
    );
    opened.gateway.breakAll();
    for (const { type } of await run) chunks.push(type);
    expect(chunks).toContain('retry');
    expect(chunks.at(-1)).toBe('result');
    expect(opened.gateway.connections).toHaveLength(2);
  });

  it('webSocketTransport sends a background response, and the request for its rest, over HTTP', async () => {
    const opened = await open(['Hello.'], {}, { background: background() });
    const chunks = await lastValueFrom(opened.model.stream(ask).pipe(toArray()));
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
    expect(opened.gateway.connections).toEqual([]);
  });

  it('webSocketTransport closes the connection of a body that is cancelled, and reads no more of it', async () => {
    const { sockets, server } = await open(['Hello.'], { delay: 5, silent: 6 });
    const body = JSON.stringify({ model: 'm', input: 'Hi', stream: true });
    const url = `${server.urlFor('openai')}/responses`;
    const response = await sockets.fetch(url, { method: 'POST', body });
    const closed = firstValueFrom(server.events.pipe(filter(({ type }) => type === 'closed')));
    await response.body?.cancel();
    await closed;
    expect(server.connections).toBe(0);
  });

  it('webSocketTransport fails the response that is being received when it is closed', async () => {
    const { model, sockets } = await open(['Hello.'], { silent: 6 }, { retry: false });
    const closing = tap(({ type }: { readonly type: string }) => {
      if (type === 'text') sockets.close();
    });
    const failed = lastValueFrom(model.stream(ask).pipe(closing)).catch((thrown: unknown) => thrown);
    expect(await failed).toMatchObject({ code: 'stream_interrupted' });
  });

  it('webSocketTransport fails as a request without a response does if nobody listens', async () => {
    const server = await serveModel([]);
    await server.close();
    const gateway = await openGateway();
    await gateway.close();
    const sockets = webSocketTransport(gateway.webSocket);
    const model = openai('m', { baseUrl: server.url, apiKey: 'none', fetch: sockets.fetch, retry: false });
    const error = await lastValueFrom(model.stream(ask)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'connection', retryable: true });
  });

  describe('steer', () => {
    /** Runs the script, with a prompt after each of the texts, and returns what the run and the gateway saw. */
    async function steerAfter(
      texts: Readonly<Record<string, string>>,
      script: Script<ServedTurn>,
      steering: SteeringBehaviour,
      settings: ResponsesOptions = {},
    ) {
      const opened = await open(script, { delay: 5 }, settings, steering);
      const prompts = new Subject<string>();
      const seen: string[] = [];
      const prompt = tap((event: RunEvent) => {
        if (event.type !== 'text') return;
        seen.push(event.text);
        const text = texts[event.text.trim()];
        if (text !== undefined) prompts.next(text);
      });
      const agent = createAgent({ model: opened.model, tools: [work] });
      const events = await lastValueFrom(
        agent.stream('Write.', { prompts, whenPrompted: opened.sockets.steer }).pipe(prompt, toArray()),
      );
      const last = events.at(-1);
      return {
        ...opened,
        seen: seen.join('|'),
        turns: events.filter(({ type }) => type === 'turn'),
        result: last?.type === 'result' ? last.result : undefined,
        sent: opened.gateway.connections as readonly (readonly Record<string, unknown>[])[],
      };
    }
    const message = (...texts: string[]) => ({
      type: 'message',
      role: 'user',
      content: texts.map((text) => ({ type: 'input_text', text })),
    });
    const long = ['One ', 'two ', 'three ', 'four ', 'five ', 'six ', 'seven ', 'eight '];

    it('ends the response early, and the next turn is the response that the server begins by itself', async () => {
      const { turns, result, sent, server } = await steerAfter({ two: 'Stop at two.' }, [long, 'Fine.'], 'interrupts');
      expect(sent.map((events) => events.map(({ type }) => type))).toEqual([['response.create', 'response.steer']]);
      expect(sent[0]?.[1]).toEqual({
        type: 'response.steer',
        previous_response_id: 'resp_1',
        input: [message('Stop at two.')],
      });
      expect(turns).toMatchObject([{ finishReason: 'other', rawReason: 'steered' }, { finishReason: 'stop' }]);
      expect(result?.text).toMatch(/^One two (three )?\nFine\.$/);
      expect(server.requests.map(({ body }) => objectOrEmpty(body)['previous_response_id'])).toEqual([
        undefined,
        'resp_1',
      ]);
      expect(result?.messages.map(({ role }) => role)).toEqual(['model', 'user', 'model']);
    });

    it('reads the response after a response that went on to its end', async () => {
      const { turns, result, sent } = await steerAfter({ two: 'And?' }, [long, 'Fine.'], 'completes');
      expect(sent.map((events) => events.map(({ type }) => type))).toEqual([['response.create', 'response.steer']]);
      expect(turns).toMatchObject([{ finishReason: 'stop' }, { finishReason: 'stop' }]);
      expect(result?.text).toBe(`${long.join('')}\nFine.`);
    });

    it('sends several prompts, and each response can be steered', async () => {
      const script = [long, ['Nine ', 'ten ', 'eleven ', 'twelve '], 'Fine.'];
      const { sent, result } = await steerAfter({ two: 'A', three: 'B', ten: 'C' }, script, 'completes');
      expect(sent).toHaveLength(1);
      expect(sent[0]?.map(({ type, previous_response_id: id }) => [type, id])).toEqual([
        ['response.create', undefined],
        ['response.steer', 'resp_1'],
        ['response.steer', 'resp_1'],
        ['response.steer', 'resp_2'],
      ]);
      expect(result?.text).toMatch(/Nine ten eleven twelve \nFine\.$/);
    });

    it('sends only the results of calls if the server has the prompt already', async () => {
      const calls = ['Let me ', 'see. ', toolCall('work', {}, 'c1')];
      const { sent, result, server } = await steerAfter(
        { see: '', 'Let me': 'Be quick.' },
        [calls, 'Fine.'],
        'completes',
      );
      expect(result?.text).toContain('Fine.');
      expect(sent[0]?.map(({ type }) => type)).toEqual(['response.create', 'response.steer', 'response.create']);
      expect(sent[0]?.[2]?.['input']).toEqual([{ type: 'function_call_output', call_id: 'c1', output: 'worked' }]);
      expect(objectOrEmpty(server.requests[1]?.body)['input']).toEqual([
        message('Be quick.'),
        { type: 'function_call_output', call_id: 'c1', output: 'worked' },
      ]);
    });

    it.each(['refuses', 'fails'] as const)(
      'sends the prompt with the next request if the server %s',
      async (steering) => {
        const { sent, result, turns } = await steerAfter({ two: 'And?' }, [long, 'Fine.'], steering);
        expect(sent).toHaveLength(1);
        expect(sent[0]?.map(({ type }) => type)).toEqual(['response.create', 'response.steer', 'response.create']);
        expect(sent[0]?.[2]).toMatchObject({ previous_response_id: 'resp_1', input: [message('And?')] });
        expect(result?.text).toBe(`${long.join('')}\nFine.`);
        expect(turns).toHaveLength(2);
      },
    );

    it.each<[string, ResponsesOptions]>([
      ['by default', { session: undefined }],
      ['with store: false', { store: false }],
    ])('fails if the response is not stored %s', async (_, settings) => {
      await expect(steerAfter({ two: 'And?' }, [long, 'Fine.'], 'completes', settings)).rejects.toMatchObject({
        code: 'configuration',
        subject: 'options',
        message: expect.stringContaining('Pass session: true') as unknown,
      });
    });

    it('needs no stored responses if no prompt arrives', async () => {
      const { result } = await steerAfter({}, [long], 'completes', { store: false });
      expect(result?.text).toBe(long.join(''));
    });

    it('does not steer a response over HTTP', async () => {
      const { sent, result } = await steerAfter({ two: 'And?' }, [long, 'Fine.'], 'completes', { fetch });
      expect(sent).toEqual([]);
      expect(result?.text).toBe(`${long.join('')}\nFine.`);
    });

    it('sends a prompt that arrives while tools run after those that the server has', async () => {
      const opened = await open([['Let me see. ', toolCall('wait', {}, 'c1')], 'Fine.'], { delay: 5 }, {}, 'completes');
      const prompts = new Subject<string>();
      const wait = tool({
        name: 'wait',
        description: 'Waits.',
        execute: () => defer(() => of('waited').pipe(tap(() => prompts.next('Late.')))),
      });
      const run = createAgent({ model: opened.model, tools: [wait] })
        .stream('Write.', { prompts, whenPrompted: opened.sockets.steer })
        .pipe(
          tap((event) => {
            if (event.type === 'text' && event.text.startsWith('Let')) prompts.next('Early.');
          }),
          toArray(),
        );
      expect((await lastValueFrom(run)).at(-1)).toMatchObject({ result: { finishReason: 'stop' } });
      expect(objectOrEmpty(opened.server.requests[1]?.body)['input']).toEqual([
        message('Early.'),
        { type: 'function_call_output', call_id: 'c1', output: 'waited' },
        message('Late.'),
      ]);
    });

    it('continues over another connection if that of a steered response breaks', async () => {
      const opened = await open([long, 'Fine.', 'Fine.'], { delay: 5 }, {}, 'completes');
      const prompts = new Subject<string>();
      const agent = createAgent({
        model: opened.model,
        prepareTurn: ({ turn }) => {
          if (turn === 1) opened.gateway.breakAll();
          return undefined;
        },
      });
      const run = agent.stream('Write.', { prompts, whenPrompted: opened.sockets.steer }).pipe(
        tap((event) => {
          if (event.type === 'text' && event.text === 'two ') prompts.next('And?');
        }),
        toArray(),
      );
      expect((await lastValueFrom(run)).at(-1)).toMatchObject({ result: { finishReason: 'stop' } });
      expect(opened.gateway.connections.at(-1)).toMatchObject([
        { type: 'response.create', previous_response_id: 'resp_1', input: [message('And?')] },
      ]);
    });

    /** Runs until the request after a response whose steering nobody acknowledges. */
    async function askUnacknowledged(stop: Observable<unknown>) {
      const opened = await open([long, 'Fine.'], { delay: 5 }, {}, 'ignores');
      const prompts = new Subject<string>();
      const turned = new Subject<void>();
      const run = createAgent({ model: opened.model }).stream('Write.', {
        prompts,
        whenPrompted: opened.sockets.steer,
        stop,
      });
      const events = lastValueFrom(
        run.pipe(
          tap((event) => {
            if (event.type === 'text' && event.text === 'two ') prompts.next('And?');
            if (event.type === 'turn') turned.next();
          }),
          toArray(),
        ),
      );
      await firstValueFrom(turned);
      return { ...opened, events };
    }

    it('sends the next request over another connection if the server does not acknowledge the input', async () => {
      jest.useFakeTimers({ advanceTimers: true, doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
      try {
        const { gateway, events } = await askUnacknowledged(NEVER);
        jest.advanceTimersByTime(5_000);
        expect((await events).at(-1)).toMatchObject({ result: { text: `${long.join('')}\nFine.` } });
        expect(gateway.connections.map((sent) => sent.map((event) => objectOrEmpty(event)['type']))).toEqual([
          ['response.create', 'response.steer'],
          ['response.create'],
        ]);
      } finally {
        jest.useRealTimers();
      }
    });

    it('closes the connection of a run that is stopped while it waits for the acknowledgement', async () => {
      const stop = new Subject<void>();
      const { server, events } = await askUnacknowledged(stop);
      stop.next();
      expect((await events).at(-1)).toMatchObject({ result: { finishReason: 'stopped' } });
      expect(server.requests).toHaveLength(1);
    });

    it('closes the connection of a run that is left while the server continues by itself', async () => {
      const opened = await open([long, ['Fine. ', 'And ', 'more.']], { delay: 5, silent: 40 }, {}, 'interrupts');
      const prompts = new Subject<string>();
      const left = createAgent({ model: opened.model })
        .stream('Write.', { prompts, whenPrompted: opened.sockets.steer })
        .pipe(
          tap((event) => {
            if (event.type === 'text' && event.text === 'two ') prompts.next('And?');
          }),
          first(({ type }) => type === 'turn'),
        );
      await lastValueFrom(left);
      await firstValueFrom(
        opened.server.events.pipe(
          filter(({ type }) => type === 'closed'),
          take(1),
        ),
      );
      await firstValueFrom(interval(10).pipe(filter(() => opened.server.connections === 0)));
      expect(opened.server.connections).toBe(0);
    });
  });
});
