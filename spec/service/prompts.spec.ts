import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, NEVER, Subject, take, tap, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { isMessage, isResult } from '../../lib/core/eventGuards.js';
import { userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandlerOptions } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { ScriptedTurn } from '../../lib/testing/index.js';
import { runOptions } from '../support/runOptions.js';
import { shutDown } from '../support/services.js';
import { mapStore } from '../support/stores.js';

const handlers: object[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

/** A log of several processes, which answers at once: the order of what happens is known. */
const sharedLog = (): RunLog => ({ ...memoryLog(), isShared: true });
const usual: readonly ScriptedTurn[] = [['Let me see. ', toolCall('work', {}, 'c1')], 'Done.'];

/** A service whose tool ends when `tooling` emits. */
function open(options: AgentHandlerOptions<string> = {}, script: readonly ScriptedTurn[] = usual) {
  const tooling = new Subject<string>();
  const work = tool({ name: 'work', description: 'Works.', execute: () => tooling.pipe(take(1)) });
  const model = scriptedModel(script);
  const handler = agentHandler<string>(createAgent({ model, tools: [work] }), {
    context: (request) => request.headers.get('x-user') ?? 'ann',
    owner: (user) => user,
    ...options,
  });
  handlers.push(handler);
  return { handler, model, tooling };
}
const id = () => crypto.randomUUID();
type Handler = ReturnType<typeof agentHandler>;
const patch = (handler: Handler, run: string, body: unknown, headers: Record<string, string> = {}) =>
  handler(
    new Request('http://service.test/', {
      method: 'PATCH',
      headers: { 'content-type': 'application/json', 'x-run-id': run, ...headers },
      body: JSON.stringify(body),
    }),
  );
const streamOf = (handler: Handler, run: string) =>
  remoteAgent('http://service.test/', {
    fetch: (_, init) => handler(new Request('http://service.test/', init)),
  }).stream('Write.', runOptions(run));
const rolesOf = (events: readonly StreamEvent[]) =>
  events.filter(isMessage).map(({ message: { role, parts } }) => `${role} ${parts.map(({ type }) => type).join()}`);

describe('a prompt to a run of agentHandler', () => {
  it.each([
    ['in memory', () => undefined],
    ['that processes share', () => sharedLog()],
  ])('joins the run after the results of its tools, with a log %s', async (_, createLog) => {
    const { handler, model, tooling } = open({ log: createLog() });
    const run = id();
    const events = await firstValueFrom(
      streamOf(handler, run).pipe(
        tap((event) => {
          if (event.type !== 'toolStart') return;
          void patch(handler, run, { input: 'Hurry.' }).then(({ status }) => {
            expect(status).toBe(204);
            tooling.next('worked');
          });
        }),
        toArray(),
      ),
    );
    expect(rolesOf(events)).toEqual(['model text,toolCall', 'user toolResult', 'user text', 'model text']);
    expect(model.requests[1]?.messages.at(-1)).toEqual(userMessage('Hurry.'));
    expect(events.find(isResult)?.result.finishReason).toBe('stop');
  });

  it('is refused for a run of another owner, an unknown run, and one that has ended', async () => {
    const { handler, tooling } = open();
    const run = id();
    const ended = firstValueFrom(
      streamOf(handler, run).pipe(
        tap((event) => {
          if (event.type !== 'toolStart') return;
          void patch(handler, run, { input: 'Mine.' }, { 'x-user': 'eve' }).then(({ status }) => {
            expect(status).toBe(404);
            tooling.next('worked');
          });
        }),
        toArray(),
      ),
    );
    expect(rolesOf(await ended)).toEqual(['model text,toolCall', 'user toolResult', 'model text']);
    expect((await patch(handler, run, { input: 'Late.' })).status).toBe(404);
    expect((await patch(handler, id(), { input: 'Who?' })).status).toBe(404);
  });

  it.each([
    {},
    { input: [] },
    { input: [{ role: 'system', parts: [{ type: 'text', text: 'x' }] }] },
    { resume: 'x' },
    7,
  ])('is refused if it is %j', async (body) => {
    expect((await patch(open().handler, id(), body)).status).toBe(400);
  });

  it('joins once if another process resumes the run after it', async () => {
    const log = sharedLog();
    const store = mapStore();
    const run = id();
    const first = open({ store, log, checkpoints: true }, [[toolCall('work', {}, 'c1')], NEVER]);
    const joined = streamOf(first.handler, run).pipe(
      tap((event) => {
        if (event.type !== 'toolStart') return;
        void patch(first.handler, run, { input: 'Hurry.' }).then(() => first.tooling.next('worked'));
      }),
      filter((event) => event.type === 'turn'),
      take(1),
    );
    await firstValueFrom(joined);
    const stored = store.records.get(run);
    expect(JSON.stringify(stored?.record.checkpoint)).toContain('Hurry.');
    if (stored) store.records.set(run, { ...stored, record: { ...stored.record, executor: undefined } }); // it is dead
    const second = open({ store, log, checkpoints: true }, ['Done.']);
    const events = await firstValueFrom(streamOf(second.handler, run).pipe(toArray()));
    const messages = second.model.requests[0]?.messages.map(
      ({ role, parts }) => `${role} ${parts.map(({ type }) => type).join()}`,
    );
    expect(messages).toEqual(['user text', 'model toolCall', 'user toolResult', 'user text']);
    expect(events.find(isResult)?.result.messages).toHaveLength(4);
    expect(second.model.requests).toHaveLength(1);
  });
});
