import { describe, expect, it } from '@jest/globals';
import { concat, from, NEVER, of, throwError } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { joinHalves } from '../../lib/core/wholeCharacters.js';
import { agUiResponse } from '../../lib/service/agUi/agUiResponse.js';
import { uiMessageResponse } from '../../lib/service/uiChat/uiMessageResponse.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { smooth } from '../../lib/operators/smooth.js';
import { toText } from '../../lib/operators/toText.js';
import { toView } from '../../lib/operators/toView.js';
import { observe } from '../support/observe.js';

const text = (value: string): Chunk => ({ type: 'text', text: value });
const thinking = (value: string): Chunk => ({ type: 'thinking', text: value });
const finish: Chunk = { type: 'finish', reason: 'stop' };
const metadata: Chunk = { type: 'metadata', metadata: { id: 'r1' } };
const face = '\u{1F600}';
const [first, second] = ['\ud83d', '\ude00'];
const halves = ['a', first, second, `b${first}`, `${second}c`];
const isWellFormed = (value: unknown) => !/\\ud[89a-f]/i.test(JSON.stringify(value));

function join(...events: readonly StreamEvent[]): StreamEvent[] {
  const joined: StreamEvent[] = [];
  events.forEach(joinHalves((event) => joined.push(event)));
  return joined;
}

describe('joinHalves', () => {
  it.each<[string, Chunk[], Chunk[]]>([
    ['passes whole deltas', [text('a'), text(face), text('')], [text('a'), text(face), text('')]],
    ['joins two halves', [text(`a${first}`), text(`${second}b`)], [text('a'), text(`${face}b`)]],
    ['joins halves of their own', [text(first), text(second)], [text(face)]],
    ['keeps the pairs of thinking', [thinking(first), thinking(second)], [thinking(face)]],
    ['joins around metadata', [text(first), metadata, text(second)], [metadata, text(face)]],
    ['replaces a first half at the end', [text(`a${first}`), finish], [text('a'), text('\ufffd'), finish]],
    ['replaces a half of another kind', [thinking(first), text(second)], [thinking('\ufffd'), text('\ufffd')]],
    ['replaces a second half', [text(`a${second}`)], [text('a\ufffd')]],
    ['replaces a first half before another', [text(first), text(first + second)], [text(`\ufffd${face}`)]],
    ['replaces a half inside', [text(`a${first}b`)], [text('a\ufffdb')]],
    ['drops the half of a turn that is retracted', [text(first), { type: 'retract' }], [{ type: 'retract' }]],
  ])('%s', (_, events, joined) => expect(join(...events)).toEqual(joined));
});

describe('a provider that sends the halves of a character in two deltas', () => {
  const model = {
    provider: 'x',
    name: 'x',
    stream: () => concat(from(halves.map(text)), of(finish)),
  };
  const run = () => createAgent({ model }).stream('x');

  it.each([
    ['the events of an agent', () => run()],
    ['toText', () => run().pipe(toText())],
    ['toView', () => run().pipe(toView())],
    ['smooth', () => run().pipe(smooth({ interval: 1, maxDelay: 1 }))],
  ])('makes well-formed values: %s', (_, values) => {
    const seen = observe(concat(values(), NEVER)).values;
    expect(JSON.stringify(seen)).toContain(face);
    expect(seen.filter((value) => !isWellFormed(value))).toEqual([]);
  });

  it.each([
    ['AG-UI', () => agUiResponse(run(), { threadId: 't', runId: 'r', messages: [] })],
    ['useChat', () => uiMessageResponse(run())],
  ])('makes well-formed frames: %s', async (_, respond) => {
    const body = await respond().text();
    expect(body).toContain(face);
    expect(body).not.toMatch(/\\ud[89a-f]|\ufffd/i);
  });

  it('consolidate emits whole characters, also when its source fails', () => {
    const failed = observe(
      concat(
        from([text(first), text(second), text(`b${first}`)]),
        throwError(() => new Error('cut')),
      ).pipe(consolidate()),
    );
    expect(failed.values).toEqual([text(face), text('b')]);
  });
});
