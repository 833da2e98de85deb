import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, map, noop, timer } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, pageTools, remoteAgent, type WhenBusy } from '../../lib/chat/index.js';
import { messageText } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { askTool } from '../../lib/tools/askTool.js';
import { shutDown } from '../support/services.js';
import { payTool } from '../support/toolCalls.js';
import { inVirtualTime } from '../support/virtualTime.js';

/** A page whose answers the service refuses with a status, until somebody has signed in, or there is room. */
function open(status: number) {
  const state = { isRefused: true, prompts: 0, answers: 0 };
  const model = scriptedModel(({ messages }) => {
    const isAnswered = messages.at(-1)?.parts.some(({ type }) => type === 'toolResult');
    return isAnswered ? 'Done.' : [toolCall('pay', {}, 'c1')];
  });
  const handler = agentHandler(createAgent({ model, tools: [payTool()] }));
  const send: typeof fetch = (address, init) => {
    const body = typeof init?.body === 'string' ? init.body : '';
    if (body.includes('"input"')) state.prompts += 1;
    if (!body.includes('"resume"')) return handler(new Request(address, init));
    if (state.isRefused) return Promise.resolve(new Response('{}', { status }));
    state.answers += 1;
    return handler(new Request(address, init));
  };
  const agent = remoteAgent('http://service.test/chat', { fetch: send });
  return { agent, state, end: () => shutDown(handler) };
}

describe('an answer that the service refuses', () => {
  it.each([401, 403, 429].flatMap((status) => ['reconnect', 'reload', 'wait'].map((how) => ({ status, how }))))(
    'a decision that is refused with $status is sent again: $how',
    ({ status, how }) =>
      inVirtualTime(async () => {
        const { agent, state, end } = open(status);
        let chat = conversation(agent);
        const until = (wanted: string) => firstValueFrom(chat.view$.pipe(filter((view) => view.status === wanted)));
        let shown = chat.view$.subscribe();
        chat.send('Go');
        await until('waiting');
        chat.decide('c1', { approve: true });
        expect((await until('failed')).exchanges.at(-1)).toMatchObject({ isIncomplete: true });
        state.isRefused = false;
        if (how === 'reconnect') chat.reconnect();
        if (how === 'reload') {
          const saved = JSON.stringify(chat.save());
          shown.unsubscribe();
          chat = conversation(agent, { saved });
          shown = chat.view$.subscribe();
        }
        const { exchanges } = await until('idle');
        expect(JSON.stringify(exchanges)).toContain('Done.');
        expect(JSON.stringify(exchanges)).toContain('paid');
        expect(state).toMatchObject({ prompts: 1, answers: 1 });
        shown.unsubscribe();
        end();
      }),
  );
});

/** Before the service stands something that refuses, too: a sign-in, an ingress, a firewall. */
const statuses = [
  301, 302, 400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 421, 422, 429, 431, 451, 500, 502, 503, 504,
];
const login = '<html>Sign in</html>';
const bodies: Readonly<Record<string, string>> = { ours: '{"error":{"message":"No."}}', 'a page': login, empty: '' };
const refusals = [
  { status: 200, body: 'a page' },
  ...statuses.flatMap((status) => Object.keys(bodies).map((body) => ({ status, body }))),
];
const refusalOf = (status: number, body: string) => {
  const type = body === 'ours' ? 'application/json' : 'text/html';
  return new Response(bodies[body], { status, headers: { 'content-type': type } });
};
const approve = { approve: true } as const;

type Kind = 'prompt' | 'resume' | 'live' | 'join';

/** What each kind of request is refused with, until `accept` is called. */
function page(kind: Kind, refuse: () => Response) {
  const ask = askTool({
    name: 'ask',
    description: 'Asks.',
    execute: (_, { ask: question }) => question({ message: 'Which?', schema: z.string() }),
  });
  const model = scriptedModel(({ messages }) => {
    if (messages.at(-1)?.parts.some(({ type }) => type === 'toolResult')) return 'Done.';
    if (kind === 'join') return [{ delay: 100 }, 'Hello ', { delay: 30_000 }, 'Done.'];
    return kind === 'prompt' ? 'Done.' : [toolCall(kind === 'live' ? 'ask' : 'pay', {}, 'c1')];
  });
  const agent = createAgent({ model, tools: [payTool(), ask] });
  const service = createService({ agent, ...(kind === 'live' ? { checkpoints: true, patience: 120_000 } : {}) });
  const handler = agentHandler(service);
  const state = { isRefusing: kind !== 'join', refused: 0 };
  const isRefused = (init: RequestInit = {}) => {
    const body = typeof init.body === 'string' ? init.body : '';
    if (kind === 'live') return init.method === 'PATCH';
    return init.method === 'POST' && (kind !== 'resume' || body.includes('"resume"'));
  };
  const send: typeof fetch = (address, init) => {
    if (!state.isRefusing || !isRefused(init)) return handler(new Request(address, init));
    state.refused += 1;
    return Promise.resolve(refuse());
  };
  const remote = remoteAgent('http://service.test/chat', { fetch: send });
  const until = (chat: ReturnType<typeof conversation>, ...wanted: readonly string[]) =>
    firstValueFrom(chat.view$.pipe(filter((view) => wanted.includes(view.status))));
  return { remote, state, until, end: () => shutDown(handler) };
}

const start = (kind: Kind, refuse: () => Response) => {
  const opened = page(kind, refuse);
  const chat = conversation(opened.remote);
  return { ...opened, chat, shown: chat.view$.subscribe() };
};
const textOf = (view: unknown) => JSON.stringify(view);

describe('a request that is refused, by the service or by what stands before it', () => {
  it.each(refusals)('an answer: $status, $body', ({ status, body }) =>
    inVirtualTime(async () => {
      const { chat, shown, state, until, end } = start('resume', () => refusalOf(status, body));
      chat.send('Go');
      await until(chat, 'waiting');
      chat.decide('c1', approve);
      const isOver = ({ status: now, exchanges }: typeof chat.view) =>
        now === 'failed' || exchanges[0]?.notice !== undefined;
      const refused = (await firstValueFrom(chat.view$.pipe(filter(isOver)))).exchanges[0];
      expect(state.refused).toBeGreaterThan(0);
      state.isRefusing = false;
      if ([400, 409, 413, 415, 422].includes(status)) {
        expect(refused).toMatchObject({ status: 'waiting', notice: { code: 'not_answered', error: { status } } });
        expect(chat.view.waiting).toMatchObject([{ id: 'c1', status: 'waiting' }]);
        chat.decide('c1', approve);
        expect(chat.view.exchanges[0]?.notice).toBeUndefined();
      } else {
        expect(refused).toMatchObject({ status: 'failed', isIncomplete: true });
        chat.reconnect();
      }
      const { exchanges } = await until(chat, 'idle');
      expect(textOf(exchanges)).toContain('paid');
      expect(textOf(exchanges)).toContain('Done.');
      shown.unsubscribe();
      end();
    }),
  );

  it.each(
    ['run_not_found', 'not_waiting', 'run_dead'].flatMap((code) => [404, 409, 410].map((status) => ({ code, status }))),
  )('an answer to a run that is over, as the service says: $status $code', ({ code, status }) =>
    inVirtualTime(async () => {
      const { chat, shown, until, end } = start('resume', () =>
        Response.json({ error: { code, message: 'Over.' } }, { status }),
      );
      chat.send('Go');
      await until(chat, 'waiting');
      chat.decide('c1', approve);
      const { exchanges } = await until(chat, 'failed');
      expect(exchanges[0]).toMatchObject({ status: 'failed', error: { message: 'Over.' } });
      expect(exchanges[0]?.isIncomplete).toBeUndefined();
      shown.unsubscribe();
      end();
    }),
  );

  it.each(refusals)('an answer to a run that waits in memory: $status, $body', ({ status, body }) =>
    inVirtualTime(async () => {
      const { chat, shown, state, until, end } = start('live', () => refusalOf(status, body));
      const waits = (view: typeof chat.view) => view.waiting.length > 0;
      chat.send('Go');
      const id = (await firstValueFrom(chat.view$.pipe(filter(waits)))).waiting[0]?.id ?? '';
      chat.answer(id, 'blue');
      expect(chat.view.waiting).toEqual([]);
      while (state.refused === 0) await firstValueFrom(timer(100));
      await firstValueFrom(timer(100));
      state.isRefusing = false;
      if (status > 300 && status < 400) expect(chat.view.waiting).toEqual([]); // a redirect refuses nothing
      if (chat.view.waiting.length > 0) {
        expect(chat.view.exchanges[0]).toMatchObject({ notice: { code: 'not_answered', error: { status } } });
        chat.answer(id, 'blue');
      }
      const { exchanges } = await until(chat, 'idle', 'failed');
      expect(exchanges[0]).toMatchObject({ status: 'idle' });
      expect(textOf(exchanges)).toContain('"result":"blue"');
      shown.unsubscribe();
      end();
    }),
  );

  it.each(refusals)('a prompt, which is asked again: $status, $body', ({ status, body }) =>
    inVirtualTime(async () => {
      const { chat, shown, state, until, end } = start('prompt', () => refusalOf(status, body));
      chat.send('Go');
      await until(chat, 'failed');
      expect(state.refused).toBeGreaterThan(0);
      state.isRefusing = false;
      chat.regenerate();
      expect(textOf((await until(chat, 'idle')).exchanges)).toContain('Done.');
      shown.unsubscribe();
      end();
    }),
  );

  it.each(refusals)('a run that a reloaded page joins: $status, $body', ({ status, body }) =>
    inVirtualTime(async () => {
      const { chat, remote, shown, state, until, end } = start('join', () => refusalOf(status, body));
      chat.send('Go');
      await until(chat, 'streaming');
      const saved = textOf(chat.save());
      shown.unsubscribe();
      state.isRefusing = true;
      const next = conversation(remote, { saved });
      const later = next.view$.subscribe();
      expect((await until(next, 'failed')).exchanges[0]).toMatchObject({ isIncomplete: true });
      state.isRefusing = false;
      next.reconnect();
      expect(textOf((await until(next, 'idle')).exchanges)).toContain('Hello Done.');
      later.unsubscribe();
      end();
    }),
  );
});

describe('the result of a tool of the page', () => {
  let end: () => void = noop;
  afterEach(() => end());

  /** A page whose tool takes a second, and whose service refuses its results, until `accept` is called. */
  function open(whenBusy: WhenBusy, refuse: () => Response) {
    const shot = { name: 'shot', description: 'A picture of the page.' };
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('shot', {}, 'c1')] : 'Done.'));
    const handler = agentHandler(createAgent({ model, tools: [tool(shot)] }));
    const state = { isRefusing: true, refused: 0 };
    const send: typeof fetch = (address, init) => {
      const body = typeof init?.body === 'string' ? init.body : '';
      if (!state.isRefusing || !body.includes('"resume"')) return handler(new Request(address, init));
      state.refused += 1;
      return Promise.resolve(refuse());
    };
    const tools = pageTools([tool({ ...shot, execute: () => timer(1000).pipe(map(() => 'Pixels.')) })]);
    const chat = conversation(remoteAgent('http://service.test/chat', { fetch: send }), { whenBusy, tools });
    const shown = chat.view$.subscribe();
    end = () => {
      shown.unsubscribe();
      shutDown(handler);
    };
    return { chat, model, state };
  }
  const promptsOf = ({ requests }: ReturnType<typeof open>['model']) =>
    requests.map(({ messages }) =>
      messages
        .filter(({ role }) => role === 'user')
        .map(messageText)
        .filter(Boolean),
    );

  it.each((['concat', 'merge'] as const).flatMap((whenBusy) => statuses.map((status) => ({ whenBusy, status }))))(
    'is not sent again and again, and the next prompt is sent: $whenBusy, $status',
    ({ whenBusy, status }) =>
      inVirtualTime(async () => {
        const { chat, model, state } = open(whenBusy, () => refusalOf(status, 'ours'));
        chat.send('Look.');
        await firstValueFrom(chat.view$.pipe(filter((view) => view.status === 'runningTools')));
        chat.send('Next.');
        await firstValueFrom(timer(900_000));
        const { refused } = state;
        await firstValueFrom(timer(3_600_000));
        expect(state.refused).toBe(refused);
        const isFinal = [400, 413, 415, 422].includes(status);
        const [first] = chat.view.exchanges;
        expect(first).toMatchObject({ status: 'failed', error: { message: expect.stringMatching(/\w/) } });
        expect(first?.isIncomplete).toBe(isFinal ? undefined : true);
        if (isFinal) expect(refused).toBe(1);
        expect(chat.view.queued).toEqual(whenBusy === 'merge' && !isFinal ? ['Next.'] : []);
        state.isRefusing = false;
        chat.reconnect();
        await firstValueFrom(timer(60_000));
        expect(chat.view).toMatchObject({ status: 'idle', queued: [] });
        expect(promptsOf(model).filter((prompts) => prompts.at(-1) === 'Next.')).toHaveLength(1);
      }, 10_000),
  );
});

describe('an answer of the wrong kind', () => {
  it.each(['at a service', 'in the page'])('an approval of a question is asked for again: %s', (where) =>
    inVirtualTime(async () => {
      const ask = askTool({
        name: 'ask',
        description: 'Asks.',
        execute: (_, { ask: question }) => question({ message: 'Which?', schema: z.string() }),
      });
      const model = scriptedModel([[toolCall('ask', {}, 'c1')], 'Done.']);
      const local = createAgent({ model, tools: [ask] });
      const handler = agentHandler(local);
      const remote = remoteAgent('http://service.test/chat', { fetch: (url, init) => handler(new Request(url, init)) });
      const chat = conversation(where === 'in the page' ? local : remote);
      const shown = chat.view$.subscribe();
      const until = (wanted: string) => firstValueFrom(chat.view$.pipe(filter(({ status }) => status === wanted)));
      chat.send('Go');
      const id = (await until('waiting')).waiting[0]?.id ?? '';
      chat.decide(id, approve);
      const isNoticed = ({ exchanges: [first] }: typeof chat.view) => first?.notice !== undefined;
      const { exchanges, waiting } = await firstValueFrom(chat.view$.pipe(filter(isNoticed)));
      expect(exchanges[0]?.notice).toMatchObject({ code: 'not_answered' });
      expect(waiting).toMatchObject([{ id, status: 'waiting' }]);
      chat.answer(id, 'blue');
      expect(textOf((await until('idle')).exchanges)).toContain('"result":"blue"');
      shown.unsubscribe();
      shutDown(handler);
    }),
  );
});
