// The published client of AG-UI against a service on this bridge, over a socket: `npm run test:ag-ui`.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { HttpAgent, transformChunks, verifyEvents } from '@ag-ui/client';
import type { AgentSubscriber, BaseEvent } from '@ag-ui/client';
import * as fc from 'fast-check';
import { concatMap, from, lastValueFrom, map, NEVER, of, Subject, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import { agUiHandler, fetchAgUi, fromAgUi, toAgUi } from '../../../../lib/agUi.js';
import { repairHistory } from '../../../../lib/core/history.js';
import type { RunEvent } from '../../../../lib/core/event.js';
import type { JsonObject } from '../../../../lib/core/json/json.js';
import { progress } from '../../../../lib/core/progress.js';
import { tool } from '../../../../lib/core/tool.js';
import type { Tool } from '../../../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../../../lib/testing/index.js';
import type { Script } from '../../../../lib/testing/index.js';
import { askTool, toView } from '../../../../lib/index.js';
import type { OptionsOf } from '../../../../lib/index.js';
import { callsOf } from '../../../../lib/operators/view/view.js';
import { memoryStore } from '../../../../lib/service/stores/memory/memoryStore.js';
import { nodeListener } from '../../../../lib/service/http/nodeListener.js';
import { nestedAgents, removes } from '../../../support/nestedAgents.js';
import { exampleRun } from '../../../support/runs.js';
import { randomRun } from '../../../chat/agUi/randomRun.js';

/** Serves an agent at a URL, and returns a client of it with its model. */
async function serve(script: Script, ownTools: readonly Tool[] = [], options: OptionsOf<typeof agUiHandler> = {}) {
  const model = scriptedModel(script);
  const served = await serveAgent((tools) => createAgent({ model, tools: [...ownTools, ...tools] }), options);
  return { ...served, model };
}

async function serveAgent(agentFor: Parameters<typeof agUiHandler>[0], options: OptionsOf<typeof agUiHandler> = {}) {
  const handler = agUiHandler(agentFor, options);
  const server = createServer(nodeListener(handler)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { client: new HttpAgent({ url: `http://127.0.0.1:${port}/agent`, threadId: 'thread' }) };
}
const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

const ask = (client: HttpAgent, content: string) => client.addMessage({ id: `u-${content}`, role: 'user', content });
const shown = (client: HttpAgent) =>
  client.messages.map(
    ({ role, content }) => `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}`,
  );
const typesOf = (events: readonly BaseEvent[]) => events.map(({ type }) => type);
const recorder = () => {
  const events: BaseEvent[] = [];
  const subscriber: AgentSubscriber = { onEvent: ({ event }) => void events.push(event) };
  return { events, subscriber };
};

/** Plain JSON Schema: this folder has the zod of the client, which is older than the one that Rivulet uses. */
const textParameter = (name: string) => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name],
});

const weather = tool({
  name: 'weather',
  description: 'The temperature in a city.',
  parameters: textParameter('city'),
  execute: ({ city = '' }) => of(progress('asking'), { city, degrees: 5 }),
});

describe('HttpAgent', () => {
  it('shows sub-agents as such: started, suspended for an approval, and finished', async () => {
    const { client } = await serveAgent(() => nestedAgents([removes]));
    ask(client, 'Hi');
    const { events, subscriber } = recorder();
    await client.runAgent({ runId: 'run-1' }, subscriber);
    const lifecycle = () => typesOf(events).filter((type) => type.startsWith('SUBAGENT'));
    const started = ['SUBAGENT_STARTED', 'SUBAGENT_STARTED'];
    const finished = ['SUBAGENT_FINISHED', 'SUBAGENT_FINISHED'];
    assert.deepEqual(lifecycle(), [...started, ...finished]);
    events.length = 0;
    const resume = [{ interruptId: 'a/a/a', status: 'resolved' as const, payload: { approved: true } }];
    await client.runAgent({ runId: 'run-2', resume }, subscriber);
    assert.deepEqual(lifecycle(), [...started, ...finished]);
    assert.equal(client.messages.at(-1)?.content, 'All done.');
  });

  it('approves a call of an inner agent after the service has restarted, as if nothing had happened', async () => {
    const store = memoryStore();
    const before = await serveAgent(() => nestedAgents([removes]), { store });
    ask(before.client, 'Hi');
    await before.client.runAgent({ runId: 'run-1' });
    closing.splice(0).forEach((close) => close()); // the process is gone; the store is not
    const { client } = await serveAgent(() => nestedAgents([removes]), { store });
    client.setMessages(before.client.messages);
    const { events, subscriber } = recorder();
    const resume = [{ interruptId: 'a/a/a', status: 'resolved' as const, payload: { approved: true } }];
    await client.runAgent({ runId: 'run-2', resume }, subscriber);
    const undisturbed = await serveAgent(() => nestedAgents([removes]));
    ask(undisturbed.client, 'Hi');
    await undisturbed.client.runAgent({ runId: 'run-1' });
    const expected = recorder();
    await undisturbed.client.runAgent({ runId: 'run-2', resume }, expected.subscriber);
    assert.deepEqual(typesOf(events), typesOf(expected.events));
    assert.deepEqual(shown(client), shown(undisturbed.client));
    assert.equal(client.messages.at(-1)?.content, 'All done.');
  });

  it('completes a run with reasoning, text and a tool of the server', async () => {
    const script: Script = [
      [{ type: 'thinking', text: 'Which city?' }, 'Let me see.', toolCall('weather', { city: 'Oslo' }, 'c1')],
      ['It is ', '5 °C.'],
    ];
    const { client } = await serve(script, [weather]);
    const { events, subscriber } = recorder();
    ask(client, 'How warm is it?');
    await client.runAgent({}, subscriber);
    assert.deepEqual(shown(client), [
      'user: How warm is it?',
      'reasoning: Which city?',
      'assistant: Let me see.',
      'tool: {"city":"Oslo","degrees":5}',
      'assistant: It is 5 °C.',
    ]);
    const [call] = client.messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []) : [],
    );
    assert.deepEqual(call?.function, { name: 'weather', arguments: '{"city":"Oslo"}' });
    const custom = events.filter(({ type }) => type === 'CUSTOM').map((event) => (event as { name?: string }).name);
    assert.deepEqual(custom, ['rivulet.toolStart', 'rivulet.toolProgress', 'rivulet.turn', 'rivulet.turn']);
    assert.equal(events.at(-1)?.type, 'RUN_FINISHED');
  });

  it('continues the conversation in the next run', async () => {
    const { client, model } = await serve(['Hello Ann.', 'Your name is Ann.']);
    for (const prompt of ['I am Ann.', 'Who am I?']) {
      ask(client, prompt);
      await client.runAgent();
    }
    assert.deepEqual(
      model.requests[1]?.messages.map(({ role, parts }) => `${role}: ${(parts[0] as { text: string }).text}`),
      ['user: I am Ann.', 'model: Hello Ann.', 'user: Who am I?'],
    );
    assert.equal(new Set(client.messages.map(({ id }) => id)).size, 4);
  });

  it('executes a tool of its own, and the run continues with the result', async () => {
    const signature = { scripted: { signature: 's' } };
    const script: Script = [
      ['One moment.', { ...toolCall('confirm', { question: 'Sure?' }, 'c1'), providerData: signature }],
      'Thank you.',
    ];
    const { client, model } = await serve(script);
    const tools = [
      {
        name: 'confirm',
        description: 'Asks the user.',
        parameters: textParameter('question'),
      },
    ];
    let pending: readonly string[] = [];
    const onRunFinishedEvent: AgentSubscriber['onRunFinishedEvent'] = (params) => {
      pending = params.outcome === 'success' ? params.pendingToolCallIds : [];
    };
    ask(client, 'Delete it.');
    await client.runAgent({ tools }, { onRunFinishedEvent });
    assert.deepEqual(pending, ['c1']);
    assert.deepEqual(
      model.requests[0]?.tools?.map(({ name }) => name),
      ['confirm'],
    );

    client.addMessage({ id: 'answer', role: 'tool', toolCallId: 'c1', content: '{"sure":true}' });
    await client.runAgent({ tools }, { onRunFinishedEvent });
    assert.deepEqual(pending, []);
    assert.deepEqual(shown(client), [
      'user: Delete it.',
      'assistant: One moment.',
      'tool: {"sure":true}',
      'assistant: Thank you.',
    ]);
    const [, called, answered] = model.requests[1]?.messages ?? [];
    assert.deepEqual(called?.parts[1], {
      type: 'toolCall',
      id: 'c1',
      name: 'confirm',
      arguments: { question: 'Sure?' },
      providerData: signature,
    });
    assert.deepEqual(answered?.parts, [{ type: 'toolResult', id: 'c1', name: 'confirm', result: { sure: true } }]);
  });

  it('may ask something else instead of executing its tool', async () => {
    const { client, model } = await serve([[toolCall('confirm', {}, 'c1')], 'Never mind.']);
    const tools = [{ name: 'confirm', description: 'Asks the user.' }];
    ask(client, 'Delete it.');
    await client.runAgent({ tools });
    ask(client, 'Forget it.');
    await client.runAgent({ tools });
    assert.equal(shown(client).at(-1), 'assistant: Never mind.');
    const results = repairHistory(model.requests[1]?.messages ?? []).flatMap(({ parts }) =>
      parts.filter((part) => part.type === 'toolResult'),
    );
    assert.deepEqual(
      results.map(({ code }) => code),
      ['cancelled'], // as every provider receives it
    );
  });
});

describe('an approval', () => {
  const sent: string[] = [];
  const send = tool({
    name: 'send',
    description: 'Sends a mail.',
    parameters: textParameter('to'),
    needsApproval: true,
    execute: ({ to }) => (sent.push(String(to)), 'sent'),
  });
  const waitingRun = async () => {
    sent.length = 0;
    const served = await serve([[toolCall('send', { to: 'ann' }, 'c1')], 'Done.'], [send]);
    ask(served.client, 'Write to Ann.');
    const { events, subscriber } = recorder();
    await served.client.runAgent({}, subscriber);
    assert.deepEqual(typesOf(events).slice(-2), ['MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
    assert.deepEqual(sent, []);
    return served;
  };

  it('is an interrupt, and the call runs once it is resolved', async () => {
    const { client } = await waitingRun();
    const [interrupt] = client.pendingInterrupts;
    assert.equal(interrupt?.reason, 'tool_call');
    assert.equal(interrupt.toolCallId, 'c1');
    assert.match(interrupt.message ?? '', /send/);
    await client.runAgent({ resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }] });
    assert.deepEqual(sent, ['ann']);
    assert.deepEqual(client.pendingInterrupts, []);
    assert.deepEqual(shown(client), ['user: Write to Ann.', 'assistant: undefined', 'tool: sent', 'assistant: Done.']);
  });

  it('may change the arguments', async () => {
    const { client } = await waitingRun();
    const payload = { approved: true, editedArgs: { to: 'bob' } };
    await client.runAgent({ resume: [{ interruptId: 'c1', status: 'resolved', payload }] });
    assert.deepEqual(sent, ['bob']);
  });

  it('that is denied or cancelled does not run the call', async () => {
    for (const entry of [
      { interruptId: 'c1', status: 'resolved', payload: { approved: false, reason: 'Not today.' } },
      { interruptId: 'c1', status: 'cancelled' },
    ] as const) {
      const { client, model } = await waitingRun();
      await client.runAgent({ resume: [entry] });
      assert.deepEqual(sent, []);
      assert.match(JSON.stringify(model.requests[1]?.messages.at(-1)), /denied/);
    }
  });

  it('can be answered once, and only with a decision', async () => {
    const { client } = await waitingRun();
    const copy = client.clone();
    const resume = (payload: unknown) => ({ resume: [{ interruptId: 'c1', status: 'resolved' as const, payload }] });
    const errors: string[] = [];
    const onRunErrorEvent: AgentSubscriber['onRunErrorEvent'] = ({ event }) => void errors.push(event.message);
    await client.runAgent(resume('yes'), { onRunErrorEvent });
    assert.match(errors[0] ?? '', /"approved"/);
    await client.runAgent(resume({ approved: true }), { onRunErrorEvent });
    await copy.runAgent(resume({ approved: true }), { onRunErrorEvent });
    assert.match(errors[1] ?? '', /no run waits/);
    assert.deepEqual(sent, ['ann']);
  });

  it('and a tool of the client can wait at the same time', async () => {
    sent.length = 0;
    const script: Script = [[toolCall('send', { to: 'ann' }, 'c1'), toolCall('confirm', {}, 'c2')], 'Done.'];
    const { client } = await serve(script, [send]);
    const tools = [{ name: 'confirm', description: 'Asks the user.' }];
    ask(client, 'Write to Ann.');
    await client.runAgent({ tools });
    assert.deepEqual(
      client.pendingInterrupts.map(({ id }) => id),
      ['c1'],
    );
    client.addMessage({ id: 'answer', role: 'tool', toolCallId: 'c2', content: 'yes' });
    await client.runAgent({ tools, resume: [{ interruptId: 'c1', status: 'resolved', payload: true }] });
    assert.deepEqual(sent, ['ann']);
    assert.deepEqual(shown(client).slice(2), ['tool: yes', 'tool: sent', 'assistant: Done.']);
  });
});

describe('a question', () => {
  const paid: unknown[] = [];
  const account = {
    ...textParameter('account'),
    validate: ({ account: value }: JsonObject) => ({ account: text(value) }),
  };
  const text = (value: unknown) => {
    if (typeof value !== 'string') throw new Error('not a text');
    return value;
  };
  const pay = askTool({
    name: 'pay',
    description: 'Pays an invoice.',
    execute: (_, { ask: question, once: step }) =>
      question({ message: 'Which account?', schema: account, details: { amount: 5 }, within: 60_000 }).pipe(
        concatMap((answer) => step('payment', () => void paid.push(answer.account))),
        concatMap(() => question({ message: 'Send a receipt?', schema: textParameter('mail') })),
        map(({ mail }) => `sent to ${String(mail)}`),
      ),
  });
  const asking = async () => {
    paid.length = 0;
    const served = await serve([[toolCall('pay', {}, 'c1')], 'Done.'], [pay]);
    ask(served.client, 'Pay.');
    await served.client.runAgent();
    return served;
  };
  const answer = (payload: unknown, interruptId = 'c1/1') => ({
    resume: [{ interruptId, status: 'resolved' as const, payload }],
  });

  it('is an interrupt with the schema of its answer, and the call goes on with the answer', async () => {
    const { client } = await asking();
    const [{ expiresAt, ...interrupt } = {}] = client.pendingInterrupts as Record<string, unknown>[];
    assert.ok(Date.parse(String(expiresAt)) > Date.now());
    assert.deepEqual(interrupt, {
      id: 'c1/1',
      toolCallId: 'c1',
      subagentRunId: 'c1',
      reason: 'input_required',
      message: 'Which account?',
      responseSchema: textParameter('account'),
      metadata: { details: { amount: 5 } },
    });
    await client.runAgent(answer({ account: 5 }));
    assert.equal(client.pendingInterrupts[0]?.id, 'c1/1');
    assert.deepEqual(client.pendingInterrupts[0].metadata, { problem: 'not a text', details: { amount: 5 } });
    await client.runAgent(answer({ account: 'A' }));
    assert.deepEqual(
      client.pendingInterrupts.map(({ message }) => message),
      ['Send a receipt?'],
    );
    await client.runAgent(answer({ mail: 'ann' }, 'c1/2'));
    assert.deepEqual(paid, ['A']);
    assert.deepEqual(shown(client).slice(-2), ['tool: sent to ann', 'assistant: Done.']);
  });

  it('that is cancelled is declined', async () => {
    const { client, model } = await asking();
    await client.runAgent({ resume: [{ interruptId: 'c1/1', status: 'cancelled' }] });
    assert.deepEqual(paid, []);
    assert.match(JSON.stringify(model.requests[1]?.messages.at(-1)), /denied/);
  });

  it('is a question of the result in the other direction, with the id that answers it', async () => {
    const { client } = await serve([[toolCall('pay', {}, 'c1')], 'Done.'], [pay]);
    const messages = [{ id: '1', role: 'user' as const, content: 'Pay.' }];
    const run = async (more: object) => {
      const input = { threadId: 't', runId: 'r', messages, tools: [], context: [], ...more };
      const events = await lastValueFrom(fetchAgUi(client.url, input).pipe(fromAgUi({ messages }), toArray()));
      const waits = events.filter(({ type }) => type === 'toolWaiting');
      assert.deepEqual(waits, []); // the run inside the call has told it
      const view = await lastValueFrom(from(events as RunEvent[]).pipe(toView()));
      const end = events.at(-1);
      return { waiting: end?.type === 'result' ? end.result.waiting : undefined, view };
    };
    const { waiting: [call] = [], view } = await run({});
    assert.equal(call?.id, 'c1/1');
    assert.deepEqual(call.path, ['c1', '1']);
    assert.equal(call.question?.message, 'Which account?');
    assert.deepEqual(call.question.schema, textParameter('account'));
    assert.deepEqual(
      callsOf(view).map(({ id, status, question }) => [id, status, question?.message]),
      [
        ['c1', 'waiting', undefined],
        ['c1/1', 'waiting', 'Which account?'],
      ],
    );
    const next = await run(answer({ account: 'A' }, call.id));
    assert.equal(next.waiting?.[0]?.id, 'c1/2');
  });
});

describe('the end of a run', () => {
  it('abortRun aborts the running tool of the server', async () => {
    const started = new Subject<void>();
    let aborted: (() => void) | undefined;
    const whenAborted = new Promise<void>((resolve) => (aborted = resolve));
    const wait = tool({
      name: 'wait',
      description: 'Waits.',
      execute: (_, { signal }) => {
        signal.addEventListener('abort', () => aborted?.());
        started.complete();
        return NEVER;
      },
    });
    const { client } = await serve([[toolCall('wait')]], [wait]);
    ask(client, 'Wait.');
    const run = client.runAgent();
    await lastValueFrom(started, { defaultValue: undefined });
    client.abortRun();
    await Promise.all([whenAborted, run]);
  });

  it('a failure is a RUN_ERROR without details of the server, and the next run works', async () => {
    const { client } = await serve([['Half', { error: new Error('the key sk-1') }], 'Whole.'], [], {});
    const { events, subscriber } = recorder();
    ask(client, 'Go.');
    await client.runAgent({}, subscriber);
    assert.deepEqual(typesOf(events).slice(-2), ['TEXT_MESSAGE_END', 'RUN_ERROR']);
    assert.deepEqual(events.at(-1), { type: 'RUN_ERROR', message: 'The run failed.', code: 'internal' });
    await client.runAgent();
    assert.equal(shown(client).at(-1), 'assistant: Whole.');
  });

  it('a request that is not valid is refused with a status', async () => {
    const { client } = await serve([]);
    for (const [type, body, status] of [
      ['application/json', '{', 400],
      ['application/json', '{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":5}]}', 400],
      ['application/json', 'x'.repeat(1_000_001), 413],
      ['text/plain', '{"threadId":"t","runId":"r","messages":[]}', 415],
    ] as const) {
      const response = await fetch(client.url, { method: 'POST', headers: { 'content-type': type }, body });
      assert.equal(response.status, status, body.slice(0, 80));
    }
  });

  it('a text that was retracted disappears from the messages of the client', async () => {
    const { client } = await serve([['Void', { type: 'retract' }, 'It is 5 °C.']]);
    ask(client, 'How warm is it?');
    await client.runAgent();
    assert.deepEqual(shown(client), ['user: How warm is it?', 'assistant: It is 5 °C.']);
  });
});

describe('fromAgUi', () => {
  it('converts what HttpAgent receives, and what fetchAgUi receives', async () => {
    const { client } = await serve(() => [{ type: 'thinking', text: 'Hm.' }, 'It is ', '5 °C.']);
    const messages = [{ id: '1', role: 'user' as const, content: 'How warm is it?' }];
    const input = { threadId: 't', runId: 'r', messages, tools: [], context: [] };
    for (const events$ of [client.run(input), fetchAgUi(client.url, input)]) {
      const events = await lastValueFrom((events$ as Observable<BaseEvent>).pipe(fromAgUi(), toArray()));
      const result = events.find((event) => event.type === 'result');
      assert.equal(result?.type === 'result' && result.result.text, 'It is 5 °C.');
    }
  });
});

/** What the published client makes of events: it fails on the first one that is out of order. */
const verified = (events: Observable<unknown>) =>
  lastValueFrom((events as Observable<BaseEvent>).pipe(transformChunks(), verifyEvents(), toArray()));
const request = { threadId: 't', runId: 'r', messages: [], tools: [] };

describe('verifyEvents', () => {
  it('accepts a run with two turns, tools, fragments and a retracted attempt', async () => {
    for (const fragments of [true, false])
      assert.ok((await verified(exampleRun({ fragments }).pipe(toAgUi(request)))).length > 20);
  });

  it('accepts every run, complete, failed or left', async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (events) => {
        const run$ = events.pipe(toAgUi(request));
        const seen = await lastValueFrom(run$.pipe(toArray()));
        const received = await verified(from(seen));
        assert.ok(received.length >= 2);
      }),
      { numRuns: 500 },
    );
  });
});
