import { describe, expect, it } from '@jest/globals';
import { EMPTY, lastValueFrom } from 'rxjs';
import type { StreamEvent } from '../../lib/core/event.js';
import { isResult } from '../../lib/core/eventGuards.js';
import type { Message } from '../../lib/core/message.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { isSavedConversation } from '../../lib/chat/savedConversation.js';
import { emptyView, failView, shownMessages, type View } from '../../lib/operators/view/view.js';
import { createViewFold } from '../../lib/operators/view/viewFold.js';
import { createRestorer } from '../../lib/transport/compactEvents.js';
import { hasForm } from '../../lib/transport/eventForm.js';

const call = { id: 'c1', name: 'look', arguments: { a: 1 } };
const usage = { input: 3, output: 4 };
const schema = { type: 'string' };

/** A run as a service sends it. */
const run: readonly object[] = [
  { type: 'text', text: 'Hello ' },
  { type: 'thinking', text: 'Hm' },
  { type: 'toolCallFragment', index: 0, ...call, arguments: '{"a":1}' },
  { type: 'toolCall', ...call },
  { type: 'metadata', metadata: { serverTools: [{ id: 's1', name: 'web', status: 'done' }] } },
  { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AAAA' } },
  { type: 'source', source: { type: 'source', url: 'https://x.example', title: 'X' } },
  {
    type: 'message',
    message: {
      role: 'model',
      parts: [
        { type: 'text', range: [0, 6] },
        { type: 'emitted', key: 'toolCall:c1' },
      ],
    },
  },
  { type: 'toolWaiting', ...call, question: { message: 'Which?', schema } },
  { type: 'toolStart', id: 'c1', name: 'look' },
  { type: 'toolProgress', id: 'c1', name: 'look', value: 5 },
  { type: 'nested', id: 'c1', name: 'look', event: { type: 'text', text: 'inner' } },
  { type: 'toolResult', id: 'c1', name: 'look', result: { ok: true } },
  { type: 'message', message: { role: 'user', parts: [{ type: 'emitted', key: 'toolResult:c1' }] } },
  { type: 'turn', turn: 1, finishReason: 'toolCalls', usage, metadata: {} },
  { type: 'message', message: { role: 'user', parts: [{ type: 'text', text: 'joined' }] } },
  { type: 'text', text: 'Done.', prefix: '\n' },
  { type: 'message', message: { role: 'model', parts: [{ type: 'text', text: 'Done.' }] } },
  { type: 'turn', turn: 2, finishReason: 'stop', usage, metadata: {} },
  {
    type: 'result',
    result: {
      finishReason: 'stop',
      usage,
      turns: 2,
      metadata: {},
      messages: [{ role: 'model', parts: [{ type: 'text', text: 'Done.' }] }],
    },
  },
];
const strange = [undefined, null, 5, 'x', '', '\ud800', true, [], {}, [null], [[]], [5], { type: 'text' }];

/** The value, with each strange value in the place of each of its fields. */
function* changed(value: unknown): Generator {
  yield* strange;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, field] of Object.entries(value))
    for (const other of changed(field))
      yield Object.assign(Array.isArray(value) ? [...(value as unknown[])] : { ...value }, { [key]: other });
}

/** What a page saves of a run, up to the first event that it refuses. */
function saved(events: readonly unknown[]): unknown {
  const restore = createRestorer();
  const fold = createViewFold(emptyView);
  let view: View = fold.start;
  let messages: readonly Message[] = [];
  try {
    for (const received of events) {
      const event = JSON.parse(JSON.stringify(received ?? null)) as Record<string, unknown> | null;
      if (!event || !hasForm(event)) throw new Error('The page has refused it.');
      const restored = restore(event as unknown as StreamEvent);
      view = fold.add(restored);
      if (isResult(restored)) ({ messages } = restored.result);
    }
  } catch {
    view = failView(view);
    messages = shownMessages(view);
  }
  return JSON.parse(
    JSON.stringify({ version: 1, exchanges: [{ id: 'e', run: 'r', input: [], messages, view }], selected: 'e' }),
  );
}

describe('an event with a strange field', () => {
  it.each(run.map((event, index) => ({ event, index })))(
    'a chat can be read again after $event',
    ({ event, index }) => {
      const rows = [...changed(event)];
      expect(rows.length).toBeGreaterThan(20);
      const lost = rows.filter(
        (row) => !isSavedConversation(saved(run.map((sent, at) => (at === index ? row : sent)))),
      );
      expect(lost).toEqual([]);
      expect(isSavedConversation(saved(run))).toBe(true);
    },
  );

  it('a view survives tools of the provider that are none', () => {
    const fold = createViewFold(emptyView);
    const event = { type: 'metadata', metadata: { serverTools: [null, 5, { id: 's', name: 'web' }] } };
    expect(fold.add(event as unknown as StreamEvent).messages).toMatchObject([
      { parts: [{ type: 'serverTool', tool: { id: 's' } }] },
    ]);
  });

  it('a message leaves out a part of a kind that the page does not know', () => {
    const restore = createRestorer();
    const parts = [
      { type: 'emitted', key: 'audio:0' },
      { type: 'text', text: 'Hi' },
    ];
    const event = { type: 'message', message: { role: 'model', parts } } as unknown as StreamEvent;
    expect(restore(event)).toEqual({ type: 'message', message: { role: 'model', parts: parts.slice(1) } });
  });

  it('a list of waiting runs with an entry that is none is refused', async () => {
    const list = new Response('{"runs":[null]}', { headers: { 'content-type': 'application/json' } });
    const agent = remoteAgent('/', { fetch: () => Promise.resolve(list) });
    await expect(lastValueFrom(agent.waiting?.() ?? EMPTY)).rejects.toMatchObject({ name: 'ProtocolError' });
  });
});
