import { afterEach, describe, expect, it } from '@jest/globals';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientOptions } from '@modelcontextprotocol/client';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { UrlElicitationRequiredError } from '@modelcontextprotocol/server';
import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import { asyncScheduler, defer, delay, firstValueFrom, of, Subject, tap, timer, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../../lib/index.js';
import type { OptionsOf, RunEvent, RunResult } from '../../../lib/index.js';
import type { CallAnswers } from '../../../lib/core/approval.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { mcpTools } from '../../../lib/tools/mcp/index.js';
import { inMemory, named, newClient } from './servers.js';
import type { Connected } from './servers.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

const schema = { type: 'object' as const, properties: { seat: { type: 'string' as const } }, required: ['seat'] };
const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });
const canBeAsked: ClientOptions = { capabilities: { elicitation: { form: {}, url: {} } } };

type Answer = (context: ServerContext) => CallToolResult | InputRequiredResult | Promise<CallToolResult>;

/** A server of revision 2026-07-28, over HTTP. */
async function modern(answer: Answer, options: ClientOptions = canBeAsked): Promise<Pick<Connected, 'client'>> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'spec', version: '1.0.0' });
    server.registerTool('book', { description: 'Books a seat.' }, (context) => answer(context));
    return server;
  });
  const client = newClient({ ...options, versionNegotiation: { mode: 'auto' } });
  const fetch = (address: string | URL, init?: RequestInit) => handler.fetch(new Request(address, init));
  await client.connect(new StreamableHTTPClientTransport(new URL('http://mcp.example/mcp'), { fetch }));
  closers.push(() => client.close());
  return { client };
}

/** A server of revision 2025-11-25, in memory. */
async function legacy(answer: Answer, options: ClientOptions = canBeAsked): Promise<Connected> {
  const call = (_: unknown, context: ServerContext) => answer(context) as CallToolResult;
  const connected = await inMemory({ list: () => ({ tools: [named('book')] }), call }, options);
  closers.push(() => connected.close());
  return connected;
}

const asksModern =
  (message = 'Which seat?'): Answer =>
  ({ mcpReq }) => {
    const answers = mcpReq.inputResponses;
    if (!answers)
      return inputRequired({ inputRequests: { seat: inputRequired.elicit({ message, requestedSchema: schema }) } });
    const given = acceptedContent<{ seat: string }>(answers, 'seat');
    return text(given ? `booked ${given.seat}` : `not booked: ${JSON.stringify(answers['seat'])}`);
  };
/** The revisions before 2026-07-28. */
const elicit = ({ mcpReq }: ServerContext, params: Parameters<ServerContext['mcpReq']['elicitInput']>[0]) =>
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- servers use it
  mcpReq.elicitInput(params);
const asksLegacy =
  (message = 'Which seat?'): Answer =>
  async (context) => {
    const given = await elicit(context, { message, requestedSchema: schema });
    return text(given.content ? `booked ${String(given.content['seat'])}` : `not booked: ${JSON.stringify(given)}`);
  };

const calls = (...ids: readonly string[]) =>
  scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : ids.map((id) => toolCall('book', {}, id))));

async function agentOf({ client }: Pick<Connected, 'client'>, ids = ['c1'], options?: OptionsOf<typeof mcpTools>) {
  return createAgent({ model: calls(...ids), tools: await firstValueFrom(mcpTools(client, options)) });
}
const resultsOf = ({ messages }: RunResult) =>
  messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === 'toolResult' ? [part.result ?? part.error] : []));

/** The question of an event, with its id in the run. */
const questionOf = (event: RunEvent) =>
  event.type === 'nested' && event.event.type === 'toolWaiting'
    ? [{ id: `${event.id}/${event.event.id}`, ...event.event.question }]
    : [];

/** Runs an agent whose questions are answered while it runs. */
async function live(agent: Awaited<ReturnType<typeof agentOf>>, answer: (id: string) => CallAnswers, wait = 0) {
  const answers = new Subject<CallAnswers>();
  const run: Observable<RunEvent> = agent.stream('Book.', { answers });
  const events = run.pipe(
    tap((event) => {
      for (const { id } of questionOf(event)) asyncScheduler.schedule(() => answers.next(answer(id)), wait);
    }),
    toArray(),
  );
  const all = await firstValueFrom(events);
  const last = all.at(-1);
  if (last?.type !== 'result') throw new Error('The run has no result.');
  return { questions: all.flatMap(questionOf), result: last.result };
}

describe.each([
  ['2026-07-28 (input_required)', modern, asksModern],
  ['2025-11-25 (elicitation)', legacy, asksLegacy],
])('a server of revision %s asks', (_, serve, asks) => {
  it('mcpTools lets the run wait with the question, and sends the call again with the answer', async () => {
    const agent = await agentOf(await serve(asks()));
    const waiting = await firstValueFrom(agent.run('Book.'));
    expect(waiting.finishReason).toBe('waiting');
    const [call] = waiting.waiting ?? [];
    expect(call).toMatchObject({
      id: expect.stringMatching(/^c1\//),
      name: 'ask',
      question: { message: 'Which seat?', schema },
    });
    const results = { [call?.id ?? '']: { seat: '12A' } };
    const { checkpoint } = waiting;
    if (!checkpoint) throw new Error('The run has no checkpoint.');
    expect(resultsOf(await firstValueFrom(agent.resumeRun(structuredClone(checkpoint), { results })))).toEqual([
      'booked 12A',
    ]);
  });

  it('mcpTools passes an answer that comes while the run lives', async () => {
    const { result } = await live(await agentOf(await serve(asks())), (id) => ({ results: { [id]: { seat: '3C' } } }));
    expect(resultsOf(result)).toEqual(['booked 3C']);
  });

  it('mcpTools asks again when an answer does not match the schema of the server', async () => {
    const given: object[] = [{ seat: 3 }, { seat: '3C', row: 1 }, {}, { seat: '3C' }];
    const { result, questions } = await live(await agentOf(await serve(asks())), (id) => ({
      results: { [id]: given.shift() as never },
    }));
    expect(questions.map(({ problem }) => problem)).toEqual([
      undefined,
      '"seat" is not of the type string',
      '"row" is not asked for',
      '"seat" is missing',
    ]);
    expect(resultsOf(result)).toEqual(['booked 3C']);
  });

  it('mcpTools tells the server that a person has declined', async () => {
    const { result } = await live(await agentOf(await serve(asks())), (id) => ({
      decisions: { [id]: { approve: false } },
    }));
    expect(resultsOf(result)).toEqual([expect.stringContaining('"action":"decline"')]);
  });

  it('mcpTools answers the questions of several calls, each its own', async () => {
    const agent = await agentOf(await serve(asks()), ['c1', 'c2']);
    const seats: Record<string, string> = { c1: '1A', c2: '2B' };
    const { result } = await live(agent, (id) => ({
      results: { [id]: { seat: seats[id.split('/')[0] ?? ''] ?? '' } },
    }));
    expect(resultsOf(result)).toEqual(['booked 1A', 'booked 2B']);
  });

  it('mcpTools gives an old answer to no other question', async () => {
    let message = 'Which seat?';
    const agent = await agentOf(await serve((context) => asks(message)(context)));
    const { waiting = [], checkpoint } = await firstValueFrom(agent.run('Book.'));
    if (!checkpoint) throw new Error('The run has no checkpoint.');
    message = 'Which seat do you give away?';
    const results = { [waiting[0]?.id ?? '']: { seat: '12A' } };
    const again = await firstValueFrom(agent.resumeRun(checkpoint, { results }));
    expect(again.finishReason).toBe('waiting');
    expect(again.waiting?.map(({ question }) => question?.message)).toEqual([message]);
  });
});

it('mcpTools asks a person for a server of revision 2026-07-28 if the client does not declare it', async () => {
  const agent = await agentOf(await modern(asksModern(), {}));
  expect((await firstValueFrom(agent.run('Book.'))).waiting).toMatchObject([{ question: { message: 'Which seat?' } }]);
});

const page = { message: 'Sign in.', url: 'https://pay.example/start' };
it.each<readonly [string, typeof modern | typeof legacy, Answer]>([
  [
    'input_required',
    modern,
    ({ mcpReq }) =>
      mcpReq.inputResponses ? text('paid') : inputRequired({ inputRequests: { page: inputRequired.elicitUrl(page) } }),
  ],
  [
    'a request',
    legacy,
    async (context) =>
      text((await elicit(context, { mode: 'url', ...page, elicitationId: 'e1' })).action === 'accept' ? 'paid' : ''),
  ],
])('mcpTools has the address of a page that a person shall open, by %s', async (_, serve, answer) => {
  const agent = await agentOf(await serve(answer));
  const { waiting = [], checkpoint } = await firstValueFrom(agent.run('Pay.'));
  expect(waiting).toMatchObject([{ details: { url: page.url }, question: { message: page.message } }]);
  if (!checkpoint) throw new Error('The run has no checkpoint.');
  const results = { [waiting[0]?.id ?? '']: {} };
  expect(resultsOf(await firstValueFrom(agent.resumeRun(checkpoint, { results })))).toEqual(['paid']);
});

it.each([
  [{ message: 'Open.', url: 'javascript:alert(1)' }, 'does not begin with https://'],
  [{ message: 'Open.', url: 'https://bank.example@evil.example/' }, 'or has a user'],
  [{ message: 'Open.', url: 'https://' }, 'does not begin with https://'],
  [{ message: 'x'.repeat(60_000), url: page.url }, 'At most 50000 are allowed'],
])('mcpTools refuses a question that would harm (%#)', async (asked, error) => {
  const required = {
    resultType: 'input_required',
    inputRequests: { q: { method: 'elicitation/create', params: { mode: 'url', ...asked } } },
  };
  const result = await firstValueFrom((await agentOf(await modern(() => required as never))).run('Book.'));
  expect(resultsOf(result)).toEqual([expect.stringContaining(error)]);
});

it('mcpTools shows no more questions of a call than a person can answer', async () => {
  const asked = (_: unknown, index: number): readonly [string, object] => [
    `q${index}`,
    { method: 'elicitation/create', params: { message: `Question ${index}` } },
  ];
  const inputRequests = Object.fromEntries(Array.from({ length: 101 }, asked));
  const required = { resultType: 'input_required', inputRequests };
  const result = await firstValueFrom((await agentOf(await modern(() => required as never))).run('Book.'));
  expect(resultsOf(result)).toEqual(['The MCP server requires more than 100 answers in a call.']);
});

it('mcpTools encodes what controls a terminal in an address', async () => {
  const params = { mode: 'url', message: 'Open.', url: 'https://pay.example/\u001b[2J\u202e' };
  const required = { resultType: 'input_required', inputRequests: { q: { method: 'elicitation/create', params } } };
  const result = await firstValueFrom((await agentOf(await modern(() => required as never))).run('Book.'));
  expect(result.waiting?.[0]?.details?.['url']).toBe('https://pay.example/%1B[2J%E2%80%AE');
});

it.each([
  [
    'a name of Object.prototype',
    { seat: { type: 'string' } },
    { seat: '12', constructor: 'x' },
    '"constructor" is not',
  ],
  ['a type of Object.prototype', { seat: { type: 'constructor' } }, { seat: '12' }, undefined],
  ['another type', { seat: { type: 'integer' } }, { seat: '12' }, '"seat" is not of the type integer'],
])('mcpTools checks an answer by the fields of the question: %s', async (_, properties, answer, problem) => {
  const params = { message: 'Which seat?', requestedSchema: { type: 'object', properties } };
  const agent = await agentOf(
    await modern(({ mcpReq }) =>
      mcpReq.inputResponses
        ? text('booked')
        : ({ resultType: 'input_required', inputRequests: { q: { method: 'elicitation/create', params } } } as never),
    ),
  );
  const { waiting = [], checkpoint } = await firstValueFrom(agent.run('Book.'));
  if (!checkpoint) throw new Error('The run has no checkpoint.');
  const results = { [waiting[0]?.id ?? '']: answer };
  const resumed = await firstValueFrom(agent.resumeRun(checkpoint, { results }));
  if (problem === undefined) expect(resultsOf(resumed)).toEqual(['booked']);
  else expect(resumed.waiting?.[0]?.question?.problem).toContain(problem);
});

describe('a server requires a model or directories of the application', () => {
  const samples: Answer = ({ mcpReq }) => {
    const given = mcpReq.inputResponses?.['sample'] as { readonly content?: { readonly text?: string } } | undefined;
    if (given) return text(`wrote ${given.content?.text ?? ''}`);
    const sample = inputRequired.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
      maxTokens: 9,
    });
    return inputRequired({ inputRequests: { sample } });
  };
  const declared: ClientOptions = { capabilities: { sampling: {} } };

  it('mcpTools refuses it with a sentence', async () => {
    const agent = await agentOf(await modern(samples, declared));
    expect(resultsOf(await firstValueFrom(agent.run('Write.')))).toEqual([
      'The MCP server requires "sampling/createMessage" of this application, which does not allow it.',
    ]);
  });

  it('mcpTools allows it by a function', async () => {
    const requests: NonNullable<OptionsOf<typeof mcpTools>>['requests'] = {
      'sampling/createMessage': ({ maxTokens }) => [
        { role: 'assistant', model: 'm', content: { type: 'text', text: `${JSON.stringify(maxTokens)} tokens` } },
      ],
    };
    const agent = await agentOf(await modern(samples, declared), ['c1'], { requests });
    expect(resultsOf(await firstValueFrom(agent.run('Write.')))).toEqual(['wrote 9 tokens']);
  });
});

describe('what a server requires of the application', () => {
  const sample = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
  const question = { method: 'elicitation/create', params: { message: 'Which seat?', requestedSchema: schema } };
  const many = (count: number, request: object) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${JSON.stringify(request)}${index}`, request]));
  const tooMany = 'The MCP server requires more than 100 answers in a call.';
  it.each([
    ['a few', [many(5, sample)], 5, 'written'],
    ['as many as a call may require', [many(50, sample), many(50, sample)], 100, 'written'],
    ['too many at once', [many(101, sample)], 100, tooMany],
    ['too many in all rounds', [many(60, sample), many(60, sample)], 100, tooMany],
    ['too many with the questions', [{ ...many(60, question), ...many(60, sample) }], 40, tooMany],
  ])('is answered one by one, and not without an end: %s', async (_, rounds, answered, result) => {
    let [round, open, most, count] = [0, 0, 0, 0];
    const server = await modern(
      () => {
        const inputRequests = rounds[round++];
        return (inputRequests ? { resultType: 'input_required', inputRequests } : text('written')) as CallToolResult;
      },
      { capabilities: { sampling: {}, elicitation: { form: {} } } },
    );
    const requests = {
      'sampling/createMessage': () =>
        defer(() => {
          count++;
          most = Math.max(most, ++open);
          return of({ role: 'assistant', model: 'm', content: { type: 'text', text: '' } }).pipe(
            delay(0),
            tap(() => open--),
          );
        }),
    };
    const agent = await agentOf(server, ['c1'], { requests });
    const answer = (id: string) => ({ results: { [id]: { seat: '1A' } } });
    expect(resultsOf((await live(agent, answer)).result)).toEqual([result]);
    expect([most, count]).toEqual([1, answered]);
  });
});

it.each([
  ['2025-11-25', legacy, asksLegacy, { timeout: 30, maxTotalTimeout: 40 }, 100],
  ['2026-07-28', modern, asksModern, { maxTotalTimeout: 200 }, 300],
])(
  'mcpTools does not count the time of a person for the limits of a call: %s',
  async (_, serve, asks, limits, wait) => {
    const agent = await agentOf(await serve(asks()), ['c1'], limits);
    const { result } = await live(agent, (id) => ({ results: { [id]: { seat: '1A' } } }), wait);
    expect(resultsOf(result)).toEqual(['booked 1A']);
  },
);

const never: Answer = () => new Promise(() => undefined);
const again: Answer = () => inputRequired({ requestState: 'later' });
const asksPage: Answer = async () => {
  await firstValueFrom(timer(15));
  throw new UrlElicitationRequiredError([{ mode: 'url', ...page, elicitationId: 'e1' }]);
};
it.each([
  ['has no end', legacy, never, { timeout: 20 }],
  ['has no end, and no progress', modern, never, { maxTotalTimeout: 20 }],
  ['is to be sent again and again', modern, again, { maxTotalTimeout: 20 }],
  ['requires page after page', legacy, asksPage, { maxTotalTimeout: 20 }],
])('mcpTools ends a call that takes too long: one that %s', async (_, serve, answer, limits) => {
  const { result } = await live(await agentOf(await serve(answer), ['c1'], limits), (id) => ({
    results: { [id]: {} },
  }));
  expect(resultsOf(result)).toEqual(['The tool did not finish within 20 ms.']);
});

it('mcpTools leaves questions to a client that answers them by itself', async () => {
  const connected = await legacy(asksLegacy());
  connected.client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { seat: '9F' } }));
  expect(resultsOf(await firstValueFrom((await agentOf(connected)).run('Book.')))).toEqual(['booked 9F']);
});

it('mcpTools cancels the call at the server while it waits for an answer in another process', async () => {
  const connected = await legacy(asksLegacy());
  await firstValueFrom((await agentOf(connected)).run('Book.').pipe(delay(0)));
  expect(connected.sent).toContainEqual(expect.objectContaining({ method: 'notifications/cancelled' }));
});
