import type { LanguageModelV4Source, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { acme, chunksOf, endOf, finish } from './acme.js';

const begin: LanguageModelV4StreamPart = { type: 'text-start', id: 't' };
const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Half' };
const page = (id: string, path: string): LanguageModelV4Source => ({
  type: 'source',
  sourceType: 'url',
  id,
  url: `https://acme.example/${path}`,
});
const paper: LanguageModelV4Source = {
  type: 'source',
  sourceType: 'document',
  id: 'p',
  mediaType: 'application/pdf',
  title: 'Paper',
};
type Citations = Extract<LanguageModelV4StreamPart, { type: 'text-end' }>['citations'];
const end = (citations: Citations): LanguageModelV4StreamPart => ({ type: 'text-end', id: 't', citations: citations! });

/** The source parts of a stream. */
async function sources(...parts: LanguageModelV4StreamPart[]) {
  const chunks = await chunksOf(acme([...parts, finish()]).model);
  return chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []));
}

describe('createSourceDecoder', () => {
  it('createSourceDecoder emits the citations of a text with their passages, each passage once', async () => {
    const cited = { source: paper, citedText: 'It is so.', startIndex: 0, endIndex: 4 };
    const [first, second, ...more] = await sources(
      begin,
      text,
      end([cited, { ...cited, citedText: 'And so.' }, cited]),
    );
    expect(first).toEqual({
      type: 'source',
      id: 'p',
      title: 'Paper',
      text: 'It is so.',
      start: 0,
      end: 4,
      providerData: { 'acme.chat': { mediaType: 'application/pdf' } },
    });
    expect(second).toMatchObject({ id: 'p', text: 'And so.' });
    expect(more).toEqual([]);
  });

  it('createSourceDecoder emits a cited source once if it also arrived by itself, before or inside the text', async () => {
    const [a, b, c] = [page('1', 'a'), page('2', 'b'), page('3', 'c')];
    const citations = [a, b].map((source) => ({
      source: { ...source, id: `${source.id}-cited` },
      citedText: 'It is so.',
    }));
    expect(await sources(a, begin, b, text, c, end(citations))).toEqual([
      { type: 'source', id: '1', url: 'https://acme.example/a' },
      { type: 'source', id: '2', url: 'https://acme.example/b', text: 'It is so.' },
      { type: 'source', id: '3', url: 'https://acme.example/c' },
    ]);
  });

  it('createSourceDecoder identifies a document by its title and a page by its URL, not by id', async () => {
    const other: LanguageModelV4Source = { ...paper, id: 'q', title: 'Another' };
    const citations = [{ source: { ...paper, id: '0' } }, { source: { ...other, id: '1' }, citedText: 'It is so.' }];
    expect(await sources(begin, text, paper, end(citations))).toMatchObject([
      { id: 'p' },
      { id: '1', title: 'Another', text: 'It is so.' },
    ]);
    expect(await sources(paper, begin, text, end(citations))).toMatchObject([{ id: 'p' }, { id: '1' }]);
  });

  it.each([
    ['errors', [{ type: 'error', error: 'overloaded' }], 'close', 'provider'],
    ['breaks', [], new Error('terminated'), 'stream_interrupted'],
    ['ends without a finish', [], 'close', 'stream_interrupted'],
    ['has an interrupted finish', [finish('interrupted')], 'close', 'stream_interrupted'],
  ] as const)(
    'createSourceDecoder emits the sources inside a text that never ends, if the stream %s',
    async (_, last, ending, code) => {
      expect(await endOf(acme([begin, text, page('1', 'a'), ...last], ending).model)).toMatchObject([
        { kind: 'N', value: { text: 'Half' } },
        { kind: 'N', value: { type: 'source', source: { id: '1' } } },
        { kind: 'E', error: { code } },
      ]);
    },
  );
});
