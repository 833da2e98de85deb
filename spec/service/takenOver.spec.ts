import { afterEach, describe, expect, it } from '@jest/globals';
import { Subject } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { shutDown } from '../support/services.js';
import { mapStore } from '../support/stores.js';

type Handler = (request: Request) => Promise<Response>;
type Store = ReturnType<typeof mapStore>;

const handlers: Handler[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

/** A process whose tool `work` runs until `end` emits. */
function startProcess(store: Store, name: string, log?: RunLog, checkpoints = true) {
  const errors: unknown[] = [];
  let end = new Subject<string>();
  let calls = 0;
  const work = tool({
    name: 'work',
    description: 'Works.',
    execute: () => {
      calls += 1;
      end = new Subject<string>();
      return end;
    },
  });
  const model = scriptedModel(({ messages }) =>
    messages.length === 1 ? [toolCall('work', {}, 'c1')] : `Done by ${name}.`,
  );
  const handler = agentHandler(createAgent({ model, tools: [work] }), {
    store,
    log,
    checkpoints,
    onError: (thrown) => errors.push(thrown),
  });
  handlers.push(handler);
  return {
    handler,
    errors,
    finish: () => {
      end.next('worked');
      end.complete();
    },
    calls: () => calls,
  };
}

const post = (handler: Handler, id: string, body: unknown, lastId?: string) =>
  handler(
    new Request('http://service.test', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        'content-type': 'application/json',
        'x-run-id': id,
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      },
    }),
  );
const turns = async () => {
  for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve));
};
/** What a process that was paused for too long finds: its lease has ended. */
function expire({ records }: Store, id: string) {
  const stored = records.get(id);
  if (stored) records.set(id, { ...stored, record: { ...stored.record, executor: undefined } });
}

describe('a process that was paused, and whose run another process has taken over', () => {
  it('closes the connections of its readers without a final event, and sends them the run of the other process', async () => {
    const store = mapStore();
    const [a, b] = [startProcess(store, 'a'), startProcess(store, 'b')];
    const id = crypto.randomUUID();
    const page = await post(a.handler, id, { input: 'Work.' });
    while (a.calls() === 0) await turns();
    expire(store, id);

    const other = await post(b.handler, id, {});
    while (b.calls() === 0) await turns();
    a.finish(); // it continues, and cannot write
    const cut = await page.text();
    expect(cut).toContain('"type":"toolStart"');
    expect(cut).not.toMatch(/event: (?:failed|done)|run_taken|"type":"result"/);
    expect(cut).toMatch(/\n\n$/); // and without any other text
    expect(a.errors).toEqual([]); // that is not a failure

    const early = await post(a.handler, id, {}, '3');
    expect(early.status).toBe(503);
    b.finish();
    expect(await other.text()).toContain('Done by b.');
    // The ids of its own events say nothing in the run of the other process: a page then joins from the start.
    expect(await (await post(a.handler, id, {}, '3')).text()).toContain('run_not_found');
    const again = await (await post(a.handler, id, {})).text();
    expect(again).toContain('Done by b.');
    expect(again).not.toContain('Done by a.');
  });

  it('takes the run back if the other process dies', async () => {
    const store = mapStore();
    const [a, b] = [startProcess(store, 'a'), startProcess(store, 'b')];
    const id = crypto.randomUUID();
    const page = await post(a.handler, id, { input: 'Work.' });
    while (a.calls() === 0) await turns();
    expire(store, id);
    await post(b.handler, id, {});
    while (b.calls() === 0) await turns();
    a.finish();
    await page.text();
    expire(store, id); // b is dead
    const resumed = await post(a.handler, id, {});
    while (a.calls() < 2) await turns();
    a.finish();
    const text = await resumed.text();
    expect(text).toContain('Done by a.');
    expect(text.match(/"type":"toolResult"/g)).toHaveLength(1);
  });
});

describe('a process that leaves, and shows a run of another process', () => {
  it.each([true, false])(
    'closes the connections of its readers without a final event, checkpoints: %s',
    async (keeps) => {
      const store = mapStore();
      const log: RunLog = { ...memoryLog(), isShared: true };
      const [a, b] = [startProcess(store, 'a', log, keeps), startProcess(store, 'b', log, keeps)];
      const id = crypto.randomUUID();
      const executed = await post(a.handler, id, { input: 'Work.' });
      while (a.calls() === 0) await turns();
      const shown = await post(b.handler, id, {});
      b.handler.shutdown('abandon').subscribe();
      const cut = await shown.text();
      expect(cut).toContain('"type":"toolStart"');
      expect(cut).not.toMatch(/event: (?:failed|done)|"type":"result"/);
      a.finish();
      expect(await executed.text()).toContain('Done by a.');
    },
  );
});
