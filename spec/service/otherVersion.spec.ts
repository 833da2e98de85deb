import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom } from 'rxjs';
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
