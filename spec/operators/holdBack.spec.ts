import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Subject, concat, from, map, of, throwError } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { holdBack } from '../../lib/operators/holdBack.js';
import { stopResponse } from '../../lib/core/response.js';
import { stopOn } from '../../lib/operators/stopOn.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';

const text = (value: string): Chunk => ({ type: 'text', text: value });
const finish: Chunk = { type: 'finish', reason: 'stop' };
const endOfLastWord = (value: string) => value.lastIndexOf(' ') + 1;
const held = (chunks: readonly Chunk[]) => observe(from(chunks).pipe(holdBack<Chunk>(endOfLastWord))).values;
const textsOf = (chunks: readonly Chunk[]) => chunks.flatMap((chunk) => (chunk.type === 'text' ? [chunk.text] : []));

describe('holdBack', () => {
  it('holdBack emits complete words', () => diagram('holdBack', ({ source }) => source.pipe(holdBack(endOfLastWord))));

  it.each(operatorContract(holdBack<Chunk>(endOfLastWord), { source: [text('a '), text('b '), finish] }))(
    'holdBack $title',
    ({ run }) => run(),
  );

  it('holdBack loses nothing and cuts no word, however the text is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[ab ]{0,4}$/)), (texts) => {
        const emitted = textsOf(held([...texts.map(text), finish]));
        expect(emitted.join('')).toBe(texts.join(''));
        expect(emitted.slice(0, -1).every((part) => part.endsWith(' ') || part === '')).toBe(true);
      }),
    );
  });

  it('holdBack emits a delta as it is if nothing is held and all of it is decided', () => {
    const delta = text('one two ');
    expect(held([delta])[0]).toBe(delta);
  });

  it.each<[string, Chunk]>([
    ['thinking', { type: 'thinking', text: 't' }],
    ['a fragment of a call', { type: 'toolCallFragment', name: 'f' }],
    ['a source', { type: 'source', source: { type: 'source', url: 'https://a.test' } }],
    ['a provider part', { type: 'provider', provider: 'p', data: {} }],
    ['the finish', finish],
  ])('holdBack releases the text before %s', (_, chunk) => {
    expect(held([text('one tw'), chunk, text('o ')])).toEqual([text('one '), text('tw'), chunk, text('o ')]);
  });

  it.each<[string, Chunk]>([
    ['metadata', { type: 'metadata', metadata: {} }],
    ['a retry', { type: 'retry', attempt: 1, delay: 0, error: {} }],
  ])('holdBack holds the text while %s passes', (_, chunk) => {
    expect(held([text('tw'), chunk, text('o ')])).toEqual([chunk, text('two ')]);
  });

  it('holdBack drops the text on retract', () => {
    expect(held([text('tw'), { type: 'retract' }, text('one '), finish])).toEqual([
      { type: 'retract' },
      text('one '),
      finish,
    ]);
  });

  it('holdBack releases the text before an error and the completion', () => {
    const lost = new Error('lost');
    const failing = concat(
      of(text('tw')),
      throwError(() => lost),
    );
    expect(observe(failing.pipe(holdBack<Chunk>(endOfLastWord)))).toMatchObject({ values: [text('tw')], error: lost });
    expect(observe(of(text('tw')).pipe(holdBack<Chunk>(endOfLastWord)))).toMatchObject({
      values: [text('tw')],
      completed: true,
    });
  });

  it('holdBack releases the text when the response is stopped, around the model and after stopOn', () => {
    const expected = [text('one '), text('tw'), { type: 'finish', reason: 'stopped' }];
    const source = new Subject<Chunk>();
    const stop = new Subject<void>();
    const held = pipeModel(scriptedModel([source]), holdBack(endOfLastWord));
    const inside = observe(stopResponse(held, { messages: [] }, stop));
    const outside = observe(source.pipe(stopOn<Chunk>(stop), holdBack<Chunk>(endOfLastWord)));
    source.next(text('one tw'));
    stop.next();
    expect([inside.values, outside.values]).toEqual([expected, expected]);
  });

  it('holdBack emits a text that is longer than the limit, and so is linear', () => {
    let read = 0;
    const nothing = (value: string) => {
      read += value.length;
      return 0;
    };
    const deltas = Array.from({ length: 5000 }, () => text('ab'));
    const { values } = observe(from(deltas).pipe(holdBack<Chunk>(nothing, { limit: 10 })));
    expect(textsOf(values).join('')).toBe('ab'.repeat(5000));
    expect(Math.max(...textsOf(values).map(({ length }) => length))).toBe(12);
    expect(read).toBeLessThan(5000 * 12);
  });

  it('holdBack counts only the text that is held towards the limit', () => {
    const { values } = observe(
      from([text('one two three fo'), text('ur '), finish]).pipe(holdBack<Chunk>(endOfLastWord, { limit: 3 })),
    );
    expect(values).toEqual([text('one two three '), text('four '), finish]);
  });

  it('holdBack fails if the limit is negative', () => {
    const { error } = observe(of(text('a')).pipe(holdBack<Chunk>(endOfLastWord, { limit: -1 })));
    expect(error).toMatchObject({ code: 'configuration', message: expect.stringContaining('limit is -1.') });
  });

  it.each([-1, NaN])('holdBack takes %s for nothing that is decided', (length) => {
    expect(observe(of(text('ab'), finish).pipe(holdBack<Chunk>(() => length))).values).toEqual([text('ab'), finish]);
  });

  it('holdBack makes a filter of words possible, whose history contains what was shown', () => {
    const cuts = [['da', 'rn', ' it, da', 'rn']];
    const polite = pipeModel(
      scriptedModel(cuts),
      holdBack(endOfLastWord),
      map((chunk) => (chunk.type === 'text' ? { ...chunk, text: chunk.text.replace(/darn/g, '****') } : chunk)),
    );
    expect(observe(createAgent({ model: polite }).run('Hi')).values).toMatchObject([
      { text: '**** it, ****', messages: [{ parts: [{ text: '**** it, ****' }] }] },
    ]);
  });

  it('holdBack releases the text through the filters after it when a run is stopped', () => {
    const [chunks, stop] = [new Subject<Chunk>(), new Subject<void>()];
    const polite = pipeModel(
      scriptedModel([chunks]),
      holdBack(endOfLastWord),
      map((chunk) => (chunk.type === 'text' ? { ...chunk, text: chunk.text.replace(/darn/g, '****') } : chunk)),
    );
    const { values } = observe(createAgent({ model: polite }).run('Hi', { stop }));
    chunks.next(text('the darn'));
    stop.next();
    expect(values).toMatchObject([{ text: 'the ****', messages: [{ parts: [{ text: 'the ****' }] }] }]);
  });
});
