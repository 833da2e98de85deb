import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, throwError } from 'rxjs';
import * as z from 'zod';
import { createAgent, type Agent } from '../../lib/agent/createAgent.js';
import { typed } from '../../lib/agent/typed.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryStore } from '../../lib/service/index.js';
import type { AgentHandler } from '../../lib/service/service.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { shutDown } from '../support/services.js';

let executed = 0;
const handlers: AgentHandler[] = [];
afterEach(() => {
  executed = 0;
  for (const handler of handlers.splice(0)) shutDown(handler);
});

const remove = tool({ name: 'remove', description: '', needsApproval: true, execute: () => ++executed });
const calling = (name: string) =>
  scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall(name, { prompt: 'Go.' }, 'c')] : 'Done.'));
const output = typed(z.object({ ok: z.boolean() }));
const agentWith = (options: object): Agent => createAgent({ model: calling('remove'), tools: [remove], ...options });
const around = (inner: Agent): Agent =>
  createAgent({ model: calling('sub'), tools: [agentTool(inner, { name: 'sub', description: '' })] });

describe.each([
  ['an agent', 'c', agentWith({}), agentWith({ output })],
  ['a sub-agent', 'c/c', around(agentWith({})), around(agentWith({ output }))],
  ['a sub-agent of a sub-agent', 'c/c/c', around(around(agentWith({}))), around(around(agentWith({ output })))],
])('a run that waits, whose process has %s with an output now', (_, id, before, after) => {
  const start = () => {
    const store = memoryStore();
    const [old, next] = [before, after].map((agent) => agentHandler(agent, { store, checkpoints: true }));
    if (!old || !next) throw new Error('There is no handler.');
    handlers.push(old, next);
    return { old, next };
  };
  const post = (handler: AgentHandler, run: string, body: object) =>
    handler(
      new Request('http://service.test/', { method: 'POST', headers: { 'x-run-id': run }, body: JSON.stringify(body) }),
    );

  it('rejects the answer with a reason, and waits on for a process that has the agent', async () => {
    const { old, next } = start();
    const run = crypto.randomUUID();
    await (await post(old, run, { input: 'Go.' })).text();
    const decision = { resume: run, decisions: { [id]: { approve: true } } };
    const rejected = await post(next, crypto.randomUUID(), decision);
    expect([rejected.status, await rejected.json()]).toEqual([
      409,
      { error: { code: 'other_version', message: 'This run waits for another version of the service.' } },
    ]);
    expect(await (await post(old, crypto.randomUUID(), decision)).text()).toContain('Done.');
    expect(executed).toBe(1);
  });

  it('has this reason on the page, where it can be answered again', async () => {
    const { old, next } = start();
    let handler = old;
    let answers = 0;
    const send: typeof fetch = (url, init) => {
      if (typeof init?.body === 'string' && init.body.includes('"resume"')) answers += 1;
      return handler(new Request(url, init));
    };
    const chat = conversation(remoteAgent('http://service.test/', { fetch: send }));
    const shown = chat.view$.subscribe();
    const until = (status: string) => firstValueFrom(chat.view$.pipe(filter((view) => view.status === status)));
    chat.send('Go.');
    await until('waiting');
    handler = next;
    chat.decide(id, { approve: true });
    const { exchanges } = await firstValueFrom(
      chat.view$.pipe(filter((view) => view.exchanges.at(-1)?.notice !== undefined)),
    );
    expect(exchanges.at(-1)).toMatchObject({
      status: 'waiting',
      notice: { code: 'not_answered', error: { providerCode: 'other_version', status: 409 } },
    });
    expect(answers).toBe(1); // the reason is shown at once
    handler = old;
    chat.decide(id, { approve: true });
    await until('idle');
    expect(executed).toBe(1);
    shown.unsubscribe();
  });
});

// An earlier version, or a script of a person, may have written it.
describe.each([true, false])('a stored run that has nothing to start from, with `checkpoints: %p`', (checkpoints) => {
  it.each(
    (['running', 'waiting'] as const).flatMap((state) =>
      (['POST', 'PATCH', 'DELETE'] as const).map((method) => [state, method] as const),
    ),
  )('that is %s is answered to %s', async (state, method) => {
    const memory = memoryStore();
    let reads = 0;
    const store = {
      ...memory,
      get: (id: string) => (reads++ > 100 ? throwError(() => new Error('It is read without end.')) : memory.get(id)),
    };
    const handler = agentHandler(agentWith({}), { store, checkpoints, onError: () => undefined });
    handlers.push(handler);
    const id = crypto.randomUUID();
    memory.put({ id, owner: '', state, attempt: 1, input: [], updated: 0 }, 0).subscribe();
    const body = method === 'DELETE' ? null : JSON.stringify({ input: 'Go.' });
    const response = await handler(new Request('http://s.test/', { method, headers: { 'x-run-id': id }, body }));
    const answers = { POST: [200, 'run_not_found'], PATCH: [404, ''], DELETE: [204, ''] } as const;
    const [status, text] = answers[method];
    expect({ status: response.status, text: await response.text() }).toEqual({
      status,
      text: expect.stringContaining(text),
    });
    const stored = await firstValueFrom(memory.get(id));
    expect(stored?.record.state).toBe(method === 'PATCH' ? state : 'ended');
    expect(executed).toBe(0);
  });
});
