import { describe, expect, it } from '@jest/globals';
import { concat, from, lastValueFrom, NEVER, toArray } from 'rxjs';
import type { StreamEvent } from '../../lib/core/event.js';
import type { PageTools } from '../../lib/chat/pageTools.js';
import { isForPage, untilBroken } from '../../lib/chat/waitingRuns.js';
import type { ToolCallView } from '../../lib/operators/view/view.js';

const tools = { has: (name: string) => name === 'locate' } as unknown as PageTools;
const call = (name: string, question?: object) =>
  ({ id: 'c', name, arguments: {}, question }) as unknown as ToolCallView;

describe('isForPage', () => {
  it.each([
    ['a tool of the page', call('locate'), tools, true],
    ['another tool', call('remove'), tools, false],
    ['a question with the name of a tool of the page', call('locate', { message: 'Hm?', schema: {} }), tools, false],
    ['a page without tools', call('locate'), undefined, false],
  ])('isForPage: %s', (_, waiting, own, expected) => {
    expect(isForPage(waiting, own)).toBe(expected);
  });
});

describe('untilBroken', () => {
  const text = { type: 'text', text: 'Hi' } as StreamEvent;
  const lost = { type: 'reconnecting', attempt: 1, delay: 1000, at: 1, reason: 'offline' } as StreamEvent;

  it.each([
    ['nothing of a connection that breaks at first', [lost, text], []],
    ['all events of one that breaks later', [text, lost, text], [text, lost, text]],
  ])('untilBroken emits %s', async (_, events, expected) => {
    expect(await lastValueFrom(untilBroken(from(events)).pipe(toArray()))).toEqual(expected);
  });

  it('untilBroken ends at once when the first connection breaks', async () => {
    expect(await lastValueFrom(untilBroken(concat(from([lost]), NEVER)).pipe(toArray()))).toEqual([]);
  });
});
