import { errorText } from '../../lib/core/errors.js';
import type { JsonValue } from '../../lib/core/json/json.js';
import type { Message } from '../../lib/core/message.js';
import { toolDefinition } from '../../lib/core/tool.js';
import type { Tool } from '../../lib/core/tool.js';
import { modelByName, registeredProviders } from '../../lib/providers/registry/index.js';
import { createResponder } from '../../lib/testing/server/responder.js';
import { basePath } from '../../lib/testing/server/responder.js';

const origin = 'http://127.0.0.1:9';

/** Returns why providers refuse a history: what their encoders throw, and what their loopback dialects reject. */
export function refusalsOf(messages: readonly Message[], tools: readonly Tool[]): string[] {
  return registeredProviders().flatMap(({ name }) => {
    const respond = createResponder(() => 'Hi.', {});
    const refusals: string[] = [];
    const fetch = (url: unknown, init: RequestInit = {}) => {
      const body = typeof init.body === 'string' ? (JSON.parse(init.body) as JsonValue) : '';
      const path = String(url).slice(origin.length);
      const headers = Object.fromEntries(new Headers(init.headers));
      const { status } = respond({ order: 0, method: init.method ?? 'GET', path, headers, body });
      if (status !== 200) refusals.push(`${name}: status ${status}`);
      return new Promise<Response>(() => undefined);
    };
    const model = modelByName(name, { baseUrl: origin + basePath(name), apiKey: 'any', fetch, retry: false });
    model
      .stream({ messages, tools: tools.map(toolDefinition) })
      .subscribe({ error: (error: unknown) => refusals.push(`${name}: ${errorText(error)}`) })
      .unsubscribe();
    return refusals;
  });
}

/**
 * Returns what is wrong with a history, without any repair: a message without parts, a call without exactly one result
 * in the next message, a result without a call, an id that two calls share.
 */
export function faultsOf(messages: readonly Message[]): string[] {
  const faults: string[] = [];
  const ids = new Set<string>();
  let open: string[] = [];
  messages.forEach(({ role, parts }, index) => {
    if (parts.length === 0) faults.push(`message ${index} is empty`);
    const results = parts.flatMap((part) => (part.type === 'toolResult' ? [part.id] : []));
    if (results.join() !== open.join())
      faults.push(`message ${index} has the results ${results.join()}, not ${open.join()}`);
    open = parts.flatMap((part) => (part.type === 'toolCall' ? [part.id] : []));
    if (open.length > 0 && role !== 'model') faults.push(`message ${index} has calls of a user`);
    for (const id of open) {
      if (ids.has(id)) faults.push(`message ${index} repeats the id ${id}`);
      ids.add(id);
    }
  });
  if (open.length > 0) faults.push(`the calls ${open.join()} have no results`);
  return faults;
}
