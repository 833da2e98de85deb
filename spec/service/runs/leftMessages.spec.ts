import { afterEach, describe, expect, it } from '@jest/globals';
import { NEVER } from 'rxjs';
import type { CallAnswers } from '../../../lib/core/approval.js';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { userMessage } from '../../../lib/core/message.js';
import { tool, type Tool } from '../../../lib/core/tool.js';
import { agentHandler } from '../../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../../lib/service/index.js';
import { unknownText } from '../../../lib/service/runs/leftMessages.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { ignorePrintedErrors } from '../../support/printedErrors.js';
import { postRun as post, shutDown, type Handler } from '../../support/services.js';
import { afterCrash, mapStore } from '../../support/stores.js';

ignorePrintedErrors();

const handlers: Handler[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

/** @param more A tool that the model calls, too. */
function startProcess(store: ReturnType<typeof mapStore>, isShared: boolean, more?: Tool) {
  let mails = 0;
  const transfer = tool({ name: 'transfer', description: '', execute: () => 'transferred' });
  const mail = tool({ name: 'mail', description: '', needsApproval: true, execute: () => (mails++, NEVER) });
  const model = scriptedModel(({ messages }) => {
    const calls = [toolCall('transfer', {}, 't1'), toolCall('mail', {}, 'm1')];
    if (more) calls.push(toolCall(more.name, {}, 'c1'));
    return messages.length === 1 ? calls : 'Done.';
  });
  const agent = createAgent({ model, tools: [transfer, mail, ...(more ? [more] : [])] });
  const handler = agentHandler(agent, { store, ...(isShared ? { log: memoryLog() } : {}) });
  handlers.push(handler);
  return { handler, model, mails: () => mails };
}

const prompt = 'Transfer, then mail.';

describe('a run that was answered, and lost with its process', () => {
  it.each([
    [false, 'both'],
    [false, 'the first'],
    [true, 'both'],
    [true, 'the first'],
  ])(
    'keeps the results of its calls for the next prompt (shared log: %s, the page names %s)',
    async (isShared, names) => {
      const store = mapStore();
      const first = startProcess(store, isShared);
      const [run, answered, next] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
      await (await post(first.handler, run, { input: prompt })).text();
      await post(first.handler, answered, { resume: run, decisions: { m1: { approve: true } } });
      while (first.mails() === 0) await new Promise((resolve) => setImmediate(resolve));
      const second = startProcess(afterCrash(store), isShared);
      for (let times = 0; times < 2; times++) {
        const again = await post(second.handler, answered, { resume: run, decisions: { m1: { approve: true } } });
        expect(await again.text()).toContain('run_not_found');
      }
      const history = (names === 'both' ? [run, answered] : [run]).map((id) => ({ id, input: [userMessage(prompt)] }));
      await (await post(second.handler, next, { input: 'Is it done?', history })).text();
      const results = second.model.requests[0]?.messages
        .flatMap(({ parts }) => parts)
        .flatMap((part) => (part.type === 'toolResult' ? [[part.id, part.result ?? part.code]] : []));
      expect(results).toEqual([
        ['t1', 'transferred'],
        ['m1', 'outcome_unknown'],
      ]);
      expect([second.mails(), second.model.requests.length]).toEqual([0, 1]);
    },
  );

  const anything = { type: 'object' };
  const wipe: Tool = { name: 'wipe', description: '', parameters: anything, needsApproval: true, execute: () => NEVER };
  const place: Tool = { name: 'place', description: '', parameters: anything };
  const other = { path: 'b' };

  it.each<readonly [string, Tool, CallAnswers, Readonly<Record<string, unknown>>]>([
    [
      'a denial',
      wipe,
      { decisions: { c1: { approve: false } } },
      { error: 'The user denied the call.', code: 'denied' },
    ],
    [
      'a denial with its reason',
      wipe,
      { decisions: { c1: { approve: false, reason: 'Never.' } } },
      { error: 'The user denied the call. Reason: Never.', code: 'denied', reason: 'Never.' },
    ],
    [
      'the arguments of an approval',
      wipe,
      { decisions: { c1: { approve: true, arguments: other } } },
      { error: unknownText, code: 'outcome_unknown', arguments: other },
    ],
    ['the result of a page', place, { results: { c1: 'Oslo' } }, { result: 'Oslo' }],
    ['the error of a page', place, { errors: { c1: 'Closed.' } }, { error: 'Closed.', code: 'failed' }],
  ])('keeps %s', async (_, more, answers, result) => {
    const store = mapStore();
    const first = startProcess(store, false, more);
    const [run, answered, next] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    await (await post(first.handler, run, { input: prompt })).text();
    const decisions = { m1: { approve: true }, ...answers.decisions };
    const given = { resume: run, ...answers, decisions };
    expect((await post(first.handler, answered, given)).status).toBe(200);
    while (first.mails() === 0) await new Promise((resolve) => setImmediate(resolve));
    const second = startProcess(afterCrash(store), false, more);
    await (await post(second.handler, answered, given)).text();
    const history = [run, answered].map((id) => ({ id, input: [userMessage(prompt)] }));
    await (await post(second.handler, next, { input: 'Is it done?', history })).text();
    const parts = second.model.requests[0]?.messages.flatMap((message) => message.parts) ?? [];
    const kept = parts.find((part) => part.type === 'toolResult' && part.id === 'c1');
    expect(kept).toEqual({ type: 'toolResult', id: 'c1', name: more.name, ...result });
  });
});
