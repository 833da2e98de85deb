import { describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
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
