import { describe, expect, it } from '@jest/globals';
import { decodeCohere } from '../../../lib/providers/cohere/decode.js';
import { readSources } from '../../../lib/providers/cohere/decode.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { cohere as served } from '../../../lib/testing/server/dialects/cohere/cohere.js';
import { readAnswer } from '../../support/recordedAnswers.js';

describe('readSources', () => {
  it('readSources reads the usual fields of documents and tool outputs', () => {
    const sources = [
      {
        type: 'document',
        id: 'doc:0',
        document: { id: 'x', title: 'Rivers', snippet: 'The Loire.', url: 'https://a.test/' },
      },
      { type: 'tool', id: 'now:0', tool_output: { content: 'six' } },
      { type: 'document', document: { id: 'y', name: 'Lakes', link: 'https://b.test/' } },
      null,
    ];
    expect(readSources({ text: 'Loire', sources })).toEqual([
      { type: 'source', id: 'doc:0', url: 'https://a.test/', title: 'Rivers', text: 'The Loire.' },
      { type: 'source', id: 'now:0', text: 'six' },
      { type: 'source', id: 'y', url: 'https://b.test/', title: 'Lakes' },
    ]);
    expect(readSources('Loire')).toEqual([]);
  });

  it('readSources reads the fields of a document in `data`', () => {
    const source = {
      type: 'document',
      id: 'd1',
      document: { id: 'd1', data: { title: 'Rivers', text: 'The Loire.' } },
    };
    expect(readSources({ sources: [source] })).toEqual([
      { type: 'source', id: 'd1', title: 'Rivers', text: 'The Loire.' },
    ]);
  });

  it('readSources reads the position of a citation, but not that of a citation in thinking or a plan', () => {
    const citation = (type: string) => ({ start: 4, end: 9, type, sources: [{ id: 'd1' }] });
    expect(readSources({ start: 4, end: 9, sources: [{ id: 'd1' }] })).toEqual([
      { type: 'source', id: 'd1', start: 4, end: 9 },
    ]);
    expect(readSources(citation('TEXT_CONTENT'), 10)).toEqual([{ type: 'source', id: 'd1', start: 14, end: 19 }]);
    for (const type of ['THINKING_CONTENT', 'PLAN'])
      expect(readSources(citation(type), 10)).toEqual([{ type: 'source', id: 'd1' }]);
  });

  it('decodeCohere emits a source for each position, counted from the beginning of the text', () => {
    const start = (index: number, content: JsonObject) => ({
      type: 'content-start',
      index,
      delta: { message: { content } },
    });
    const cite = (from: number, contentIndex: number) => ({
      type: 'citation-start',
      index: 0,
      delta: {
        message: {
          citations: { start: from, end: from + 2, content_index: contentIndex, sources: [{ id: 'd1' }] },
        },
      },
    });
    const { chunks } = readAnswer(decodeCohere, [
      start(0, { type: 'thinking', thinking: 'Hm.' }),
      start(1, { type: 'text', text: 'First. ' }),
      start(2, { type: 'text', text: 'Second.' }),
      cite(0, 1),
      cite(0, 1),
      cite(3, 2),
    ]);
    expect(chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []))).toEqual([
      { type: 'source', id: 'd1', start: 0, end: 2 },
      { type: 'source', id: 'd1', start: 10, end: 12 },
    ]);
  });

  it('decodeCohere reads the positions that the loopback server sends', () => {
    const source = { type: 'source', id: 'd1', start: 9, end: 12 } as const;
    const chunks: Chunk[] = [
      { type: 'text', text: 'First. ' },
      { type: 'thinking', text: 'Hm.' },
      { type: 'text', text: 'Second.' },
      { type: 'source', source },
      { type: 'source', source: { type: 'source', id: 'd2' } },
      { type: 'finish', reason: 'stop' },
    ];
    const writer = served.writer({ turn: 1, path: '', body: {} });
    const frames = [...chunks.flatMap((chunk) => writer.next(chunk)), ...writer.end()];
    const read = readAnswer(
      decodeCohere,
      frames.map(({ data }) => JSON.parse(data) as JsonObject),
    );
    expect(read.chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []))).toEqual([
      source,
      { type: 'source', id: 'd2' },
    ]);
  });

  it('decodeCohere emits each source once', () => {
    const citation = {
      type: 'citation-start',
      delta: { message: { citations: { sources: [{ id: 'doc:0' }, { id: 'doc:1' }] } } },
    };
    const { chunks } = readAnswer(decodeCohere, [citation, citation]);
    expect(chunks).toEqual([
      { type: 'source', source: { type: 'source', id: 'doc:0' } },
      { type: 'source', source: { type: 'source', id: 'doc:1' } },
    ]);
  });
});
