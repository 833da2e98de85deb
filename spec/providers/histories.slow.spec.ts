import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, Subject, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { errorText } from '../../lib/core/errors.js';
import type { RunEvent } from '../../lib/core/event.js';
import { failedRunOf } from '../../lib/core/failedRun.js';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';
import { keepRecent } from '../../lib/core/keepRecent.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool, toolDefinition } from '../../lib/core/tool.js';
import { summarize } from '../../lib/models/summarize.js';
import { modelByName, registeredProviders } from '../../lib/providers/registry/index.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Step } from '../../lib/testing/index.js';
import type { ServedTurn, ServeOptions } from '../../lib/testing/server/index.js';
import { basePath, createResponder } from '../../lib/testing/server/responder.js';
import type { Script } from '../../lib/testing/script.js';

const origin = 'http://127.0.0.1:9';
const look = tool({ name: 'look', description: 'Looks.', execute: () => 'A river.' });

/** A `fetch` that a loopback server answers, without sockets: each frame is one read. */
function loopback(script: Script<ServedTurn>, options: ServeOptions = {}): typeof fetch {
  const respond = createResponder(script, options);
  let order = 0;
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const answer = respond({
      order: order++,
      method: init.method ?? 'GET',
      path: url.slice(origin.length),
      headers: Object.fromEntries(new Headers(init.headers)),
      body: typeof init.body === 'string' ? (JSON.parse(init.body) as JsonValue) : '',
    });
    const writes = await lastValueFrom(answer.body.pipe(toArray()));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const { bytes } of writes) controller.enqueue(bytes);
        if (writes.at(-1)?.then === 'reset') controller.error(new Error('broken'));
        else controller.close();
      },
    });
    return new Response(body, { status: answer.status, headers: answer.headers });
  };
}

const modelAt = (provider: string, fetch: typeof globalThis.fetch): Model =>
  modelByName(provider, { baseUrl: origin + basePath(provider), apiKey: 'key', fetch, retry: false });

const block = (raw: JsonObject): Chunk => ({ type: 'metadata', metadata: { serverTools: [{ raw }] } });
const text = (value: string): Chunk => ({ type: 'text', text: value });
const think: Chunk = { type: 'thinking', text: 'Hm.' };
const search = (id: string) => block({ type: 'server_tool_use', id, name: 'web_search', input: { query: 'a' } });
const found = (id: string) => block({ type: 'web_search_tool_result', tool_use_id: id, content: [] });
const webSearch = (id: string): Chunk => ({
  type: 'metadata',
  metadata: {
    serverTools: [
      { id, name: 'web_search', raw: { id, type: 'web_search_call', status: 'completed', action: { type: 'search' } } },
    ],
  },
});

/** What the providers with tools of their own send in addition, in each of three turns. */
const ownTools: Readonly<Record<string, readonly (readonly Step[])[]>> = {
  anthropic: [
    [search('srvtoolu_1'), found('srvtoolu_1'), think, search('srvtoolu_2')],
    [found('srvtoolu_2'), think],
    [think, search('srvtoolu_3')],
  ],
  openai: [[webSearch('ws_1')], [webSearch('ws_2')], []],
};

/** The turns of a run: thinking, texts, calls, and what the provider's own tools do. */
function turnsOf(provider: string): readonly (readonly Step[])[] {
  const [first = [], second = [], third = []] = ownTools[provider] ?? [];
  return [
    [think, text('I look. '), ...first, toolCall('look', { at: 'a' }, 'call00001'), toolCall('look', {}, 'call00002')],
    [...second, think, toolCall('look', { at: 'b' }, 'call00003')],
    [think, text('A river.'), ...third, think],
  ];
}

/** Runs the turns, and returns the history that is left. Stops at the event with this index. */
async function historyOf(provider: string, fetch: typeof globalThis.fetch, stopAt = Infinity) {
  const stop = new Subject<void>();
  const events: RunEvent[] = [];
  const agent = createAgent({ model: modelAt(provider, fetch), tools: [look], maxTurns: 4 });
  const error = await new Promise<unknown>((resolve) =>
    agent.stream('Look.', { stop }).subscribe({
      next(event) {
        if (events.push(event) === stopAt) stop.next();
      },
      error: resolve,
      complete: () => resolve(undefined),
    }),
  );
  const failed = failedRunOf(error);
  const partial = failed && failed.partialText !== '' ? [modelMessage(failed.partialText)] : [];
  const messages = events.flatMap((event) => (event.type === 'result' ? event.result.messages : []));
  return { events, history: [userMessage('Look.'), ...(failed?.messages ?? messages), ...partial] };
}

/** The histories that a service may send next: a question appended, all or the end of it, and a summary of the rest. */
function nextHistories(history: readonly Message[]): readonly (readonly Message[])[] {
  const asked = [...history, userMessage('Go on.')];
  const states = history.flatMap((message, index) =>
    message.role === 'user' && index > 0 ? [history.slice(0, index + 1)] : [],
  );
  return [asked, ...states].flatMap((messages) => [
    messages,
    ...messages.map((_, index) => keepRecent({ messages: index + 1 })(messages)),
    ...messages.map((_, index) => summarized(messages, index + 1)),
  ]);
}

function summarized(messages: readonly Message[], kept: number): readonly Message[] {
  let result = messages;
  summarize({ model: scriptedModel(['Short.']), when: () => true, keep: { messages: kept } })(messages).subscribe(
    (history) => (result = history),
  );
  return result;
}

/** Sends each history once, and expects that the server accepts it. */
class Sent {
  private readonly seen = new Set<string>();

  constructor(private readonly provider: string) {}

  async expectAccepted(history: readonly Message[], how: string, server?: typeof fetch): Promise<void> {
    for (const messages of nextHistories(history)) {
      const key = JSON.stringify(messages);
      if (this.seen.has(key)) continue;
      this.seen.add(key);
      const request = { messages, tools: [toolDefinition(look)] };
      const refusal = await new Promise<unknown>((resolve) =>
        modelAt(this.provider, server ?? loopback(() => 'Hi.'))
          .stream(request)
          .subscribe({ error: resolve, complete: () => resolve(undefined) }),
      );
      if (refusal !== undefined) throw new Error(`${this.provider}, ${how}: ${errorText(refusal)}\n${key}`);
    }
    expect(this.seen.size).toBeGreaterThan(0);
  }
}

const reasons = ['stop', 'length', 'toolCalls', 'contentFilter', 'paused', 'unspecified'] as const;

describe.each(registeredProviders().map(({ name }) => name))('the history of a run with %s', (provider) => {
  const turns = turnsOf(provider);

  it('is accepted, whichever event it was stopped at', async () => {
    const sent = new Sent(provider);
    const { events, history } = await historyOf(provider, loopback(turns));
    await sent.expectAccepted(history, 'complete');
    for (let stopAt = 1; stopAt <= events.length; stopAt++) {
      const script = loopback((request) => turns[request.turn - 1] ?? 'Hi.');
      const stopped = await historyOf(provider, script, stopAt);
      await sent.expectAccepted(stopped.history, `stopped at event ${stopAt}`);
    }
  });

  it('is accepted, wherever a response was cut off', async () => {
    const sent = new Sent(provider);
    for (let turn = 0; turn < turns.length; turn++)
      for (let frames = 1; frames <= 40; frames++) {
        const forRequest = turns.map((_, index) => (index === turn ? { endEarly: frames } : undefined));
        const { history } = await historyOf(provider, loopback(turns, { forRequest }));
        await sent.expectAccepted(history, `turn ${turn + 1} cut after ${frames} frames`);
      }
  });

  it.each(reasons)('is accepted after a response that finishes with %s', async (reason) => {
    const sent = new Sent(provider);
    for (const [turn, steps] of turns.entries())
      for (let length = 1; length <= steps.length; length++) {
        const cut: readonly Step[] = [...steps.slice(0, length), { type: 'finish', reason }];
        const script = loopback((request) => (request.turn - 1 === turn ? cut : (turns[request.turn - 1] ?? 'Hi.')));
        const { history } = await historyOf(provider, script);
        await sent.expectAccepted(history, `turn ${turn + 1} finished with ${reason} after ${length} steps`);
      }
  });

  it('is accepted by the server that has stored its responses', async () => {
    const server = loopback((request) => turns[request.turn - 1] ?? 'Hi.');
    const { history } = await historyOf(provider, server);
    await new Sent(provider).expectAccepted(history, 'stored', server);
  });
});
