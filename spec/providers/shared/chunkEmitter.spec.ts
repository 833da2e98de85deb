import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../lib/core/chunk.js';
import { createChunkEmitter } from '../../../lib/providers/shared/chunkEmitter.js';

const setUp = () => {
  const chunks: Chunk[] = [];
  return { chunks, emitter: createChunkEmitter('toy', (chunk) => chunks.push(chunk)) };
};
const text = (value: string): Chunk => ({ type: 'text', text: value });
/** The last chunk of a response with these finish reasons, and with a chunk between the two. */
const finishAfter = (between?: Chunk) => {
  const { chunks, emitter } = setUp();
  emitter.setFinishReason('stop', 'STOP');
  if (between) emitter.emit(between);
  emitter.setFinishReason('length', 'MAX_TOKENS');
  emitter.emitFinish();
  return chunks.at(-1);
};

describe('createChunkEmitter', () => {
  it('createChunkEmitter emits the metadata once, before the first chunk, with the first value of each name', () => {
    const { chunks, emitter } = setUp();
    emitter.addMetadata('model', 'a');
    emitter.addMetadata('model', 'b');
    emitter.addMetadata('id', undefined);
    expect(chunks).toEqual([]);
    emitter.emit(text('x'));
    emitter.addMetadata('late', true);
    emitter.emit(text('y'));
    expect(chunks).toEqual([{ type: 'metadata', metadata: { model: 'a' } }, text('x'), text('y')]);
  });

  it('createChunkEmitter returns an emitter whose emit may be passed on without it', () => {
    const { chunks, emitter } = setUp();
    emitter.addMetadata('model', 'a');
    const { emit } = emitter as { readonly emit: (chunk: Chunk) => void };
    emit(text('x'));
    expect(chunks).toEqual([{ type: 'metadata', metadata: { model: 'a' } }, text('x')]);
  });

  it('createChunkEmitter keeps the first finish reason if nothing, or nothing with content, follows it', () => {
    const first = { type: 'finish', reason: 'stop', rawReason: 'STOP' };
    expect(finishAfter()).toEqual(first);
    expect(finishAfter(text(''))).toEqual(first);
    expect(finishAfter({ type: 'thinking', text: '' })).toEqual(first);
    expect(finishAfter({ type: 'metadata', metadata: {} })).toEqual(first);
  });

  it.each<[string, Chunk]>([
    ['text', text('x')],
    ['thinking', { type: 'thinking', text: 'x' }],
    ['a fragment', { type: 'toolCallFragment', name: 'f' }],
    ['a file', { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AQID' } }],
  ])('createChunkEmitter replaces a finish reason that is followed by %s', (_, chunk) => {
    expect(finishAfter(chunk)).toEqual({ type: 'finish', reason: 'length', rawReason: 'MAX_TOKENS' });
  });

  it('createChunkEmitter replaces input and output counts as groups, and ignores a usage without counts', () => {
    const { chunks, emitter } = setUp();
    emitter.setUsage({ input: 10, cachedInput: 5, output: 1, total: 11 });
    emitter.setUsage({ output: 7, reasoning: 3 });
    emitter.setUsage({});
    emitter.emitFinish();
    emitter.setUsage({ input: 20, total: 27 });
    emitter.emitFinish();
    expect(chunks).toMatchObject([
      { usage: { input: 10, cachedInput: 5, output: 7, reasoning: 3, total: 17 } },
      { usage: { input: 20, output: 7, reasoning: 3, total: 27 } },
    ]);
    expect(chunks[1]).not.toHaveProperty('usage.cachedInput');
  });

  it('createChunkEmitter reports an interruption with what arrived, without a finish reason and terminal mark', () => {
    const { emitter } = setUp();
    emitter.emit(text('four'));
    emitter.emit({ type: 'toolCallFragment', name: 'f' });
    expect(() => emitter.finishReason(false)).toThrow(
      'The response of toy ended without a finish reason, after 4 characters of text and thinking and 1 fragments of tool calls.',
    );
    expect(emitter.isComplete(false)).toBe(false);
    expect(emitter.finishReason(true)).toBe('unspecified');
  });

  it('createChunkEmitter lets a wire replace the finish reason', () => {
    const { chunks, emitter } = setUp();
    emitter.setFinishReason('stop', 'stop');
    emitter.emitFinish('contentFilter');
    expect(chunks).toEqual([{ type: 'finish', reason: 'contentFilter', rawReason: 'stop' }]);
  });
});
