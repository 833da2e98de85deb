import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Exchange } from '../../lib/chat/exchange.js';
import { commonMarks, marksOf, mergeSaved } from '../../lib/chat/mergeSaved.js';
import { isSavedConversation, savedConversation } from '../../lib/chat/savedConversation.js';
import { followingId } from '../../lib/transport/randomId.js';
import type { ViewStatus } from '../../lib/operators/view/view.js';

const run = '0'.repeat(24) + 'ffffffff'; // the id of the run that follows has fewer digits that count
const view = (status: ViewStatus) => ({ status, messages: [], usage: {} });
const exchange = (status: ViewStatus, more: Partial<Exchange> = {}): Exchange => ({
  id: 'e',
  run,
  input: [],
  messages: [],
  view: view(status),
  ...more,
});
const answers = { decisions: { c: { approve: true } } } as const;

/** The states of an exchange, in the order in which a run goes through them. */
const states: readonly (readonly [string, Exchange])[] = [
  ['is sent', exchange('sending', { base: view('idle') })],
  ['could not be reached', exchange('failed')],
  ['waits', exchange('waiting')],
  ['is resumed without answers', exchange('sending', { base: view('waiting') })],
  ['is sent with answers', exchange('sending', { base: view('waiting'), answers })],
  ['goes on', exchange('sending', { run: followingId(run), base: view('waiting'), hasBegun: true })],
  ['waits once more', exchange('waiting', { run: followingId(run) })],
  ['has ended', exchange('idle', { run: followingId(run) })],
];
const pairs = states.flatMap(([earlier, a], index) =>
  states
    .slice(index + 1)
    .filter(([later]) => earlier !== 'is resumed without answers' || later !== 'is sent with answers') // either is right
    .map(([later, b]) => [earlier, later, a, b] as const),
);

const saved = (...exchanges: readonly Exchange[]) => savedConversation(exchanges, exchanges.at(-1)?.id);

/** Conversations of two devices with the same prompts, in their own orders, each after any of its earlier ones. */
const conversations = fc.tuple(
  ...[0, 1].map(() =>
    fc
      .tuple(
        fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e', 'f']),
        fc.array(fc.tuple(fc.nat(), fc.boolean()), { minLength: 6, maxLength: 6 }),
      )
      .map(([ids, choices]) =>
        ids.map((id, index) => {
          const [parent, isReduced] = choices[index] ?? [0, false];
          return exchange('idle', { id, parent: ids[(parent % (index + 1)) - 1], ...(isReduced ? { isReduced } : {}) });
        }),
      ),
  ),
);

describe('mergeSaved', () => {
  it.each([
    ['this tab', 'a', 'b', 'b'],
    ['another tab', 'b', 'a', 'b'],
    ['this tab, in another branch', 'c', 'b', 'c'],
  ])('mergeSaved does not hide what follows: the last exchange is selected by %s', (_, own, theirs, expected) => {
    const list = [exchange('idle', { id: 'a' }), ...['b', 'c'].map((id) => exchange('idle', { id, parent: 'a' }))];
    const stored = savedConversation(list, theirs);
    expect(mergeSaved(stored, {}, savedConversation(list, own)).selected).toBe(expected);
    expect(mergeSaved(stored, { selected: theirs }, savedConversation(list, own)).selected).toBe(expected);
  });

  it('mergeSaved keeps what both devices have readable, whatever the order in which they have sent it', () => {
    fc.assert(
      fc.property(conversations, ([theirs = [], own = []]) => {
        const merged: unknown = JSON.parse(JSON.stringify(mergeSaved(saved(...theirs), {}, saved(...own))));
        expect(isSavedConversation(merged)).toBe(true);
        const { exchanges } = merged as { exchanges: readonly Exchange[] };
        const ids = new Set([...theirs, ...own].map(({ id }) => id));
        expect(exchanges.map(({ id }) => id).sort()).toEqual([...ids].sort());
      }),
      { numRuns: 500 },
    );
  });

  it('mergeSaved keeps the order of exchanges when a full storage had room for the newest only', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((id) => exchange('idle', { id })) as [Exchange, Exchange, Exchange];
    const stored = saved({ ...b, isReduced: true });
    const merged = mergeSaved(stored, marksOf(saved(a, b)), saved(a, b, c));
    expect(merged.exchanges).toEqual([a, b, c]);
  });

  it.each(pairs)('takes, of an exchange that %s and one that %s, the later one in both orders', (_, __, a, b) => {
    for (const [theirs, own] of [
      [a, b],
      [b, a],
    ] as const)
      expect(mergeSaved(saved(theirs), {}, saved(own)).exchanges).toEqual([b]);
  });

  it.each(pairs)('takes an exchange that %s, or %s, from the copy that has changed it', (_, __, a, b) => {
    for (const [before, changed] of [
      [a, b],
      [b, a],
    ] as const) {
      expect(mergeSaved(saved(before), marksOf(saved(before)), saved(changed)).exchanges).toEqual([changed]);
      expect(mergeSaved(saved(changed), marksOf(saved(before)), saved(before)).exchanges).toEqual([changed]);
    }
  });

  it('keeps the exchanges of both copies, with the selection of the one that has changed it', () => {
    const [first, mine, theirs] = ['e', 'mine', 'theirs'].map((id) => ({ ...exchange('idle'), id }));
    if (!first || !mine || !theirs) throw new Error('There are three exchanges.');
    const before = marksOf(saved(first));
    const merged = mergeSaved(saved(first, theirs), before, savedConversation([first, mine], 'e'));
    expect(merged.exchanges.map(({ id }) => id)).toEqual(['e', 'theirs', 'mine']);
    expect(merged.selected).toBe('theirs');
    expect(mergeSaved(saved(first), before, saved(first, mine)).selected).toBe('mine');
  });

  it('drops a prompt that one copy has removed or sent, and keeps one that was added', () => {
    const queue = (...ids: readonly string[]) =>
      savedConversation(
        [],
        undefined,
        ids.map((id) => ({ id, input: id })),
      );
    const before = marksOf(queue('a', 'b', 'c'));
    expect(mergeSaved(queue('a', 'b', 'theirs'), before, queue('b', 'c', 'mine')).queued).toEqual(
      queue('b', 'theirs', 'mine').queued,
    );
    const sent = { ...exchange('idle'), id: 'b' };
    expect(mergeSaved(saved(sent), before, queue('b')).queued).toBeUndefined();
  });

  it('commonMarks has what is equal in both copies, and otherwise what they had in common before', () => {
    expect(commonMarks({ a: '1', b: '1', c: '1' }, { a: '2', b: '2', d: '1' }, { a: '2', b: '3', e: '1' })).toEqual({
      a: '2',
      b: '1',
    });
  });
});
