import { afterEach, describe, expect, it } from '@jest/globals';
import { concatMap, NEVER, of, throwError } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { publicEvents } from '../../lib/service/publicEvents.js';
import type { HandledAgent } from '../../lib/service/handledAgent.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { remoteRunError } from '../../lib/transport/fromServerSentEvents.js';
import { observe } from '../support/observe.js';
import { ask, createServers, protocolNames, protocols } from '../support/services.js';
import { mapStore } from '../support/stores.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

// Everything that must not reach a browser contains the word LEAK.
const { listen, serve, close } = createServers();
afterEach(close);

const frame = (delta: object, more: object = {}) => `data: ${JSON.stringify({ choices: [{ delta, ...more }] })}\n\n`;
const finish = (reason: string) => frame({}, { finish_reason: reason, LEAK: 1 }) + 'data: [DONE]\n\n';
const call = { index: 0, id: 'c1', type: 'function', function: { name: 'query', arguments: '{}' } };
const calling = frame({ tool_calls: [call], echo: 'LEAK system prompt' }) + finish('tool_calls');
const answering =
  frame({ content: 'Done.', reasoning_details: [{ signature: 'LEAK signature' }] }) +
  frame({ debug: { request: 'LEAK system prompt' } }) +
  finish('LEAK: the request was "LEAK"');
const providerError = JSON.stringify({
  error: { message: 'LEAK: no quota for org-LEAK at http://10.0.0.7:8000/v1', code: 'quota' },
});

/** A gateway that answers each request with the next of these bodies. An object is an error. */
async function gateway(...bodies: readonly (string | { readonly status: number })[]) {
  const received: string[] = [];
  const url = await listen((request, response) => {
    let text = '';
    request.on('data', (bytes: Buffer) => (text += bytes.toString()));
    request.on('end', () => {
      const body = bodies[received.push(text) - 1] ?? '';
      const isStream = typeof body === 'string';
      response.writeHead(isStream ? 200 : body.status, {
        'content-type': isStream ? 'text/event-stream' : 'application/json',
      });
      response.end(isStream ? body : providerError);
    });
  });
  return { model: openaiChat('gpt-6.1-terra', { baseUrl: `${url}/v1`, apiKey: 'none', retry: false }), received };
}

const query = tool({
  name: 'query',
  description: 'Reads the database.',
  execute: () => {
    throw new Error('connect ECONNREFUSED postgres://admin:LEAK@db.internal:5432');
  },
});

describe.each(protocolNames)('%s with a hostile gateway', (name) => {
  const protocol = protocols[name];

  it('sends a browser no unknown field, no signature and no text of the error of a tool', async () => {
    const { model, received } = await gateway(calling, answering);
    const agent = createAgent({ model, tools: [query], system: 'LEAK system prompt' });
    const body = await (await ask(await serve(protocol.handler(agent)), protocol)).text();
    expect(body).toContain('Done.');
    expect(body).toContain('The tool failed.');
    expect(body).not.toContain('LEAK');
    expect(received[1]).toContain('postgres://admin:LEAK'); // the model reads it
  });

  it('sends the texts of the errors of tools if `exposeToolErrors` says so', async () => {
    const { model } = await gateway(calling, answering);
    const agent = createAgent({ model, tools: [query] });
    const url = await serve(protocol.handler(agent, { browser: { exposeToolErrors: true } }));
    expect(await (await ask(url, protocol)).text()).toContain('postgres://admin:LEAK');
  });

  it.each([
    ['a status', { status: 500 }],
    ['an error in the stream', frame({ content: 'Half' }) + `data: ${providerError}\n\n`],
    ['a stream that breaks off', frame({ content: 'Half' })],
    ['a page instead of a stream', '<html>LEAK</html>'],
  ])('describes %s with a sentence of ours', async (_, answer) => {
    const { model } = await gateway(answer);
    const url = await serve(protocol.handler(createAgent({ model })));
    const body = await (await ask(url, protocol)).text();
    expect(body).toMatch(/The model|The response of the model|The run failed/);
    expect(body).not.toContain('LEAK');
  });

  it('describes the reason of a retry with a sentence of ours', async () => {
    const { model } = await gateway({ status: 503 }, answering);
    const agent = createAgent({ model: retryModel(model, { delay: 0 }) });
    const body = await (await ask(await serve(protocol.handler(agent)), protocol)).text();
    expect(body).toContain('"attempt":1');
    expect(body).not.toContain('LEAK');
  });

  it('believes no description that another server has written', async () => {
    const failed = remoteRunError({ code: 'LEAK', message: 'LEAK', stack: 'LEAK', retryable: true });
    const agent = { stream: () => throwError(() => failed), resume: () => NEVER } as HandledAgent;
    const body = await (await ask(await serve(protocol.handler(agent)), protocol)).text();
    expect(body).toContain('The run failed.');
    expect(body).not.toContain('LEAK');
  });
});

it.each(protocolNames)('%s sends a question with its schema, and no result of a step', async (name) => {
  const pay = askTool({
    name: 'pay',
    description: 'Pays.',
    execute: (_, { ask: question, once }) =>
      once('look', () => 'LEAK').pipe(
        concatMap(() =>
          question({
            message: 'Which account?',
            schema: { type: 'object', properties: { account: { enum: ['house', 'shop'] } } },
            details: { amount: 5 },
          }),
        ),
      ),
  });
  const model = scriptedModel(() => [toolCall('pay', {}, 'c1')]);
  const url = await serve(protocols[name].handler(createAgent({ model, tools: [pay] })));
  const text = await (await ask(url, protocols[name])).text();
  for (const part of ['Which account?', '{"enum":["house","shop"]}', '{"amount":5}']) expect(text).toContain(part);
  expect(text).not.toContain('LEAK');
});

it('a question that is too long fails its call', () => {
  const long = askTool({
    name: 'long',
    description: 'Asks.',
    execute: (_, { ask: question }) => question({ message: 'x'.repeat(60_000), schema: { type: 'object' } }),
  });
  const { values } = observe(
    createAgent({ model: scriptedModel([[toolCall('long')], 'Done.']), tools: [long] }).stream('Go.'),
  );
  expect(values).toContainEqual(
    expect.objectContaining({ type: 'toolResult', error: expect.stringContaining('At most 50000 are allowed.') }),
  );
});

describe('agentHandler, which sends a run again from its record', () => {
  const replayed = async (handler: ReturnType<typeof agentHandler>) => {
    const url = await serve(handler);
    const id = crypto.randomUUID();
    const headers = { 'x-run-id': id };
    const first = await (await ask(url, protocols.agentHandler, 'Hi', headers)).text();
    return [first, await (await ask(url, protocols.agentHandler, 'Hi', headers)).text()] as const;
  };

  it('removes the same from the replay, and the record has everything', async () => {
    const { model } = await gateway(calling, answering);
    const store = mapStore();
    const agent = createAgent({ model, tools: [query] });
    const [live, replay] = await replayed(agentHandler(agent, { keep: 0, store }));
    expect(replay).toContain('The tool failed.');
    expect(live + replay).not.toContain('LEAK');
    expect(JSON.stringify([...store.records.values()])).toContain('postgres://admin:LEAK');
  });

  it('describes the failure in the replay as in the run', async () => {
    const { model } = await gateway(frame({ content: 'Half' }) + `data: ${providerError}\n\n`);
    const describeError = () => ({ code: 'own', message: 'Own words.', ticket: 7 });
    const bodies = await replayed(agentHandler(createAgent({ model }), { keep: 0, browser: { describeError } }));
    for (const body of bodies) expect(body).toContain('{"code":"own","message":"Own words.","ticket":7}');
  });
});

describe('uiChatHandler, which sends the events of a run that waits again', () => {
  it('removes the same from the earlier events', async () => {
    const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => NEVER });
    const model = scriptedModel([[toolCall('query', {}, 'c1'), toolCall('pay', {}, 'c2')], 'Done.']);
    const store = mapStore();
    const { handler, headers } = protocols.uiChatHandler;
    const options = { store, tools: [query, pay], grace: 1000 };
    const url = await serve(handler(createAgent({ model, tools: [query, pay] }), options));
    const body = await (await ask(url, protocols.uiChatHandler)).text();
    const stored = JSON.stringify([...store.records.values()]);
    const id = /"messageId":"([^"]+)"/.exec(body)?.[1];
    const approval = { id: 'c2', approved: true };
    const part = { type: 'tool-pay', toolCallId: 'c2', state: 'approval-responded', input: {}, approval };
    const messages = [
      { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      { id, role: 'assistant', parts: [part] },
    ];
    const resumed = await fetch(url, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify({ id: 'chat', messages }),
    });
    const joined = await fetch(`${url}/chat/stream`);
    const reader = joined.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('The tool failed.')) text += (await reader?.read())?.value ?? 'no more';
    expect(body + text).not.toContain('LEAK');
    expect(stored).toContain('postgres://admin:LEAK');
    await reader?.cancel();
    await resumed.body?.cancel();
  });
});

describe('publicEvents', () => {
  const publish = (event: object, options = {}, clientErrors?: Readonly<Record<string, string>>) => {
    const values: unknown[] = [];
    of(event as { type: string })
      .pipe(publicEvents(options, clientErrors))
      .subscribe((value) => values.push(value));
    return values;
  };
  const metadata = { cost: 1, openrouter: { LEAK: 1 }, requestId: 'r1' };

  const secret = { type: 'provider', provider: 'p', data: { signature: 'LEAK' } };
  const hi = { type: 'text', text: 'Hi' };
  it.each([
    ['metadata of a provider', { type: 'metadata', metadata: { 'openai-chat': 'LEAK' } }, []],
    ['known metadata', { type: 'metadata', metadata }, [{ type: 'metadata', metadata: { cost: 1 } }]],
    [
      'the model that answered',
      { type: 'metadata', metadata: { answeredBy: { provider: 'p', name: 'n', url: 'LEAK' } } },
      [{ type: 'metadata', metadata: { answeredBy: { provider: 'p', name: 'n' } } }],
    ],
    [
      'a tool of the provider',
      {
        type: 'metadata',
        metadata: { serverTools: [{ id: 's', name: 'w', status: 'failed', output: 'LEAK', raw: 1 }] },
      },
      [{ type: 'metadata', metadata: { serverTools: [{ id: 's', name: 'w', status: 'failed', raw: null }] } }],
    ],
    [
      'the signature of a call',
      { type: 'toolCall', id: 'c', name: 'n', arguments: {}, providerData: { google: 'LEAK' } },
      [{ type: 'toolCall', id: 'c', name: 'n', arguments: {} }],
    ],
    [
      'the signature of a text',
      { type: 'text', text: 'Hi', providerData: 'LEAK', providerOptions: 'LEAK' },
      [{ type: 'text', text: 'Hi' }],
    ],
    [
      'the field `error` of a call',
      { type: 'toolCall', id: 'c', name: 'n', arguments: {}, error: 'own' },
      [{ type: 'toolCall', id: 'c', name: 'n', arguments: {}, error: 'own' }],
    ],
    ['a part for the provider', { type: 'provider', provider: 'p', data: { signature: 'LEAK' } }, []],
    [
      'a message with parts for the provider',
      { type: 'message', message: { role: 'model', parts: [secret, hi, secret, hi, secret] } },
      [{ type: 'message', message: { role: 'model', parts: [hi, hi] } }],
    ],
    ['a checkpoint', { type: 'checkpoint', checkpoint: { LEAK: 1 } }, []],
    [
      'a code that is not in the list',
      { type: 'toolResult', id: 'c', name: 'n', error: 'LEAK', code: 'constructor' },
      [{ type: 'toolResult', id: 'c', name: 'n', error: 'The tool failed.', code: 'constructor' }],
    ],
    ['an event of the application', { type: 'weather', degrees: 5 }, [{ type: 'weather', degrees: 5 }]],
    [
      'a value of progress that has the type of an event',
      { type: 'toolProgress', id: 'c', name: 'n', value: { type: 'message', text: 'own' } },
      [{ type: 'toolProgress', id: 'c', name: 'n', value: { type: 'message', text: 'own' } }],
    ],
    [
      'the signature of a thinking',
      { type: 'thinking', text: 'Hm.', signature: 'LEAK' },
      [{ type: 'thinking', text: 'Hm.' }],
    ],
    [
      'provider data of a fragment',
      { type: 'toolCallFragment', index: 0, arguments: '{', providerData: 'LEAK' },
      [{ type: 'toolCallFragment', index: 0, arguments: '{' }],
    ],
    [
      'provider data of a file',
      { type: 'file', file: { type: 'file', mediaType: 'a/b', data: '', providerData: 'LEAK' }, more: 'LEAK' },
      [{ type: 'file', file: { type: 'file', mediaType: 'a/b', data: '' } }],
    ],
    [
      'options for the provider of a source',
      { type: 'source', source: { type: 'source', url: 'u', providerOptions: 'LEAK' }, more: 'LEAK' },
      [{ type: 'source', source: { type: 'source', url: 'u' } }],
    ],
    ['the end of a response', { type: 'finish', reason: 'stop', rawReason: 'LEAK' }, []],
    ['the open calls of a run', { type: 'openCalls', open: 'LEAK' }, []],
    [
      'a part for the provider of an inner run',
      { type: 'nested', id: 'c', name: 'n', event: { type: 'provider' } },
      [],
    ],
    ['a cost that is not a number', { type: 'metadata', metadata: { cost: 'LEAK' } }, []],
    ['a model without a name', { type: 'metadata', metadata: { answeredBy: { provider: 'p', url: 'LEAK' } } }, []],
    ['a model without a provider', { type: 'metadata', metadata: { answeredBy: { name: 'n', url: 'LEAK' } } }, []],
    [
      'a tool of the provider that has succeeded',
      {
        type: 'metadata',
        metadata: { serverTools: [{ id: 's', status: 'completed', input: 1, output: 2, raw: 'LEAK' }] },
      },
      [
        {
          type: 'metadata',
          metadata: { serverTools: [{ id: 's', name: null, status: 'completed', input: 1, output: 2, raw: null }] },
        },
      ],
    ],
    [
      'the end of a turn',
      {
        type: 'turn',
        turn: 1,
        finishReason: 'stop',
        rawReason: 'end_turn',
        usage: { input: 1, raw: 'LEAK' },
        metadata,
        checkpoint: 'LEAK',
      },
      [
        {
          type: 'turn',
          turn: 1,
          finishReason: 'stop',
          rawReason: 'end_turn',
          usage: { input: 1 },
          metadata: { cost: 1 },
        },
      ],
    ],
    [
      'a reason that could be a sentence',
      { type: 'turn', turn: 1, finishReason: 'stop', rawReason: 'It was LEAK' },
      [{ type: 'turn', turn: 1, finishReason: 'stop' }],
    ],
    [
      'a reason of 65 characters',
      { type: 'turn', turn: 1, finishReason: 'stop', rawReason: 'x'.repeat(65) },
      [{ type: 'turn', turn: 1, finishReason: 'stop' }],
    ],
  ])('handles %s', (_, event, expected) => expect(publish(event)).toStrictEqual(expected));

  const failedResult = { type: 'toolResult', id: 'c', name: 'n', error: 'LEAK' };
  const hiddenResult = { type: 'toolResult', id: 'c', name: 'n', error: 'The tool failed.' };
  const progress = (value: unknown) => ({ type: 'toolProgress', id: 'c', name: 'n', value });
  it.each<[string, unknown, unknown]>([
    ['a failed result', failedResult, hiddenResult],
    ['progress of an inner tool', progress(failedResult), progress(hiddenResult)],
    ['metadata', { type: 'metadata', metadata }, { type: 'metadata', metadata: { cost: 1 } }],
    [
      'a message',
      { type: 'message', message: { role: 'user', parts: [failedResult], more: 'LEAK' } },
      { type: 'message', message: { role: 'user', parts: [hiddenResult] } },
    ],
    [
      'the end of a turn',
      { type: 'turn', turn: 1, finishReason: 'stop', rawReason: 'It was LEAK' },
      { type: 'turn', turn: 1, finishReason: 'stop' },
    ],
    ['a result without the id of a call', { type: 'toolResult', name: 'n', error: 'own' }, undefined],
    ['a result without the name of a tool', { type: 'toolResult', id: 'c', error: 'own' }, undefined],
    ['progress without the id of a call', { type: 'toolProgress', name: 'n', value: failedResult }, undefined],
    ['progress without the name of a tool', { type: 'toolProgress', id: 'c', value: failedResult }, undefined],
    ['metadata that is a text', { type: 'metadata', metadata: 'own' }, undefined],
    ['a message without parts', { type: 'message', message: { parts: [], own: 1 } }, undefined],
    ['a turn without a reason', { type: 'turn', own: 1 }, undefined],
    ['a retry without an error', { type: 'retry', error: 'own', own: 1 }, undefined],
    ['a value whose type is a property of objects', { type: 'constructor' }, undefined],
    ['a value whose type is the prototype of objects', { type: '__proto__' }, undefined],
    ['a value whose type is not a text', { type: 1 }, undefined],
    ['a text', 'own', undefined],
  ])('reads the progress of a tool that runs an agent: %s', (_, value, expected) => {
    expect(publish(progress(value))).toStrictEqual([progress(expected ?? value)]);
  });

  it('describes the error of a retry that a tool reports with a sentence of ours', () => {
    const [event] = publish(progress({ type: 'retry', attempt: 1, error: { message: 'LEAK' } }));
    expect(event).toMatchObject({ value: { type: 'retry', attempt: 1, error: { message: 'The run failed.' } } });
  });

  it('sends nothing for progress of which a browser may read nothing', () => {
    expect(publish(progress({ type: 'metadata', metadata: { 'openai-chat': 'LEAK' } }))).toEqual([]);
  });

  it('lets a client read the error that it has sent for its own call, and no other', () => {
    const own = { ...failedResult, error: 'Mine.' };
    expect(publish(own, {}, { c: 'Mine.' })).toEqual([own]);
    expect(publish(own, {}, { c: 'Other.' })).toEqual([hiddenResult]);
    expect(publish(own, {}, { other: 'Mine.' })).toEqual([hiddenResult]);
  });

  it('leaves out a named key that the metadata do not have', () => {
    expect(publish({ type: 'metadata', metadata: {} }, { exposeMetadata: ['requestId'] })).toEqual([]);
    expect(publish({ type: 'turn', turn: 1, finishReason: 'stop' }, { exposeMetadata: ['requestId'] })).toStrictEqual([
      { type: 'turn', turn: 1, finishReason: 'stop' },
    ]);
  });

  it('copies the fields of a result that a browser may read', () => {
    const prompt = { ...userMessage('Hurry.'), metadata: { 'openai-chat': 'LEAK' } };
    const result = {
      text: 'a',
      answer: 'a',
      thinking: 'b',
      output: 1,
      messages: [],
      finishReason: 'waiting',
      rawReason: 'pause',
      usage: { input: 1, raw: 'LEAK' },
      cost: 2,
      metadata,
      prompts: [prompt],
      turns: 1,
      waiting: [{ id: 'c', name: 'n', arguments: {} }],
    };
    expect(publish({ type: 'result', result: { ...result, checkpoint: 'LEAK', more: 'LEAK' } })).toStrictEqual([
      {
        type: 'result',
        result: { ...result, usage: { input: 1 }, metadata: { cost: 1 }, prompts: [userMessage('Hurry.')] },
      },
    ]);
  });

  it('lets named keys of the metadata pass', () => {
    const [event] = publish({ type: 'metadata', metadata }, { exposeMetadata: ['requestId'] });
    expect(event).toEqual({ type: 'metadata', metadata: { cost: 1, requestId: 'r1' } });
  });

  it('removes the same from the events of an agent that is a tool', async () => {
    const { model } = await gateway(calling, answering);
    const inner = agentTool(createAgent({ model, tools: [query] }), { name: 'ask', description: 'Asks.' });
    const outer = createAgent({ model: scriptedModel([[toolCall('ask', { prompt: 'Hi' })], 'End.']), tools: [inner] });
    const url = await serve(protocols.agentHandler.handler(outer));
    const body = await (await ask(url, protocols.agentHandler)).text();
    expect(body).toContain('"type":"nested"');
    expect(body).toContain('The tool failed.');
    expect(body).not.toContain('LEAK');
  });

  it('keeps the identity of a message, so that the result does not repeat it', () => {
    const message = { ...userMessage('Hi'), metadata: { 'openai-chat': 'LEAK' } };
    const result = {
      text: '',
      thinking: '',
      output: undefined,
      messages: [message],
      finishReason: 'stop',
      usage: {},
      turns: 1,
    };
    const events = [
      { type: 'message', message },
      { type: 'result', result },
    ];
    const { values } = observe(of(...events).pipe(publicEvents({})));
    const [first, last] = values as unknown as [{ message: unknown }, { result: { messages: unknown[] } }];
    expect(first.message).toEqual(userMessage('Hi'));
    expect(last.result.messages[0]).toBe(first.message);
  });
});
