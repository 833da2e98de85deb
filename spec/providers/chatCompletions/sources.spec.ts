import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { decodeChatCompletions } from '../../../lib/providers/chatCompletions/decode.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import { delta, frame, read } from './reading.js';

describe('sources of chat completions', () => {
  it('readFiles and readSources read images and citations, and each is emitted once', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } };
    const cite = {
      type: 'url_citation',
      url_citation: { url: 'https://a.test/', title: 'A', content: 'said', start_index: 3, end_index: 9 },
    };
    const { chunks } = read([
      delta({ images: [image], annotations: [cite] }),
      {
        ...frame({ message: { images: [image], annotations: [cite] } }),
        citations: ['https://a.test/', 'https://b.test/'],
      },
    ]);
    expect(chunks.slice(0, -1)).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'iVBORw0=' } },
      {
        type: 'source',
        source: { type: 'source', url: 'https://a.test/', title: 'A', text: 'said', start: 3, end: 9 },
      },
      { type: 'source', source: { type: 'source', url: 'https://b.test/' } },
    ]);
  });

  it('a dialect without `otherContent` reads annotations, and ignores files, search results and costs', () => {
    const chunks: Chunk[] = [];
    const decoder = decodeChatCompletions({ provider: 'openai-chat' }, (chunk) => chunks.push(chunk));
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.test' } }];
    const images = [{ image_url: { url: 'https://a.test/i.png' } }];
    decoder.next({ ...delta({ content: 'Hi', images, annotations }, 'stop'), citations: ['https://b.test'] });
    decoder.next({ choices: [], usage: { cost: 1 } });
    decoder.end(true);
    expect(chunks.map(({ type }) => type)).toEqual(['text', 'source', 'finish']);
  });

  it('readFrameSources reads search results and citations', () => {
    const result = { url: 'https://a.test/', title: 'A', snippet: 'Quote', date: null };
    const { chunks } = read([
      { ...delta({ content: 'Hi' }), search_results: [result, null, {}], citations: 'https://b.test/' },
    ]);
    expect(chunks.filter(({ type }) => type === 'source')).toEqual([
      { type: 'source', source: { type: 'source', url: 'https://a.test/', title: 'A', text: 'Quote' } },
      { type: 'source', source: { type: 'source', url: 'https://b.test/' } },
    ]);
  });

  it.each<[string, JsonObject, object]>([
    ['an image by URL', { image_url: 'https://a.test/i.png' }, { mediaType: 'image/*', url: 'https://a.test/i.png' }],
    ['a data URL', { image_url: { url: 'data:image/gif;base64,R0lG' } }, { mediaType: 'image/gif', data: 'R0lG' }],
  ])('readFiles reads %s in content', (_, part, file) => {
    const { chunks } = read([delta({ content: [{ type: 'image_url', ...part }] })]);
    expect(chunks[0]).toEqual({ type: 'file', file: { type: 'file', ...file } });
  });
});
