import { describe, expect, it } from '@jest/globals';
import { decodeCohere } from '../../../lib/providers/cohere/decode.js';
import { readSources } from '../../../lib/providers/cohere/sources.js';
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
