import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { frame, read } from './frames.js';

describe('readSources', () => {
  it('readSources returns the sources of all fields; each is emitted once, before the grounding', () => {
    const web = (uri: string) => ({ web: { uri, title: uri.slice(-1) } });
    const grounding = (...groundingChunks: JsonObject[]) => ({
      groundingMetadata: { groundingChunks, webSearchQueries: ['q'] },
    });
    const { chunks } = read(
      frame([{ text: 'a' }], { groundingMetadata: {} }),
      frame([], grounding(web('https://a'), { retrievedContext: { title: 'T', text: 'said' } })),
      frame([], {
        ...grounding(web('https://a'), web('https://b')),
        citationMetadata: { citationSources: [{ uri: 'https://b' }, { uri: 'https://c' }] },
        finishReason: 'STOP',
      }),
    );
    expect(chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []))).toEqual([
      { type: 'source', url: 'https://a', title: 'a' },
      { type: 'source', title: 'T', text: 'said' },
      { type: 'source', url: 'https://b', title: 'b' },
      { type: 'source', url: 'https://c' },
    ]);
    expect(chunks.at(-2)).toEqual({
      type: 'metadata',
      metadata: {
        ...grounding(web('https://a'), web('https://b')),
        citationMetadata: { citationSources: [{ uri: 'https://b' }, { uri: 'https://c' }] },
      },
    });
  });

  it('readSources reads the pages of `url_context_metadata` too, which is also emitted as metadata', () => {
    const pages = { urlMetadata: [{ retrievedUrl: 'https://a', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' }] };
    const { chunks } = read(frame([{ text: 'a' }], { url_context_metadata: pages, finishReason: 'STOP' }));
    expect(chunks).toContainEqual({ type: 'source', source: { type: 'source', url: 'https://a' } });
    expect(chunks.at(-2)).toEqual({ type: 'metadata', metadata: { urlContextMetadata: pages } });
    expect(chunks).toContainEqual({
      type: 'metadata',
      metadata: { serverTools: [expect.objectContaining({ name: 'url_context', status: 'completed' })] },
    });
  });
});
