import { expect, it } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { validateText } from '../../lib/agent/outputRepair.js';
import { readSaved, savedConversation } from '../../lib/chat/savedConversation.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import { tool } from '../../lib/core/tool.js';
import { readSave } from '../../lib/service/chats/chatRequests.js';
import { readRequest } from '../../lib/service/http/browserRequest.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { parseArguments } from '../../lib/transport/agUi/messages.js';
import { protocolNames, protocols } from '../support/services.js';

/** A number that `JSON.parse` reads as Infinity, and JSON writes as null. */
const overflow = '1e999';
const withOverflow = (json: object) => JSON.stringify(json).replaceAll('"OVERFLOW"', overflow);

it.each(protocolNames)('%s refuses a body with a number that others would see as null', async (name) => {
  const handler = protocols[name].handler(createAgent({ model: scriptedModel(['Hi.']) }));
  const send = (text: string) => {
    const { headers } = protocols[name];
    return handler(new Request('http://service.test/', { method: 'POST', headers: headers(), body: text }));
  };
  const body = { ...(protocols[name].body('Hi') as object), metadata: { n: ['OVERFLOW'] } };
  expect((await send(withOverflow(body))).status).toBe(400);
  expect((await send(JSON.stringify(body))).status).toBe(200);
});

const resume = '0123456789abcdef0123456789abcdef';
const saved = { ...savedConversation([]), exchanges: [{ x: 'OVERFLOW' }] };

it.each<[string, () => unknown]>([
  [
    'an edit',
    () => readRequest(withOverflow({ resume, decisions: { c1: { approve: true, arguments: ['OVERFLOW'] } } })),
  ],
  ['a result', () => readRequest(withOverflow({ resume, results: { c1: 'OVERFLOW' } }))],
  ['an answer', () => readRequest(withOverflow({ results: { c1: { n: 'OVERFLOW' } } }))],
  ['a chat', () => readSave(withOverflow({ version: 1, saved }))],
])('a request is refused if %s has such a number', (_, read) => expect(read).toThrow('Send '));

it('a saved conversation with such a number cannot be read', () => {
  const conversation = { ...savedConversation([]), later: 'OVERFLOW' };
  expect(readSaved(withOverflow(conversation)).savedError).toBeDefined();
  expect(readSaved(JSON.stringify(conversation)).savedError).toBeUndefined();
});

it('a call of a history with such a number has no valid arguments', () => {
  expect(parseArguments('{"n":1e999}')).toEqual({ _raw: '{"n":1e999}', _error: 'invalid_json' });
});

it('an output with such a number is not valid', async () => {
  expect(await firstValueFrom(validateText({ type: 'object' }, '{"n":[-1e999]}'))).toEqual({
    invalid: 'it has a number beyond 1.8e308',
  });
});

it('a call of a checkpoint with such a number is not executed', async () => {
  const executed: unknown[] = [];
  const execute = (args: unknown) => (executed.push(args), 'paid');
  const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute });
  const agent = createAgent({
    model: scriptedModel([[toolCall('pay', { n: 'OVERFLOW' }, 'c1')], 'Done.']),
    tools: [pay],
  });
  const { checkpoint } = await firstValueFrom(agent.run('Pay.'));
  const stored = JSON.parse(withOverflow({ checkpoint })) as { checkpoint: Checkpoint };
  const resumed = agent.resumeRun(stored.checkpoint, { decisions: { c1: { approve: true } } });
  const { messages } = await firstValueFrom(resumed);
  expect(executed).toEqual([]);
  expect(JSON.stringify(messages)).toContain('beyond 1.8e308');
});
