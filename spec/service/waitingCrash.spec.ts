import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, map } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunRecord } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { shutDown } from '../support/services.js';
import { lateLog, mapStore } from '../support/stores.js';

const handlers: ReturnType<typeof agentHandler>[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

/** A process whose tool pays after a decision, and a page that talks to it. */
function startProcess(store: ReturnType<typeof mapStore>, log?: RunLog) {
  let paid = 0;
  const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => (paid += 1) });
  const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const model = scriptedModel(({ messages }) =>
    messages.length === 1 ? [toolCall('look', {}, 'c1'), toolCall('pay', {}, 'c2')] : 'Paid.',
  );
  const handler = agentHandler(createAgent({ model, tools: [pay, look] }), { store, log, checkpoints: true });
  handlers.push(handler);
  const open = (saved?: string) =>
    conversation(remoteAgent('http://service.test', { fetch: (url, init) => handler(new Request(url, init)) }), {
      saved,
    });
  return { open, paid: () => paid };
}

const waits = (chat: ReturnType<typeof conversation>) =>
  firstValueFrom(
    chat.view$.pipe(
      map(({ waiting }) => waiting.map(({ id }) => id)),
      filter((ids) => ids.length > 0),
    ),
  );

describe('a run that waits', () => {
  it.each([
    ['in memory', () => undefined],
    ['that processes share', () => lateLog(memoryLog())],
  ])('waits again after its process ended at any write, with a log %s', async (_, createLog) => {
    const written: RunRecord[] = [];
    const first = startProcess(
      mapStore(new Map(), (record) => written.push(record)),
      createLog(),
    );
    const chat = first.open();
    let sent = '';
    chat.saved$.subscribe((saved) => (sent ||= saved.exchanges.length > 0 ? JSON.stringify(saved) : ''));
    const waiting = waits(chat);
    chat.send('Pay.');
    expect(await waiting).toEqual(['c2']);
    while (!written.some(({ state }) => state === 'waiting')) await new Promise((resolve) => setImmediate(resolve));
    expect(written.filter(({ state }) => state === 'running').length).toBeGreaterThan(2);
    for (const record of written) {
      // The log has lost the events: those of a reader may come later than the record.
      const store = mapStore(new Map([[record.id, { record: { ...record, executor: undefined }, version: 1 }]]));
      const again = startProcess(store, createLog());
      const reopened = again.open(sent);
      expect(await waits(reopened)).toEqual(['c2']);
      expect(again.paid()).toBe(0);
      const ended = firstValueFrom(reopened.view$.pipe(filter(({ status }) => status === 'idle')));
      reopened.decide('c2', { approve: true });
      expect(JSON.stringify(await ended)).toContain('Paid.');
      expect(again.paid()).toBe(1);
    }
  });
});
