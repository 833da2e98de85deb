import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, lastValueFrom, of, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { agUiHandler, fromAgUi, toAgUiMessages } from '../../lib/agUi.js';
import type { AgUiEvent, AgUiMessage, RunAgentInput } from '../../lib/agUi.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { WhenBusy } from '../../lib/chat/commandQueue.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import type { RunResult, StreamEvent } from '../../lib/core/event.js';
import { isResult } from '../../lib/core/eventGuards.js';
import { callsOf, emptyView } from '../../lib/operators/view/view.js';
import { userMessage, type Message } from '../../lib/core/message.js';
import { repairHistory } from '../../lib/core/history.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { createService } from '../../lib/service/createService.js';
import { uiChatHandler, type UiMessage, type UiMessageChunk } from '../../lib/service/uiChat/index.js';
import { fromServerSentEvents } from '../../lib/transport/fromServerSentEvents.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { faultsOf } from '../support/acceptedHistory.js';
import { shutDown, type Handler } from '../support/services.js';
import { inVirtualTime } from '../support/virtualTime.js';
import { mapStore } from '../support/stores.js';
import { readUiMessage } from './uiChat/readUiMessage.js';

const open: object[] = [];
afterEach(() => open.splice(0).forEach(shutDown));

const after = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const [first, next] = ['Pay, and mail it.', 'Is it paid?'];
const url = 'http://service.test/';

/** An agent whose `pay` is executed beside `mail`, which waits for an approval, or for the page. */
function world(waits: 'approval' | 'page' = 'approval') {
  const paid: string[] = [];
  const sent: string[] = [];
  const pay = tool({ name: 'pay', description: 'Pays.', execute: () => `receipt ${paid.push('p1')}` });
  const mail = {
    approval: tool({
      name: 'mail',
      description: 'Mails.',
      needsApproval: true,
      execute: () => sent[sent.push('sent') - 1],
    }),
    page: tool({ name: 'mail', description: 'Mails.' }),
  };
  const model = scriptedModel([[toolCall('pay', {}, 'p1'), toolCall('mail', {}, 'm1')], 'I see.', 'I see.']);
  const agent = createAgent({ model, tools: waits === 'page' ? [pay] : [pay, mail[waits]] });
  const asPage = (handler: Handler) => ({
    handler,
    send: (method: string, body?: object, headers: Readonly<Record<string, string>> = {}) =>
      handler(
        new Request(url, {
          ...{ method, headers: { 'content-type': 'application/json', ...headers } },
          ...(body ? { body: JSON.stringify(body) } : {}),
        }),
      ),
  });
  const service = (checkpoints: boolean) => {
    const made = createService({ agent, store: mapStore(), checkpoints });
    open.push(made);
    return asPage(agentHandler(made));
  };
  const agUi = () =>
    asPage(
      agUiHandler((own) =>
        createAgent({ model, tools: [...(waits === 'page' ? [pay] : [pay, mail.approval]), ...own] }),
      ),
    );
  return { agent, model, paid, sent, service, agUi, uiChat: () => asPage(uiChatHandler(agent)) };
}

type World = ReturnType<typeof world>;

/** A chat whose run waits, and the person does something else. */
const inChat =
  (
    remote: false | 'service' | 'checkpoints',
    whenBusy: WhenBusy,
    act: (chat: ReturnType<typeof conversation>) => void,
  ) =>
  async ({ agent, service }: World) => {
    const { handler } = service(remote === 'checkpoints');
    const target = remote ? remoteAgent(url, { fetch: (at, init) => handler(new Request(at, init)) }) : agent;
    const chat = conversation(target, { whenBusy });
    const view = chat.view$.subscribe();
    const until = (status: string, count: number) =>
      firstValueFrom(chat.view$.pipe(filter((now) => now.exchanges.length === count && now.status === status)));
    chat.send(first);
    await until('waiting', 1);
    act(chat);
    chat.send(next);
    await until('idle', 2);
    const [, answer] = chat.view.exchanges[0]?.messages ?? [];
    expect(answer?.parts.filter(({ type }) => type === 'toolCall')).toMatchObject([
      { id: 'p1', status: 'completed', result: 'receipt 1' },
      { id: 'm1' },
    ]);
    view.unsubscribe();
  };

/**
 * The person approves, and stops before the page has heard of the run that continues. What is late: the request with
 * the approval, which does not arrive, or only after the page has left it; its response; or what the service says of
 * the stop, too.
 */
const inRace =
  (late: 'request' | 'approval' | 'response' | 'stop', whenBusy: WhenBusy, checkpoints: boolean) =>
  ({ service, sent }: World) =>
    inVirtualTime(async () => {
      const { handler } = service(checkpoints);
      const isLeft = ({ signal }: RequestInit) => new Promise((_, left) => signal?.addEventListener('abort', left));
      let asked = 0;
      const agent = remoteAgent(url, {
        fetch: async (at, init = {}) => {
          const isAnswer = typeof init.body === 'string' && init.body.includes('"resume"');
          asked += Number(isAnswer);
          if (isAnswer && late === 'request') await isLeft(init);
          if (isAnswer && late === 'approval') await after(250);
          if (init.method === 'DELETE') await after({ request: 0, approval: 500, response: 0, stop: 5000 }[late]);
          const response = await handler(new Request(at, isAnswer ? { ...init, signal: null } : init));
          if (isAnswer) await isLeft(init);
          return response;
        },
      });
      const chat = conversation(agent, { whenBusy });
      const view = chat.view$.subscribe();
      const call = () => callsOf(chat.view.exchanges[0] ?? emptyView).find(({ id }) => id === 'm1');
      const shown = (isShown: () => boolean) => firstValueFrom(chat.view$.pipe(filter(isShown)));
      chat.send(first);
      await shown(() => chat.view.status === 'waiting');
      chat.decide('m1', { approve: true });
      while (['request', 'approval'].includes(late) ? asked === 0 : sent.length === 0)
        await new Promise((next) => setImmediate(next));
      if (whenBusy !== 'switch') chat.stop();
      chat.send(next);
      await shown(() => chat.view.exchanges.length === 2 && chat.view.status === 'idle');
      await shown(() => call()?.status === (late === 'request' ? 'cancelled' : 'completed'));
      view.unsubscribe();
    });

/** A client of its own, which names the runs before its next one. */
const inRequests =
  (
    checkpoints: boolean,
    act: (page: ReturnType<World['service']>, run: string, later: string) => Promise<unknown>,
    isWhole = false,
  ) =>
  async ({ service }: World) => {
    const page = service(checkpoints);
    const [run, resumed, later] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    await (await page.send('POST', { input: first }, { 'x-run-id': run })).text();
    await act(page, run, resumed);
    const history = (isWhole ? [run, resumed] : [run]).map((id) => ({ id, input: [userMessage(first)] }));
    await (await page.send('POST', { input: next, history }, { 'x-run-id': later })).text();
  };

const runOf = async (events: Promise<Response>, before: readonly AgUiMessage[]): Promise<RunResult> => {
  const response = await events;
  const decoded = fromServerSentEvents<AgUiEvent>(url, { id: 'r' }, { fetch: () => Promise.resolve(response) });
  return lastResult(await lastValueFrom(decoded.pipe(fromAgUi({ messages: before }), toArray())));
};
const lastResult = (events: readonly StreamEvent[]): RunResult => {
  const last = events.at(-1);
  if (!last || !isResult(last)) throw new Error('There is no result.');
  return last.result;
};

/** An AG-UI client that makes its history of the results of its runs. */
const inAgUi =
  (answer: (result: RunResult) => Partial<RunAgentInput> | undefined, own: RunAgentInput['tools'] = []) =>
  async ({ agUi }: World) => {
    const { send } = agUi();
    const request = { threadId: 't', runId: 'r', tools: own };
    const history: Message[] = [userMessage(first)];
    const run = async (more: Partial<RunAgentInput> = {}) => {
      const messages = toAgUiMessages(history).map((message, index) => ({ ...message, id: `m${index}` }));
      const result = await runOf(send('POST', { ...request, messages, ...more }), messages);
      history.push(...result.messages);
      return result;
    };
    const given = answer(await run());
    if (given) await run(given);
    history.push(userMessage(next));
    await run();
  };

const inUiChat =
  (answer?: object) =>
  async ({ uiChat }: World) => {
    const { send } = uiChat();
    const user = (text: string): UiMessage => ({ id: text, role: 'user', parts: [{ type: 'text', text } as never] });
    const ask = async (messages: readonly UiMessage[], before?: UiMessage) => {
      const text = await (await send('POST', { id: 'chat', messages })).text();
      const lines = text.split('\n\n').filter((line) => line.startsWith('data: {'));
      return readUiMessage(
        lines.map((line) => JSON.parse(line.slice(6)) as UiMessageChunk),
        before,
      );
    };
    let message = await ask([user(first)]);
    const parts = message.parts.map((part) => (part['toolCallId'] === 'm1' ? { ...part, ...answer } : part));
    if (answer) message = await ask([user(first), { ...message, parts }], { ...message, parts });
    await ask([user(first), message, user(next)]);
  };

const byProgram = async ({ agent }: World, act: (result: RunResult) => RunResult | Promise<RunResult>) => {
  const { messages } = await act(await firstValueFrom(agent.run(first)));
  await firstValueFrom(agent.run(next, { history: [userMessage(first), ...messages] }));
};
const resume = ({ agent }: World, { checkpoint }: RunResult, options: object) =>
  checkpoint ? firstValueFrom(agent.resumeRun(checkpoint, options)) : Promise.reject(new Error('It does not wait.'));

/** What the model reads of the call that waited: that it has not run, or its result, if a person has answered it. */
type Outcome = 'ended' | 'answered';
const approval = { state: 'approval-responded', approval: { id: 'm1', approved: true } };
const ownMail = [{ name: 'mail', description: 'Mails.', parameters: { type: 'object', properties: {} } }];
const interrupt = (payload: object) => ({
  resume: [{ interruptId: 'm1', status: 'resolved' as const, payload: payload as { approved: boolean } }],
});

const approve = async ({ send }: ReturnType<World['service']>, run: string, resumed: string) => {
  const answer = { resume: run, decisions: { m1: { approve: true } } };
  await (await send('POST', answer, { 'x-run-id': resumed })).text();
};

const rows: readonly (readonly [string, Outcome, (given: World) => Promise<unknown>])[] = [
  [
    'a program leaves the run, and takes the messages of its result',
    'ended',
    (given) => byProgram(given, (result) => result),
  ],
  [
    'a program resumes the run with a stop',
    'ended',
    (given) => byProgram(given, (result) => resume(given, result, { stop: of(1) })),
  ],
  [
    'a program answers',
    'answered',
    (given) => byProgram(given, (result) => resume(given, result, { decisions: { m1: { approve: true } } })),
  ],
  ...([false, 'service', 'checkpoints'] as const).flatMap((remote) => {
    const where = remote ? `with a service${remote === 'service' ? '' : ' with checkpoints'}` : 'with a local agent';
    return [
      [`the person stops a chat ${where}`, 'ended', inChat(remote, 'concat', (chat) => chat.stop())],
      [`the person writes on in a chat that switches ${where}`, 'ended', inChat(remote, 'switch', () => undefined)],
      [
        `the person approves in a chat ${where}`,
        'answered',
        inChat(remote, 'concat', (chat) => chat.decide('m1', { approve: true })),
      ],
    ] as const;
  }),
  ...[false, true].flatMap((checkpoints) => {
    const where = `at a service${checkpoints ? ' with checkpoints' : ''}`;
    return [
      [
        `a client stops the run ${where}`,
        'ended',
        inRequests(checkpoints, (page, run) => page.send('DELETE', undefined, { 'x-run-id': run })),
      ],
      [`a client leaves the run ${where}`, 'ended', inRequests(checkpoints, () => Promise.resolve())],
      [`another device approves ${where}`, 'answered', inRequests(checkpoints, approve)],
      [`a client approves, and names both runs ${where}`, 'answered', inRequests(checkpoints, approve, true)],
    ] as const;
  }),
  ...(['concat', 'switch'] as const).flatMap((whenBusy) =>
    [false, true].flatMap((checkpoints) => {
      const then = `${whenBusy === 'switch' ? 'writes on' : 'stops'}${checkpoints ? ' with checkpoints' : ''}`;
      return [
        [
          `the person approves, and ${then}: before the approval arrives`,
          'ended',
          inRace('request', whenBusy, checkpoints),
        ],
        [`the person approves, and ${then}: as it arrives`, 'answered', inRace('approval', whenBusy, checkpoints)],
        [
          `the person approves, and ${then}: before the page hears of it`,
          'answered',
          inRace('response', whenBusy, checkpoints),
        ],
        [
          `the person approves, and ${then}: while nothing arrives in time`,
          'answered',
          inRace('stop', whenBusy, checkpoints),
        ],
      ] as const;
    }),
  ),
  ['the person writes on in useChat', 'ended', inUiChat()],
  ['the person approves in useChat', 'answered', inUiChat(approval)],
  ['the person approves in AG-UI', 'answered', inAgUi(() => interrupt({ approved: true }))],
  ['the person declines in AG-UI', 'ended', inAgUi(() => interrupt({ approved: false }))],
];

describe('a run that waits for a call, while another one has run', () => {
  it.each(rows)('has the result of that one for the next request when %s', async (_, outcome, act) => {
    const given = world();
    await act(given);
    const { paid, model } = given;
    expect(paid).toEqual(['p1']);
    const messages = repairHistory(model.requests.at(-1)?.messages ?? []);
    expect(messages.at(-1)).toMatchObject({
      role: 'user',
      parts: expect.arrayContaining([{ type: 'text', text: next }]),
    });
    expect(faultsOf(messages)).toEqual([]);
    const results = messages.flatMap(({ parts }) => parts).filter((part) => part.type === 'toolResult');
    expect(results.map(({ id }) => id)).toEqual(['p1', 'm1']);
    expect(results[0]).toMatchObject({ result: 'receipt 1' });
    if (outcome === 'answered') expect(results[1]).toMatchObject({ result: 'sent' });
    else expect(results[1]).toHaveProperty('error');
  });

  it('has it when an AG-UI client writes on, without the result of its own call', async () => {
    const given = world('page');
    await inAgUi(() => undefined, ownMail)(given);
    const results = given.model.requests
      .at(-1)
      ?.messages.flatMap(({ parts }) => parts)
      .filter(({ type }) => type === 'toolResult');
    expect(results).toMatchObject([{ id: 'p1', result: 'receipt 1' }]);
  });
});
