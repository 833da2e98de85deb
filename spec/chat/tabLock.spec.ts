import { afterEach, describe, expect, it } from '@jest/globals';
import { defer, filter, firstValueFrom, of, Subject } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { chatCopies, type RemoteChats } from '../../lib/chat/index.js';
import { conversation } from '../../lib/chat/conversation.js';
import { pageTools } from '../../lib/chat/pageTools.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { shutDown } from '../support/services.js';

type Use = (lock: object | null) => unknown;
type Locks = (options: { readonly ifAvailable?: boolean }, use: Use) => Promise<unknown>;

const refusal = (name: string) => Promise.reject(new DOMException('No.', name));

/** What browsers do with a request for a lock, other than to give it. */
const browsers: Readonly<Record<string, Locks>> = {
  'a sandboxed frame': () => refusal('SecurityError'),
  'a document that is not active': () => refusal('InvalidStateError'),
  'another tab has it, and the page may not wait': ({ ifAvailable }, use) =>
    ifAvailable ? Promise.resolve(use(null)) : refusal('AbortError'),
  'a lock that is stolen at once': (_, use) => (void use({}), refusal('AbortError')),
};

const useLocks = (locks: Locks) =>
  Object.defineProperty(globalThis, 'navigator', {
    value: { locks: { request: (_: string, options: object, use: Use) => locks(options, use) } },
    configurable: true,
  });

/** All Promises of the locks, and what waits for them. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const zone = { name: 'zone', description: 'The time zone of the user.' } as const;

describe.each(Object.entries(browsers))('a page without locks: %s', (_, locks) => {
  const closing: (() => unknown)[] = [() => Reflect.deleteProperty(globalThis, 'navigator')];
  afterEach(() => closing.forEach((close) => close()));

  it('pageTools: a call is executed once, the run ends, and the next prompt is answered', async () => {
    const script = [[toolCall('zone')], 'Done', 'Hello'];
    const handler = agentHandler(createAgent({ model: scriptedModel(script), tools: [tool(zone)] }));
    useLocks(locks);
    let executions = 0;
    const agent = remoteAgent('http://localhost/chat', { fetch: (input, init) => handler(new Request(input, init)) });
    const execute = () => defer(() => of(`zone ${++executions}`));
    const chat = conversation(agent, { tools: pageTools([tool({ ...zone, execute })]) });
    const seen = observe(chat.view$);
    closing.push(
      () => seen.subscription.unsubscribe(),
      () => shutDown(handler),
    );
    for (const [index, prompt] of ['Where am I?', 'Hi'].entries()) {
      chat.send(prompt);
      const ended = chat.view$.pipe(filter(({ exchanges }) => exchanges[index]?.status === 'idle'));
      expect(await firstValueFrom(ended).then(() => 'ended', String)).toBe('ended');
    }
    expect(executions).toBe(1);
    expect(seen.error).toBeUndefined();
  });

  it('chatCopies.keep writes each change', async () => {
    useLocks(locks);
    const saved = { version: 1, exchanges: [] } as const;
    let written = 0;
    const keep: RemoteChats['keep'] = ({ saved$ }, { id }) =>
      defer(() => {
        saved$.subscribe(() => written++);
        return of({ id, version: 1, title: '', updated: 0, saved });
      });
    const storage = { getItem: () => JSON.stringify(saved), setItem: () => undefined, removeItem: () => undefined };
    const changes = new Subject<void>();
    const kept = observe(chatCopies({ keep } as unknown as RemoteChats, storage).keep('a', changes));
    await settled();
    const before = written;
    changes.next();
    await settled();
    expect(kept.error).toBeUndefined();
    expect(written).toBeGreaterThan(before);
    kept.subscription.unsubscribe();
  });
});
