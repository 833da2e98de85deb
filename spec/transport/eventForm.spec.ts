import { describe, expect, it } from '@jest/globals';
import { from, lastValueFrom, toArray } from 'rxjs';
import type { StreamEvent } from '../../lib/core/event.js';
import { toView } from '../../lib/operators/toView.js';
import { fromAgUi } from '../../lib/chat/agUi/fromAgUi.js';
import { hasForm } from '../../lib/transport/eventForm.js';
import { fromServerSentEvents } from '../../lib/transport/fromServerSentEvents.js';
import { observe } from '../support/observe.js';
import { exampleEvents } from '../support/runs.js';

const strange: readonly unknown[] = [null, 5, true, [], {}, 'x'];

/** By the field of an event: a value that a view can show. Each strange value of another kind is broken. */
const fields: readonly (readonly [event: Record<string, unknown> & { readonly type: string }, field: string])[] = [
  [{ type: 'text', text: 'Hi' }, 'text'],
  [{ type: 'text', text: 'Hi', prefix: '' }, 'prefix'],
  [{ type: 'thinking', text: 'Hm' }, 'text'],
  [{ type: 'toolCall', id: 'c', name: 'f', arguments: {} }, 'id'],
  [{ type: 'toolCall', id: 'c', name: 'f', arguments: {} }, 'name'],
  [{ type: 'toolCall', id: 'c', name: 'f', arguments: {} }, 'arguments'],
  [{ type: 'toolWaiting', id: 'c', name: 'f', arguments: {} }, 'arguments'],
  [{ type: 'toolWaiting', id: 'c', name: 'f', arguments: {}, question: { message: 'Hm?', schema: {} } }, 'question'],
  [{ type: 'toolStart', id: 'c', name: 'f', arguments: {} }, 'id'],
  [{ type: 'toolProgress', id: 'c', name: 'f', value: 1 }, 'id'],
  [{ type: 'toolResult', id: 'c', name: 'f', result: 1 }, 'name'],
  [{ type: 'nested', id: 'c', name: 'f', event: { type: 'text', text: 'Hi' } }, 'id'],
  [{ type: 'nested', id: 'c', name: 'f', event: { type: 'text', text: 'Hi' } }, 'event'],
  [{ type: 'file', file: { type: 'file', mediaType: 'image/png', data: '' } }, 'file'],
  [{ type: 'source', source: { type: 'source', url: 'https://x.example' } }, 'source'],
  [{ type: 'message', message: { role: 'model', parts: [] } }, 'message'],
  [{ type: 'result', result: { messages: [] } }, 'result'],
];
const kindOf = (value: unknown) => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);
const rows = fields.flatMap(([event, field]) =>
  strange
    .filter((value) => kindOf(value) !== kindOf(event[field]))
    .map((value) => ({ field, value, event, broken: { ...event, [field]: value } })),
);

describe('the form of an event from elsewhere', () => {
  it.each(rows)('hasForm refuses $value as $field of $event.type', ({ event, broken }) => {
    expect([hasForm(event), hasForm(broken)]).toEqual([true, false]);
    const inner = { type: 'nested', id: 'c', name: 'f', event: broken };
    expect(hasForm(inner)).toBe(false);
  });

  it('hasForm accepts all events of a run, and events of unknown types', () => {
    expect(exampleEvents().filter((event) => !hasForm(event as unknown as Record<string, unknown>))).toEqual([]);
    expect([{ type: 'own' }, { type: 'constructor' }, { type: '__proto__' }].every(hasForm)).toBe(true);
    expect([{}, { type: 'turn', usage: { input: { valueOf: 1 } } }].some(hasForm)).toBe(false);
    expect([{ type: 5 }, { type: 'message', message: { parts: [null] } }].some(hasForm)).toBe(false);
  });

  it('fromServerSentEvents fails with a ProtocolError after a broken event, and shows what came before', async () => {
    const sent = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
    for (const { broken } of rows) {
      const body = sent({ type: 'text', text: 'Before.' }) + sent(broken) + 'event: end\ndata: {}\n\n';
      const response = () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      const view = await lastValueFrom(
        fromServerSentEvents('/', {}, { fetch: () => Promise.resolve(response()) }).pipe(toView()),
      );
      expect(view).toMatchObject({ status: 'failed', error: { name: 'ProtocolError' } });
      expect(view.messages).toMatchObject([{ parts: [{ type: 'text', text: 'Before.' }] }]);
    }
  });

  it.each(['file', 'source', 'nested'])('fromAgUi takes a broken %s for a custom event of others', async (type) => {
    const custom = { type: 'CUSTOM', name: `rivulet.${type}`, value: { id: 'c', name: 'f', [type]: null } };
    const run = [{ type: 'RUN_STARTED' }, custom, { type: 'RUN_FINISHED' }] as readonly StreamEvent[];
    expect(await lastValueFrom(from(run).pipe(fromAgUi(), toArray()))).toContain(custom);
    expect(observe(from(run).pipe(fromAgUi(), toView())).error).toBeUndefined();
  });
});
