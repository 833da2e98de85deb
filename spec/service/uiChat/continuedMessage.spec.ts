import { afterEach, expect, it } from '@jest/globals';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { tool } from '../../../lib/core/tool.js';
import { uiChatHandler, type UiMessage } from '../../../lib/service/uiChat/index.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { ignorePrintedErrors } from '../../support/printedErrors.js';
import { shutDown, type Handler } from '../../support/services.js';

ignorePrintedErrors();

const handlers: Handler[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

const user = (text: string): UiMessage => ({ id: text, role: 'user', parts: [{ type: 'text', text } as never] });
const done = (name: string, id: string, output: unknown) =>
  ({ type: `tool-${name}`, toolCallId: id, state: 'output-available', input: {}, output }) as never;

/** The message of the page, and how often its first continuation fails. */
const rows = {
  'that ended at maxTurns': { maxTurns: 1, failures: 0, hasPage: false },
  'whose call the page has executed': { maxTurns: 5, failures: 0, hasPage: true },
  'whose continuation has failed once': { maxTurns: 5, failures: 1, hasPage: true },
} as const;

it.each(Object.entries(rows))(
  'a message %s keeps the results of its calls when the page continues it',
  async (_, { maxTurns, failures, hasPage }) => {
    let paid = 0;
    let left: number = failures;
    const pay = tool({ name: 'pay', description: '', execute: () => `receipt ${++paid}` });
    const locate = tool({ name: 'locate', description: '' });
    const model = scriptedModel(({ messages }) => {
      if (messages.length === 1) return [toolCall('pay', {}, 'p1'), ...(hasPage ? [toolCall('locate', {}, 'l1')] : [])];
      if (left-- > 0) throw new Error('The model is down.');
      return 'All done.';
    });
    const handler = uiChatHandler(createAgent({ model, tools: [pay, locate], maxTurns }));
    handlers.push(handler);
    const post = async (...messages: readonly UiMessage[]) => {
      const request = { method: 'POST', headers: { 'content-type': 'application/json' } };
      const body = JSON.stringify({ id: 'chat', messages });
      return (await handler(new Request('http://service.test', { ...request, body }))).text();
    };
    const [, id = ''] = /"messageId":"([^"]+)"/.exec(await post(user('Pay.'))) ?? [];
    const calls = [done('pay', 'p1', 'receipt 1'), ...(hasPage ? [done('locate', 'l1', { city: 'Oslo' })] : [])];
    const message = { id, role: 'assistant', parts: [{ type: 'step-start' }, ...calls] } as UiMessage;
    for (let times = 0; times <= failures; times++) await post(user('Pay.'), message);
    const whole = { ...message, parts: [...message.parts, { type: 'text', text: 'All done.' } as never] };
    await post(user('Pay.'), whole, user('Thanks'));
    const read = model.requests.at(-1)?.messages.flatMap(({ parts }) => parts) ?? [];
    const results = read.flatMap((part) => (part.type === 'toolResult' ? [[part.id, part.result ?? part.code]] : []));
    expect(results[0]).toEqual(['p1', 'receipt 1']);
    expect(read.at(-1)).toEqual({ type: 'text', text: 'Thanks' });
    expect(paid).toBe(1);
  },
);
