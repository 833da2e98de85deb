import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { agUiHandler } from '../../lib/agUi.js';
import { tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandler, Service } from '../../lib/service/service.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { askTool } from '../../lib/tools/askTool.js';
import { followingId } from '../../lib/transport/randomId.js';

const allow = tool({ name: 'allow', description: 'Acts.', needsApproval: true, execute: () => 'acted' });
const locate = tool({ name: 'locate', description: 'Locates.' });
const order = askTool({
  name: 'order',
  description: 'Orders.',
  execute: (_, { ask }) => ask({ message: 'How many?', schema: { type: 'object' } as const }),
});

/** How a page answers a call: as `agentHandler`, AG-UI and `useChat` expect it. */
interface Answer {
  readonly tool: string;
  readonly fields: (id: string) => object;
  readonly agUi: (id: string) => object;
  readonly state: (id: string) => object;
}

const decision = (approve: boolean): Answer => ({
  tool: 'allow',
  fields: (id) => ({ decisions: { [id]: { approve } } }),
  agUi: (id) => ({ resume: [{ interruptId: id, status: 'resolved', payload: approve }] }),
  state: (id) => ({ state: 'approval-responded', approval: { id, approved: approve } }),
});
const toolMessage = (id: string, fields: object) => ({ id: `m-${id}`, role: 'tool', toolCallId: id, ...fields });
const answers = {
  'an approval': decision(true),
  'a denial': decision(false),
  'a result': {
    tool: 'locate',
    fields: (id) => ({ results: { [id]: 'Oslo' } }),
    agUi: (id) => ({ messages: [toolMessage(id, { content: 'Oslo' })] }),
    state: () => ({ state: 'output-available', output: 'Oslo' }),
  },
  'an error': {
    tool: 'locate',
    fields: (id) => ({ errors: { [id]: 'No.' } }),
    agUi: (id) => ({ messages: [toolMessage(id, { content: '', error: 'No.' })] }),
    state: () => ({ state: 'output-error', errorText: 'No.' }),
  },
  'an answer to a question': {
    tool: 'order',
    fields: (id) => ({ results: { [id]: { count: 3 } } }),
    agUi: (id) => ({ resume: [{ interruptId: id, status: 'resolved', payload: { count: 3 } }] }),
    state: () => ({ state: 'output-available', output: { count: 3 } }),
  },
} satisfies Readonly<Record<string, Answer>>;

/** A page: it starts a run, and answers calls of it. `shown`: the calls that it shows. */
interface Page {
  start(prompt: string): Promise<unknown>;
  answer(id: string, answer: Answer, shown: readonly string[]): Promise<readonly [status: number, text: string]>;
}

async function post(handler: AgentHandler, body: object, id?: string) {
  const headers = { 'content-type': 'application/json', ...(id === undefined ? {} : { 'x-run-id': id }) };
  const response = await handler(
    new Request('http://service.test/', { method: 'POST', headers, body: JSON.stringify(body) }),
  );
  return [response.status, await response.text()] as const;
}

function openAgent(service: Service<undefined>, isCurrent: boolean): Page {
  const handler = agentHandler(service);
  let last: string = crypto.randomUUID();
  return {
    start: (input) => post(handler, { input }, last),
    answer: async (id, { fields }) => {
      const next = isCurrent ? followingId(last) : crypto.randomUUID();
      const answered = await post(handler, { resume: last, ...fields(id) }, next);
      if (answered[0] === 200 && isCurrent) last = next;
      return answered;
    },
  };
}

const pages: Readonly<Record<string, (service: Service<undefined>) => Page>> = {
  'for agentHandler': (service) => openAgent(service, true),
  'for agentHandler, with the id of the first run': (service) => openAgent(service, false),
  'for AG-UI'(service) {
    const handler = agUiHandler(service, { clientTools: ['locate'] });
    const threadId = crypto.randomUUID();
    let prompt: object = {};
    return {
      start(content) {
        prompt = { id: 'm1', role: 'user', content };
        return post(handler, { threadId, runId: 'r1', messages: [prompt] });
      },
      answer: (id, { agUi, tool: name }, shown) => {
        const toolCalls = shown.map((call) => ({ id: call, type: 'function', function: { name, arguments: '{}' } }));
        const { messages = [], ...fields } = agUi(id) as { readonly messages?: readonly object[] };
        const all = [prompt, { id: 'm2', role: 'assistant', toolCalls }, ...messages];
        return post(handler, { threadId, runId: crypto.randomUUID(), messages: all, ...fields });
      },
    };
  },
  'for useChat'(service) {
    const handler = uiChatHandler(service, { tools: [locate] });
    const chat = crypto.randomUUID();
    let prompt: object = {};
    let message = '';
    return {
      async start(text) {
        prompt = { id: 'm1', role: 'user', parts: [{ type: 'text', text }] };
        const [, started] = await post(handler, { id: chat, messages: [prompt] });
        message = /"messageId":"(.*?)"/.exec(started)?.[1] ?? '';
      },
      answer: (id, { state, tool: name }, shown) => {
        const parts = shown.map((toolCallId) => ({
          ...{ type: `tool-${name}`, toolCallId, input: {}, state: 'input-available' },
          ...(toolCallId === id ? state(id) : {}),
        }));
        return post(handler, { id: chat, messages: [prompt, { id: message, role: 'assistant', parts }] });
      },
    };
  },
};

/** The history of AG-UI is the client's: it continues from the result that it has, also if the thread waits. */
const startsRun = (page: string, kind: string) => page === 'for AG-UI' && ['a result', 'an error'].includes(kind);

describe.each(Object.keys(pages))('%s, a page that is behind', (name) => {
  const whens = ['was answered before', 'never waited', 'waits in another run'];
  const rows = Object.keys(answers).flatMap((kind) => whens.map((when) => [kind, when] as const));

  it.each(rows)('sends %s to a call that %s: it is refused, and the run waits on', async (kind, when) => {
    const answer: Answer = answers[kind as keyof typeof answers];
    const open = pages[name] as (service: Service<undefined>) => Page;
    const model = scriptedModel(({ messages }) => {
      const run = JSON.stringify(messages[0]).includes('Other') ? 'other' : 'c';
      return [toolCall(answer.tool, {}, `${run}${(messages.length + 1) / 2}`)];
    });
    const service = createService({ agent: createAgent({ model, tools: [allow, locate, order] }), checkpoints: true });
    const waiting = async () => {
      const runs = await firstValueFrom(service.runs({ owner: '', state: 'waiting' }).pipe(toArray()));
      return runs
        .flatMap((run) => run.waiting ?? [])
        .map(({ id }) => id)
        .sort();
    };
    const idOf = (call: string) => (answer.tool === 'order' ? `${call}/1` : call);
    const page = open(service);
    await page.start('Go.');
    if (when === 'was answered before') await page.answer(idOf('c1'), answer, [idOf('c1')]);
    if (when === 'waits in another run') await open(service).start('Other.');
    const before = await waiting();
    const late = idOf(when === 'was answered before' ? 'c1' : when === 'never waited' ? 'c9' : 'other1');
    const requests = model.requests.length;
    const [status, text] = await page.answer(late, answer, [late]);
    if (startsRun(name, kind)) {
      expect(model.requests.length).toBe(requests + 1);
      return;
    }
    expect([status, text]).toEqual([
      name === 'for AG-UI' ? 200 : expect.any(Number),
      expect.stringMatching(/not_waiting|do not fit the calls that wait|nothing waits for an answer|answered already/),
    ]);
    if (name !== 'for AG-UI') expect([400, 409]).toContain(status);
    expect(await waiting()).toEqual(before);
    expect(model.requests.length).toBe(requests);
  });
});
