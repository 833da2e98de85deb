import { afterEach, expect, it } from '@jest/globals';
import { concat, NEVER, Subject } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/index.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { shutDown, type Handler } from '../support/services.js';
import { mapStore } from '../support/stores.js';

const handlers: Handler[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

const url = 'http://service.test';

it.each([
  ['a stop', '', 'DELETE', undefined],
  ['the cancellation of a call', '?call=c1', 'DELETE', undefined],
  ['a prompt', '', 'PATCH', { input: 'Hurry.' }],
])('%s at another process, while a run opens its log, is refused for now', async (_, query, method, body) => {
  const store = mapStore();
  const log = memoryLog();
  const start = (own: typeof log) => {
    const handler = agentHandler(createAgent({ model: scriptedModel(() => NEVER) }), { store, log: own });
    handlers.push(handler);
    return handler;
  };
  const opens = new Subject<never>();
  const first = start({ ...log, append: (...written) => concat(opens, log.append(...written)) });
  const second = start(log);
  const id = crypto.randomUUID();
  const headers = { 'content-type': 'application/json', 'x-run-id': id };
  void first(new Request(url, { method: 'POST', headers, body: JSON.stringify({ input: 'Hi' }) }));
  while (store.records.size === 0) await new Promise((resolve) => setImmediate(resolve));
  const request = new Request(`${url}/${id}${query}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const response = await second(request);
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
  opens.complete();
});
