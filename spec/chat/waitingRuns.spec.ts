import { describe, expect, it } from '@jest/globals';
import { concat, concatMap, delay, distinct, filter, firstValueFrom, from, lastValueFrom, NEVER, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import type { PageTools } from '../../lib/chat/pageTools.js';
import { tool, type Tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { ServiceOptions } from '../../lib/service/serviceOptions.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { shutDown } from '../support/services.js';
import { inVirtualTime } from '../support/virtualTime.js';
import { isForPage, untilBroken } from '../../lib/chat/waitingRuns.js';
import type { ToolCallView } from '../../lib/operators/view/view.js';

const tools = { has: (name: string) => name === 'locate' } as unknown as PageTools;
const call = (name: string, question?: object) =>
  ({ id: 'c', name, arguments: {}, question }) as unknown as ToolCallView;

describe('isForPage', () => {
  it.each([
    ['a tool of the page', call('locate'), tools, true],
    ['another tool', call('remove'), tools, false],
    ['a question with the name of a tool of the page', call('locate', { message: 'Hm?', schema: {} }), tools, false],
    ['a page without tools', call('locate'), undefined, false],
  ])('isForPage: %s', (_, waiting, own, expected) => {
    expect(isForPage(waiting, own)).toBe(expected);
  });
});

describe('untilBroken', () => {
  const text = { type: 'text', text: 'Hi' } as StreamEvent;
  const lost = { type: 'reconnecting', attempt: 1, delay: 1000, at: 1, reason: 'offline' } as StreamEvent;

  it.each([
    ['nothing of a connection that breaks at first', [lost, text], []],
    ['all events of one that breaks later', [text, lost, text], [text, lost, text]],
  ])('untilBroken emits %s', async (_, events, expected) => {
    expect(await lastValueFrom(untilBroken(from(events)).pipe(toArray()))).toEqual(expected);
  });

  it('untilBroken ends at once when the first connection breaks', async () => {
    expect(await lastValueFrom(untilBroken(concat(from([lost]), NEVER)).pipe(toArray()))).toEqual([]);
  });
});

describe('a run that waits, at a service that never says for what', () => {
  const call = { id: 'c1', name: 'order', arguments: {} };
  const message = { role: 'model', parts: [{ type: 'toolCall', ...call }] };
  const exchange = {
    id: 'a',
    run: '8254d21541282c5d08457adda037e96d',
    input: [{ role: 'user', parts: [{ type: 'text', text: 'Order.' }] }],
    messages: [message],
    hasBegun: true,
  };
  const shown = (parts: readonly object[]) => ({
    version: 1,
    exchanges: [{ ...exchange, view: { status: 'waiting', messages: [{ id: '1', role: 'model', parts }], usage: {} } }],
    selected: 'a',
  });

  it.each<[string, object, object | null]>([
    ['no list of calls', {}, null],
    ['an empty list', { waiting: [] }, null],
    ['a call without an event', { waiting: [call], messages: [message] }, null],
    ['a saved chat without its call', { waiting: [call] }, shown([])],
    ['a saved chat with a call of another version', { waiting: [call] }, shown([{ ...message.parts[0], status: 'x' }])],
    ['a saved chat with a part of another version', { waiting: [call] }, shown([{ type: 'call' }])],
  ])('fails: %s', async (_, result, saved) => {
    let requests = 0;
    const events = [
      'event: hello\ndata: {"heartbeat":15000}',
      'event: start\nid: 0\ndata: {}',
      `id: 1\ndata: ${JSON.stringify({ type: 'result', result: { finishReason: 'waiting', messages: [], ...result } })}`,
      'event: end\nretry: 2147483647\ndata: {}\n\n',
    ];
    const fetch = () => {
      requests += 1;
      const headers = { 'content-type': 'text/event-stream' };
      return Promise.resolve(new Response(requests < 100 ? events.join('\n\n') : '', { headers }));
    };
    const agent = remoteAgent('http://service.test', { fetch });
    const chat = conversation(agent, { saved: saved && JSON.stringify(saved) });
    const failed = firstValueFrom(chat.view$.pipe(filter(({ exchanges }) => exchanges.at(-1)?.status === 'failed')));
    if (!saved) chat.send('Order.');
    expect((await failed).status).toBe('failed');
    expect(requests).toBeLessThan(40);
  });
});

describe('a call of an agent in a tool, whose response breaks and is asked again', () => {
  const services: Readonly<Record<string, Partial<ServiceOptions<undefined>>>> = {
    'a service': {},
    'a service that waits in memory': { patience: 60_000 },
    'a service with checkpoints': { checkpoints: true },
  };
  const rows = Object.entries(services).flatMap(([service, options]) =>
    [true, false].flatMap((atMostOnce) => [150, 400, 900].map((click) => ({ service, options, atMostOnce, click }))),
  );

  /** Its agent makes another call with the same id. */
  const createAgents = (pay: Tool) => {
    const broken = { error: Object.assign(new Error('broken'), { retryable: true }) };
    const call = (amount: number) => toolCall('pay', { amount }, 'c');
    const inner = scriptedModel([[call(1), { delay: 200 }, broken], [{ delay: 400 }, call(1_000_000)], 'Paid.']);
    const buyer = createAgent({ model: inner, tools: [pay], eagerTools: true });
    const sub = retryTool(agentTool(buyer, { name: 'sub', description: '' }), { count: 1, delay: 100 });
    return createAgent({ model: scriptedModel([[toolCall('sub', { prompt: 'Pay.' }, 's')], 'Done.']), tools: [sub] });
  };

  it.each(rows)(
    'is executed as it was approved: $service, atMostOnce $atMostOnce, after $click ms',
    ({ options, atMostOnce, click }) =>
      inVirtualTime(async () => {
        const [approved, executed] = [new Set<unknown>(), [] as unknown[]];
        const execute = ({ amount }: Record<string, unknown>) => void executed.push([amount, approved.has(amount)]);
        const pay = tool({ name: 'pay', description: '', needsApproval: true, atMostOnce, execute });
        const handler = agentHandler(createService({ agent: createAgents(pay), ...options }));
        const fetch: typeof globalThis.fetch = (address, init) => handler(new Request(address, init));
        const chat = conversation(remoteAgent('http://service.test', { fetch }));
        const waiting = chat.view$.pipe(
          concatMap(({ waiting: calls }) => calls),
          distinct(({ id, arguments: args }) => id + JSON.stringify(args)),
          delay(click),
        );
        const person = waiting.subscribe(({ id, arguments: args }) => {
          approved.add(args['amount']);
          chat.decide(id, { approve: true });
        });
        chat.send('Go.');
        await firstValueFrom(chat.view$.pipe(filter((view) => JSON.stringify(view.exchanges).includes('Done.'))));
        expect(executed).toEqual([[1_000_000, true]]);
        person.unsubscribe();
        shutDown(handler);
      }),
  );
});
