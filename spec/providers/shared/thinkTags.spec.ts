import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { concat, from, of, throwError } from 'rxjs';
import type { Chunk } from '../../../lib/core/chunk.js';
import { extractThinking } from '../../../lib/providers/shared/thinkTags.js';
import { observe } from '../../support/observe.js';
import { pushThrough } from '../../support/pushThrough.js';

const text = (value: string): Chunk => ({ type: 'text', text: value });
const finish: Chunk = { type: 'finish', reason: 'stop' };

function through(chunks: readonly Chunk[]): Chunk[] {
  const out: Chunk[] = [];
  const tags = pushThrough(extractThinking(), (chunk) => out.push(chunk));
  for (const chunk of chunks) tags.next(chunk);
  tags.release();
  return out;
}
const joined = (chunks: readonly Chunk[], type: 'text' | 'thinking') =>
  chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('');
const separated = (...pieces: string[]) => {
  const out = through(pieces.filter((piece) => piece !== '').map(text));
  expect(out.every((chunk) => (chunk.type === 'text' || chunk.type === 'thinking') && chunk.text !== '')).toBe(true);
  return [joined(out, 'thinking'), joined(out, 'text')];
};

describe('extractThinking: chunk by chunk', () => {
  const cases: [string, string, string][] = [
    ['<think>why</think>because', 'why', 'because'],
    ['<think>\nwhy\n</think>\n\nbecause', '\nwhy\n', '\nbecause'],
    ['<think>a</think>\r\nb', 'a', 'b'],
    ['<think>a</think>\rb', 'a', '\rb'],
    [' \n<think>a</think>b', 'a', 'b'],
    ['<think></think>b', '', 'b'],
    ['<think>a < b </thin </think>c', 'a < b </thin ', 'c'],
    ['<think>never closed </th', 'never closed </th', ''],
    ['Tags are <think>text</think> here', '', 'Tags are <think>text</think> here'],
    ['<think>a</think>b<think>c</think>', 'a', 'b<think>c</think>'],
    ['<thin air', '', '<thin air'],
    ['  plain', '', '  plain'],
    ['<think', '', '<think'],
    [' \n', '', ' \n'],
    ['<think>a</think>\r', 'a', '\r'],
    ['<think>a<</think>b', 'a<', 'b'],
  ];

  it('extractThinking separates thinking from text at the start of a message, for every cut', () => {
    for (const [message, thinking, answer] of cases) {
      for (let cut = 0; cut <= message.length; cut++)
        expect(separated(message.slice(0, cut), message.slice(cut))).toEqual([thinking, answer]);
      expect(separated(...message.split(/(?:)/))).toEqual([thinking, answer]);
    }
  });

  it('extractThinking emits the same however a message is cut', () => {
    const words = fc.array(fc.constantFrom('<think>', '</think>', '<', 'think', '>', '\n', '\r', ' ', 'a', '</', 'é'), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(words, fc.array(fc.nat(), { maxLength: 6 }), (parts, cuts) => {
        const message = parts.join('');
        const places = cuts.map((cut) => cut % (message.length + 1)).sort((a, b) => a - b);
        expect(
          separated(...[0, ...places].map((place, at) => message.slice(place, places[at] ?? message.length))),
        ).toEqual(separated(message));
      }),
    );
  });

  it('extractThinking holds back no more than the beginning of a tag', () => {
    const out: Chunk[] = [];
    const tags = pushThrough(extractThinking(), (chunk) => out.push(chunk));
    tags.next(text('<think>abc</thi'));
    expect(out).toEqual([{ type: 'thinking', text: 'abc' }]);
    tags.next(text('s'));
    expect(joined(out, 'thinking')).toBe('abc</this');
    tags.next(text('</think>x</th'));
    expect(joined(out, 'text')).toBe('x</th');
  });

  it('extractThinking keeps the order of the chunks, and joins a tag around chunks without a position', () => {
    const call: Chunk = { type: 'toolCallFragment', id: '1', name: 'f' };
    const metadata: Chunk = { type: 'metadata', metadata: { model: 'm' } };
    expect(through([text('<thi'), call, text('nk>')])).toEqual([text('<thi'), call, text('nk>')]);
    expect(through([text('<thi'), metadata, text('nk>a')])).toEqual([metadata, { type: 'thinking', text: 'a' }]);
    expect(through([text('<think>a</'), finish])).toEqual([
      { type: 'thinking', text: 'a' },
      { type: 'thinking', text: '</' },
      finish,
    ]);
    expect(through([call, text('<think>a')])).toEqual([call, { type: 'thinking', text: 'a' }]);
  });

  it('extractThinking starts over on retract, and keeps provider parts', () => {
    const retract: Chunk = { type: 'retract' };
    expect(through([text('<think>a</t'), retract, text('<think>b')])).toEqual([
      { type: 'thinking', text: 'a' },
      retract,
      { type: 'thinking', text: 'b' },
    ]);
    const signature: Chunk = { type: 'provider', provider: 'p', data: { s: 1 } };
    expect(through([text('<think>a'), signature])).toEqual([{ type: 'thinking', text: 'a' }, signature]);
  });

  it('extractThinking emits the held text before an error and the completion, for each subscriber', () => {
    const error = new Error('reset');
    const broken = concat(
      of(text('<think>a</th')),
      throwError(() => error),
    ).pipe(extractThinking());
    for (let n = 0; n < 2; n++) {
      const seen = observe(broken);
      expect(joined(seen.values, 'thinking')).toBe('a</th');
      expect(seen.error).toBe(error);
    }
    expect(observe(from([text('<thi')]).pipe(extractThinking()))).toMatchObject({
      values: [text('<thi')],
      completed: true,
    });
  });
});
