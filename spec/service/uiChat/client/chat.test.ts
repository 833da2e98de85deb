// The published client against uiChatHandler, over a real socket: `npm run test:ai-sdk-ui`.
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { concat, concatMap, finalize, NEVER, of, Subject } from 'rxjs';
import { askTool, createAgent, tool, typed } from 'rivulet';
import type { Chunk, ModelRequest } from 'rivulet';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { memoryStore } from 'rivulet/service';
import * as z from 'zod';
import { nestedAgents, removes } from '../../../support/nestedAgents.js';
import { closePages, openChat, sdks, shown, textOf, toolsOf } from './browser.js';
import type { Helpers, UIMessage } from './browser.js';
import { closeServices, serve } from './service.js';

afterEach(() => {
  closePages();
  closeServices();
});

const isReady = ({ status, messages }: Helpers) => status === 'ready' && messages.at(-1)?.role === 'assistant';
const says = (text: string) => (chat: Helpers) => isReady(chat) && textOf(chat).endsWith(text);

/** What a request contains, in short. */
const summary = ({ messages }: ModelRequest): readonly string[] =>
  messages.flatMap(({ role, parts }) =>
    parts.map((part) => {
      if (part.type === 'text') return `${role}: ${part.text}`;
      if (part.type === 'toolCall') return `${role} calls ${part.name}`;
      return part.type === 'toolResult'
        ? `${role} ${part.error ?? JSON.stringify(part.result)}`
        : `${role} ${part.type}`;
    }),
  );

const weather = tool({
  name: 'weather',
  description: 'Returns the weather.',
  parameters: z.object({ city: z.string() }),
  execute: () => ({ degrees: 7 }),
});
const locate = tool({ name: 'locate', description: 'Locates the user.', result: z.object({ city: z.string() }) });

/** A tool that needs an approval, and how often it was executed. */
function payment() {
  const seen = { executed: 0 };
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => `paid ${amount}, ${++seen.executed} times`,
  });
  return { pay, seen };
}

const count = z.object({ count: z.number() });

/** A tool that asks, and what it has done. */
function ordering() {
  const seen: unknown[] = [];
  const order = askTool({
    name: 'order',
    description: 'Orders.',
    execute: (_, { ask, once }) =>
      once('prepare', () => void seen.push('prepared')).pipe(
        concatMap(() => ask({ message: 'How many?', schema: count, details: { max: 9 } })),
        concatMap((answer) => once('order', () => (seen.push(answer.count), `ordered ${answer.count}`))),
      ),
  });
  return { order, seen };
}

/** A tool that runs until it is aborted, or until `end` is called. */
function longTool(options: { readonly needsApproval?: boolean } = {}) {
  const started = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const result = new Subject<string>();
  const long = tool({
    name: 'long',
    description: 'Takes long.',
    ...options,
    execute: (_, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve());
      started.resolve();
      return result;
    },
  });
  const end = (value: string) => {
    result.next(value);
    result.complete();
  };
  return { long, end, started: started.promise, aborted: aborted.promise };
}

for (const sdk of sdks) {
  const { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } = sdk.ai;
  const whenDecided = { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses };
  const whenAnswered = { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls };

  describe(`useChat of ai ${sdk.major}`, () => {
    it('shows a run with a tool of the server, with its thinking, its sources and its usage', async () => {
      const usage = { input: 5, output: 3 };
      const model = scriptedModel([
        [
          { type: 'thinking', text: 'Hm.' },
          'Let me see.',
          toolCall('weather', { city: 'Oslo' }, 'c1'),
          { type: 'finish', reason: 'toolCalls', usage },
        ],
        [
          { type: 'source', source: { type: 'source', url: 'https://example.com/', title: 'Weather' } },
          { type: 'source', source: { type: 'source', title: 'Report', text: 'It is mild.' } },
          'It is ',
          '7 °C.',
          { type: 'finish', reason: 'stop', usage },
        ],
      ]);
      const tools = [weather];
      const page = await openChat(sdk, await serve(createAgent({ model, tools }), { tools }));
      await page.chat.sendMessage({ text: 'How warm is it?' });
      const chat = await page.until(isReady);
      assert.deepEqual(shown(chat), [
        'reasoning Hm.',
        'text Let me see.',
        'tool-weather output-available',
        'source-url Weather',
        'source-document Report',
        'text It is 7 °C.',
      ]);
      assert.deepEqual(toolsOf(chat)[0]?.output, { degrees: 7 });
      assert.deepEqual(chat.messages.at(-1)?.metadata, { finishReason: 'stop', usage: { input: 10, output: 6 } });
    });

    it('shows a prompt that joined the run, and the answer after it', async () => {
      const model = scriptedModel(['It is warm.', 'It is 7 °C.', 'It is 45 °F.']);
      const agent = createAgent({ model });
      const prompted: typeof agent = Object.assign(Object.create(agent) as typeof agent, {
        stream: (...[input, options]: Parameters<typeof agent.stream>) =>
          agent.stream(input, { ...options, ...(model.requests.length === 0 ? { prompts: of('In Celsius.') } : {}) }),
      });
      const page = await openChat(sdk, await serve(prompted, { version: sdk.major }));
      await page.chat.sendMessage({ text: 'How warm is it?' });
      const chat = await page.until(says('It is 7 °C.'));
      const types = chat.messages.at(-1)?.parts.map(({ type }) => type);
      const expected = ['step-start', 'text', ...(sdk.major === 7 ? ['steering-message'] : []), 'step-start', 'text'];
      assert.deepEqual(types, expected);
      await page.chat.sendMessage({ text: 'And in Fahrenheit?' });
      await page.until(says('It is 45 °F.'));
      assert.deepEqual(summary(model.requests[2] ?? { messages: [] }), [
        'user: How warm is it?',
        'model: It is warm.',
        'user: In Celsius.',
        'model: It is 7 °C.',
        'user: And in Fahrenheit?',
      ]);
    });

    it('shows the input of a call while it grows, and the progress of its tool', async () => {
      const rest = new Subject<Chunk>();
      const first = of<Chunk>({
        type: 'toolCallFragment',
        index: 0,
        id: 'c1',
        name: 'weather',
        arguments: '{"city":"Os',
      });
      const result = new Subject<string>();
      const slow = tool({
        name: 'weather',
        description: 'Returns the weather.',
        parameters: z.object({ city: z.string() }),
        execute: ({ city }, { progress }) => {
          progress(`asking ${city}`);
          return result;
        },
      });
      const agent = createAgent({ model: scriptedModel([concat(first, rest), 'Warm.']), tools: [slow] });
      const page = await openChat(sdk, await serve(agent));
      const sent = page.chat.sendMessage({ text: 'How warm is it?' });
      const growing = toolsOf(await page.until((chat) => toolsOf(chat)[0]?.input !== undefined))[0];
      assert.deepEqual([growing?.state, growing?.input], ['input-streaming', { city: 'Os' }]);
      rest.next({ type: 'toolCallFragment', index: 0, arguments: 'lo"}' });
      rest.next({ type: 'finish', reason: 'toolCalls' });
      rest.complete();
      const running = toolsOf(await page.until((chat) => toolsOf(chat)[0]?.output !== undefined))[0];
      assert.deepEqual([running?.state, running?.output], ['output-available', 'asking Oslo']);
      result.next('warm');
      result.complete();
      await sent;
      assert.deepEqual(toolsOf(await page.until(says('Warm.')))[0]?.output, 'warm');
    });

    it('executes a tool of the browser, and continues by itself', async () => {
      const model = scriptedModel([
        ['One moment.', toolCall('locate', {}, 'c1'), toolCall('weather', { city: 'Rome' })],
        'You are in Oslo.',
      ]);
      const tools = [locate, weather];
      const page = await openChat(sdk, await serve(createAgent({ model, tools }), { tools }), {
        ...whenAnswered,
        onToolCall: ({ toolCall: { toolName, toolCallId } }) => {
          if (toolName === 'locate')
            void page.chat.addToolOutput({ tool: 'locate', toolCallId, output: { city: 'Oslo' } });
        },
      });
      await page.chat.sendMessage({ text: 'Where am I?' });
      const chat = await page.until(says('You are in Oslo.'));
      assert.equal(chat.messages.length, 2);
      assert.deepEqual(shown(chat), [
        'text One moment.',
        'tool-locate output-available',
        'tool-weather output-available',
        'text You are in Oslo.',
      ]);
      assert.deepEqual(model.requests.map(summary).at(-1)?.slice(-2), ['user {"city":"Oslo"}', 'user {"degrees":7}']);
    });

    it('reports the failure of a tool of the browser to the model', async () => {
      const model = scriptedModel([[toolCall('locate', {}, 'c1')], 'Then tell me.']);
      const tools = [locate];
      const page = await openChat(sdk, await serve(createAgent({ model, tools }), { tools }), whenAnswered);
      await page.chat.sendMessage({ text: 'Where am I?' });
      await page.until(isReady);
      const failed = { tool: 'locate', toolCallId: 'c1', state: 'output-error', errorText: 'No position.' } as const;
      await page.chat.addToolOutput(failed);
      assert.deepEqual(shown(await page.until(says('Then tell me.')))[0], 'tool-locate output-error');
      assert.equal(summary(model.requests[1] as ModelRequest).at(-1), 'user No position.');
    });

    it('asks for an approval, executes the call once, and continues by itself', async () => {
      const { pay, seen } = payment();
      const model = scriptedModel([[toolCall('pay', { amount: 5 }, 'c1')], 'Done.', 'You are welcome.']);
      const page = await openChat(sdk, await serve(createAgent({ model, tools: [pay] })), whenDecided);
      await page.chat.sendMessage({ text: 'Pay 5.' });
      const waiting = toolsOf(await page.until(isReady))[0];
      assert.deepEqual([waiting?.state, waiting?.input], ['approval-requested', { amount: 5 }]);
      assert.equal(seen.executed, 0);
      await page.chat.addToolApprovalResponse({ id: waiting?.approval?.id ?? '', approved: true });
      const chat = await page.until(says('Done.'));
      assert.deepEqual(shown(chat), ['tool-pay output-available', 'text Done.']);
      assert.equal(toolsOf(chat)[0]?.output, 'paid 5, 1 times');
      await page.chat.sendMessage({ text: 'Thanks.' });
      await page.until(says('You are welcome.'));
      assert.deepEqual(summary(model.requests[2] as ModelRequest), [
        'user: Pay 5.',
        'model calls pay',
        'user "paid 5, 1 times"',
        'model: Done.',
        'user: Thanks.',
      ]);
    });

    it('approves one call after the other, and shows a page that is behind why its late answer is refused', async () => {
      const { pay, seen } = payment();
      const calls = [[toolCall('pay', { amount: 5 }, 'c1')], [toolCall('pay', { amount: 6 }, 'c2')], 'Done.'] as const;
      const api = await serve(createAgent({ model: scriptedModel(calls), tools: [pay] }));
      const page = await openChat(sdk, api, { ...whenDecided, id: 'chat1' });
      await page.chat.sendMessage({ text: 'Pay 5 and 6.' });
      const { messages } = await page.until(isReady);
      const late = await openChat(sdk, api, { ...whenDecided, id: 'chat1', messages });
      await page.chat.addToolApprovalResponse({ id: 'c1', approved: true });
      await page.until((chat) => isReady(chat) && toolsOf(chat)[1]?.state === 'approval-requested');
      await late.chat.addToolApprovalResponse({ id: 'c1', approved: false });
      const { error } = await late.until(({ status }) => status === 'error');
      assert.match(String(error), /answered already/);
      await page.chat.addToolApprovalResponse({ id: 'c2', approved: true });
      const chat = await page.until(says('Done.'));
      assert.deepEqual(shown(chat), ['tool-pay output-available', 'tool-pay output-available', 'text Done.']);
      assert.equal(seen.executed, 2);
    });

    it('shows the agents behind a tool, and approves a call of the inner one after the service has restarted', async () => {
      const store = memoryStore();
      const before = await openChat(sdk, await serve(nestedAgents([removes]), { store, version: sdk.major }), {
        ...whenDecided,
        id: 'chat1',
      });
      await before.chat.sendMessage({ text: 'Remove it.' });
      const { messages } = await before.until(isReady);
      const calls = toolsOf(before.chat);
      assert.deepEqual(
        calls.map(({ toolCallId, state }) => `${toolCallId} ${state}`),
        ['a output-available', 'a/a/a approval-requested'],
      );
      assert.match(JSON.stringify(calls[0]?.output), /"I ask. ".*"a\/a".*"waiting"/);
      before.close();
      closeServices(); // the process is gone; the store is not
      const api = await serve(nestedAgents([removes]), { store, version: sdk.major });
      const page = await openChat(sdk, api, { ...whenDecided, id: 'chat1', messages });
      await page.chat.addToolApprovalResponse({ id: 'a/a/a', approved: true });
      const chat = await page.until(says('All done.'));
      assert.deepEqual(
        toolsOf(chat).map(({ toolCallId, output }) => `${toolCallId} ${JSON.stringify(output)}`),
        ['a "It says so."', 'a/a/a "removed /a"'],
      );
    });

    it('shows a question of a tool with its schema, and answers it, also after a wrong answer', async () => {
      const { order, seen } = ordering();
      const model = scriptedModel([[toolCall('order', {}, 'c1')], 'Done.', 'You are welcome.']);
      const page = await openChat(
        sdk,
        await serve(createAgent({ model, tools: [order] }), { version: sdk.major }),
        whenAnswered,
      );
      await page.chat.sendMessage({ text: 'Order.' });
      const asks = (problem?: string) => (chat: Helpers) => {
        const part = toolsOf(chat).find(({ type }) => type === 'tool-ask');
        const input = part?.input as { readonly problem?: string } | undefined;
        return isReady(chat) && part?.state === 'input-available' && input?.problem === problem;
      };
      const [, question] = toolsOf(await page.until(asks()));
      assert.equal(question?.toolCallId, 'c1/1');
      const schema = { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] };
      assert.deepEqual(question.input, { message: 'How many?', schema, details: { max: 9 } });
      const answer = (output: unknown) => page.chat.addToolOutput({ tool: 'ask', toolCallId: 'c1/1', output });
      await answer({ count: 'x' });
      await page.until(asks('count: Invalid input: expected number, received string'));
      await answer({ count: 3 });
      const chat = await page.until(says('Done.'));
      assert.deepEqual(
        toolsOf(chat).map(({ toolCallId, output }) => [toolCallId, output]),
        [
          ['c1', 'ordered 3'],
          ['c1/1', { count: 3 }],
        ],
      );
      await page.chat.sendMessage({ text: 'Thanks.' });
      await page.until(says('You are welcome.'));
      assert.deepEqual(seen, ['prepared', 3]);
    });

    it('declines a question with an error, with its text as the reason', async () => {
      const { order, seen } = ordering();
      const model = scriptedModel([[toolCall('order', {}, 'c1')], 'Then not.']);
      const page = await openChat(
        sdk,
        await serve(createAgent({ model, tools: [order] }), { version: sdk.major }),
        whenAnswered,
      );
      await page.chat.sendMessage({ text: 'Order.' });
      await page.until(isReady);
      const declined = { tool: 'ask', toolCallId: 'c1/1', state: 'output-error', errorText: 'Too many.' } as const;
      await page.chat.addToolOutput(declined);
      assert.equal(toolsOf(await page.until(says('Then not.')))[1]?.state, 'output-error');
      assert.match(summary(model.requests[1] as ModelRequest).at(-1) ?? '', /denied.*Too many/);
      assert.deepEqual(seen, ['prepared']);
    });

    it('denies a call, with the reason for the model', async () => {
      const { pay, seen } = payment();
      const model = scriptedModel([[toolCall('pay', { amount: 5 }, 'c1')], 'I see.']);
      const page = await openChat(sdk, await serve(createAgent({ model, tools: [pay] })), whenDecided);
      await page.chat.sendMessage({ text: 'Pay 5.' });
      await page.until(isReady);
      await page.chat.addToolApprovalResponse({ id: 'c1', approved: false, reason: 'Too much.' });
      assert.deepEqual(shown(await page.until(says('I see.'))), ['tool-pay output-denied', 'text I see.']);
      assert.equal(seen.executed, 0);
      assert.equal(
        summary(model.requests[1] as ModelRequest).at(-1),
        'user The user denied the call. Reason: Too much.',
      );
    });

    it('takes a decision and an output for the calls of one turn', async () => {
      const { pay } = payment();
      const model = scriptedModel([[toolCall('locate', {}, 'c1'), toolCall('pay', { amount: 5 }, 'c2')], 'Done.']);
      const tools = [locate, pay];
      const page = await openChat(sdk, await serve(createAgent({ model, tools }), { tools }), whenDecided);
      await page.chat.sendMessage({ text: 'Pay here.' });
      assert.deepEqual(shown(await page.until(isReady)), [
        'tool-locate input-available',
        'tool-pay approval-requested',
      ]);
      await page.chat.addToolOutput({ tool: 'locate', toolCallId: 'c1', output: { city: 'Oslo' } });
      await page.chat.addToolApprovalResponse({ id: 'c2', approved: true });
      await page.until(says('Done.'));
      assert.deepEqual(summary(model.requests[1] as ModelRequest).slice(-2), [
        'user {"city":"Oslo"}',
        'user "paid 5, 1 times"',
      ]);
    });

    it('sends no more when the user leaves an approval open and writes something else', async () => {
      const { pay, seen } = payment();
      const model = scriptedModel([[toolCall('pay', { amount: 5 }, 'c1')], 'As you like.']);
      const page = await openChat(sdk, await serve(createAgent({ model, tools: [pay] })), whenDecided);
      await page.chat.sendMessage({ text: 'Pay 5.' });
      await page.until(isReady);
      await page.chat.sendMessage({ text: 'Never mind.' });
      await page.until(says('As you like.'));
      assert.deepEqual([seen.executed, model.requests.length], [0, 2]);
    });

    it('aborts the tool of the server when the user stops, and the next message has a valid history', async () => {
      const { long, started, aborted } = longTool();
      const model = scriptedModel([['One moment.', toolCall('long', {}, 'c1')], 'Hello again.']);
      const page = await openChat(sdk, await serve(createAgent({ model, tools: [long] })), whenAnswered);
      const sent = page.chat.sendMessage({ text: 'Go.' });
      await Promise.all([started, page.until((chat) => toolsOf(chat)[0]?.state === 'input-available')]);
      await page.chat.stop();
      await Promise.all([sent, aborted]);
      const chat = await page.until(({ status }) => status === 'ready');
      assert.deepEqual(shown(chat), ['text One moment.', 'tool-long input-available']);
      await page.chat.sendMessage({ text: 'Hello?' });
      await page.until(says('Hello again.'));
      const history = summary(model.requests[1] as ModelRequest);
      assert.deepEqual(
        [history[0], ...history.slice(1).filter((line) => !line.includes('cancelled'))],
        ['user: Go.', 'model: One moment.', 'model calls long', 'user: Hello?'],
      );
    });

    it('stops a run that outlives its connection with DELETE, and does not send it again', async () => {
      const { long, started, aborted } = longTool();
      const model = scriptedModel([['One moment.', toolCall('long', {}, 'c1')]]);
      const api = await serve(createAgent({ model, tools: [long] }), { grace: 60_000 });
      const page = await openChat(sdk, api, { ...whenAnswered, id: 'chat1' });
      const sent = page.chat.sendMessage({ text: 'Go.' });
      await started;
      const { status } = await fetch(`${api}/chat1/stream`, { method: 'DELETE' });
      await Promise.all([sent, aborted]);
      const chat = await page.until(isReady);
      assert.equal(status, 204);
      assert.deepEqual(shown(chat), ['text One moment.', 'tool-long output-error']);
      assert.equal((chat.messages.at(-1)?.metadata ?? {})['finishReason'], 'stopped');
      assert.equal(model.requests.length, 1);
    });

    it('does not send a run again that has reached its last turn', async () => {
      const model = scriptedModel(() => [toolCall('weather', { city: 'Oslo' })]);
      const agent = createAgent({ model, tools: [weather], maxTurns: 2 });
      const page = await openChat(sdk, await serve(agent), whenAnswered);
      await page.chat.sendMessage({ text: 'Go.' });
      await page.until(isReady);
      assert.equal(model.requests.length, 2);
    });

    it('shows an error without details of the server, keeps what it has, and regenerates', async () => {
      const secret = new Error('postgres://admin:hunter2@db');
      const model = scriptedModel([['Hel', { error: secret }], 'Hello.']);
      const page = await openChat(sdk, await serve(createAgent({ model })));
      await page.chat.sendMessage({ text: 'Hi' });
      const failed = await page.until(({ status }) => status === 'error');
      assert.equal(failed.error?.message, 'The run failed.');
      assert.deepEqual(failed.messages.at(-1)?.parts.at(-1), {
        ...failed.messages.at(-1)?.parts.at(-1),
        text: 'Hel',
        state: 'done',
      });
      await page.chat.regenerate();
      assert.deepEqual(shown(await page.until(says('Hello.'))), ['text Hello.']);
      assert.deepEqual(summary(model.requests[1] as ModelRequest), ['user: Hi']);
    });

    it('shows why a request was refused', async () => {
      const context = () => {
        throw new Error('secret');
      };
      const page = await openChat(
        sdk,
        await serve(createAgent({ model: scriptedModel(['Hi.']) }), { context, owner: String }),
      );
      await page.chat.sendMessage({ text: 'Hi' });
      const { error } = await page.until(({ status }) => status === 'error');
      assert.equal(error?.message, 'You may not use this agent.');
    });

    it('joins a run after a reload, and shows its message from the start', async () => {
      const { long, end, started } = longTool();
      const model = scriptedModel([['One moment.', toolCall('long', {}, 'c1')], 'Done.']);
      const api = await serve(createAgent({ model, tools: [long] }), { grace: 60_000 });
      const page = await openChat(sdk, api, { id: 'chat1' });
      const sent = page.chat.sendMessage({ text: 'Go.' });
      await started;
      const [question] = (await page.until((chat) => toolsOf(chat)[0]?.state === 'input-available')).messages;
      await page.chat.stop(); // the connection closes: the page is gone
      await sent;
      page.close();
      const reloaded = await openChat(sdk, api, { id: 'chat1', resume: true, messages: [question as UIMessage] });
      await reloaded.until((chat) => toolsOf(chat)[0]?.state === 'input-available');
      end('ended');
      const chat = await reloaded.until(says('Done.'));
      assert.deepEqual(shown(chat), ['text One moment.', 'tool-long output-available', 'text Done.']);
      assert.deepEqual([chat.messages.length, model.requests.length], [2, 2]);
    });

    it('joins a run that continues after an approval, and shows its message from the start', async (test) => {
      if (sdk.major === 6) return test.skip('ai 6 appends what it has already to the message');
      const { long, end, started } = longTool({ needsApproval: true });
      const tools = [long];
      const model = scriptedModel([['One moment.', toolCall('long', {}, 'c1')], 'Done.']);
      const api = await serve(createAgent({ model, tools }), { grace: 60_000, tools });
      const page = await openChat(sdk, api, { ...whenDecided, id: 'chat1' });
      await page.chat.sendMessage({ text: 'Go.' });
      await page.until(isReady);
      await page.chat.addToolApprovalResponse({ id: 'c1', approved: true });
      await started;
      const { messages } = await page.until((chat) => toolsOf(chat)[0]?.state === 'approval-responded');
      await page.chat.stop();
      page.close();
      const reloaded = await openChat(sdk, api, { ...whenDecided, id: 'chat1', resume: true, messages });
      await reloaded.until(({ status }) => status !== 'ready'); // it has joined the run
      end('ended');
      const chat = await reloaded.until(says('Done.'));
      assert.deepEqual(shown(chat), ['text One moment.', 'tool-long output-available', 'text Done.']);
      return undefined;
    });

    it('receives the rest of a run that has ended since its connection broke', async (test) => {
      if (sdk.major === 6) return test.skip('ai 6 appends what it has already to the message');
      const api = await serve(createAgent({ model: scriptedModel(['Hello.']) }), { keep: 60_000 });
      const page = await openChat(sdk, api, { id: 'chat1' });
      await page.chat.sendMessage({ text: 'Hi' });
      const { messages } = await page.until(isReady);
      const [question, { parts, ...answer }] = messages as [UIMessage, UIMessage];
      const half = { ...answer, parts: parts.slice(0, 1) };
      const reloaded = await openChat(sdk, api, { id: 'chat1', resume: true, messages: [question, half] });
      assert.deepEqual(shown(await reloaded.until(says('Hello.'))), ['text Hello.']);
      assert.equal(reloaded.chat.messages.length, 2);
      return undefined;
    });

    it('does not join a run that has ended', async () => {
      const api = await serve(createAgent({ model: scriptedModel(['Hi.']) }));
      const page = await openChat(sdk, api, { id: 'chat1' });
      await page.chat.sendMessage({ text: 'Hi' });
      const { messages } = await page.until(isReady);
      const reloaded = await openChat(sdk, api, { id: 'chat1', resume: true, messages });
      await reloaded.chat.resumeStream();
      assert.deepEqual(shown(await reloaded.until(isReady)), ['text Hi.']);
    });

    it('removes a discarded attempt, or shows it apart where it cannot be removed', async () => {
      const discarded: Chunk[] = [{ type: 'text', text: 'Void.' }, { type: 'retract' }];
      const agent = createAgent({ model: scriptedModel([[...discarded, 'Valid.']]) });
      const page = await openChat(sdk, await serve(agent, { version: sdk.major }));
      await page.chat.sendMessage({ text: 'Hi' });
      assert.deepEqual(
        shown(await page.until(isReady)),
        sdk.major >= 7 ? ['text Valid.'] : ['text Void.', 'text Valid.'],
      );
    });

    it('shows that the server approves a call, while its tool runs', async () => {
      const { long, end, started } = longTool({ needsApproval: true });
      const model = scriptedModel([[toolCall('long', {}, 'c1')], 'Done.']);
      const agent = createAgent({ model, tools: [long], approve: () => of({ approve: true }) });
      const page = await openChat(sdk, await serve(agent, { version: sdk.major }), whenDecided);
      const sent = page.chat.sendMessage({ text: 'Go.' });
      await started;
      const state = sdk.major === 6 ? 'approval-requested' : 'approval-responded'; // version 6 has no chunk for it
      await page.until((chat) => toolsOf(chat)[0]?.state === state);
      end('ended');
      await sent;
      assert.deepEqual(shown(await page.until(says('Done.'))), ['tool-long output-available', 'text Done.']);
      assert.equal(model.requests.length, 2);
    });

    it('passes a retry to onData, and a typed output as data', async () => {
      const model = scriptedModel([
        [{ type: 'retry', attempt: 1, delay: 5, error: { code: 'http' } }, '{"name":"Oslo"}'],
      ]);
      const seen: unknown[] = [];
      const agent = createAgent({ model, output: typed(z.object({ name: z.string() })) });
      const page = await openChat(sdk, await serve(agent), { onData: (part) => seen.push(part) });
      await page.chat.sendMessage({ text: 'The capital of Norway?' });
      assert.deepEqual(shown(await page.until(isReady)), ['text {"name":"Oslo"}', 'data-output {"name":"Oslo"}']);
      assert.deepEqual(
        seen.map((part) => (part as { type: string }).type),
        ['data-retry', 'data-output'],
      );
    });

    it('sends files, and the model reads them', async () => {
      const model = scriptedModel(['A dot.']);
      const page = await openChat(sdk, await serve(createAgent({ model })));
      const file = { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AQID' } as const;
      await page.chat.sendMessage({ text: 'What is this?', files: [file] });
      await page.until(isReady);
      assert.deepEqual(model.requests[0]?.messages[0]?.parts, [
        { type: 'file', mediaType: 'image/png', data: 'AQID' },
        { type: 'text', text: 'What is this?' },
      ]);
    });

    it('keeps what the provider expects back at the server', async () => {
      const signed: Chunk = { type: 'provider', provider: 'p', data: { signature: 'secret' } };
      const model = scriptedModel([['Hi.', signed], 'Bye.']);
      const page = await openChat(sdk, await serve(createAgent({ model })));
      await page.chat.sendMessage({ text: 'Hi' });
      const { messages } = await page.until(isReady);
      assert.doesNotMatch(JSON.stringify(messages), /secret/);
      await page.chat.sendMessage({ text: 'Bye' });
      await page.until(says('Bye.'));
      assert.deepEqual(model.requests[1]?.messages[1]?.parts.at(-1), signed);
    });

    it('closes the connection of a run that says nothing', async () => {
      const left = Promise.withResolvers<void>();
      const chunks = concat(of<Chunk>({ type: 'text', text: 'Hel' }), NEVER).pipe(finalize(() => left.resolve()));
      const page = await openChat(sdk, await serve(createAgent({ model: scriptedModel([chunks]) })));
      const sent = page.chat.sendMessage({ text: 'Hi' });
      await page.until((chat) => textOf(chat) === 'Hel');
      await page.chat.stop();
      await Promise.all([sent, left.promise]);
      assert.equal((await page.until(({ status }) => status === 'ready')).error, undefined);
    });
  });
}
