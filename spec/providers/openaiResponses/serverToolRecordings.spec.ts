import { describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { recordings } from '../chatCompletions/reading.js';
import { read } from './reading.js';
import type { Read } from './reading.js';

const all = [...recordings('spec/recordings/openai-responses'), ...recordings('../shared/recordings/openai-responses')];

/** What was told of the tools that OpenAI runs: the type and the step, or what else it brought. */
const steps = ({ chunks }: Read): readonly JsonValue[] =>
  chunks.flatMap((chunk): readonly JsonValue[] => {
    const fact = chunk.type === 'metadata' ? (chunk.metadata['openai-responses'] as JsonObject | undefined) : undefined;
    if (!fact) return [];
    return [
      [
        fact['type'] ?? null,
        fact['status'] ?? fact['delta'] ?? Object.keys(fact).filter((key) => key !== 'type' && key !== 'id'),
      ],
    ];
  });
const sources = ({ chunks }: Read) => chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []));
const files = ({ chunks }: Read) => chunks.flatMap((chunk) => (chunk.type === 'file' ? [chunk.file] : []));

/** Asserts of a recording that is at hand; of the shared ones, where they are. */
function itReads(name: string, what: string, check: (answer: Read) => void): void {
  const recording = all.find((one) => one.name === `openai-responses/${name}`);
  (recording ? it : it.skip)(`${name}: ${what}`, async () => {
    const frames = recording?.frames ?? [];
    const [answer, late] = [await read(frames), await read(frames.slice(-1))];
    check(answer);
    const parts = answer.message?.parts ?? [];
    expect(parts.filter(({ type }) => type === 'source')).toEqual(sources(answer));
    expect(parts.filter(({ type }) => type === 'file')).toEqual(files(answer));
    // The same comes of the whole response alone, as servers that stream little send it.
    expect([sources(late), files(late)]).toEqual([sources(answer), files(answer)]);
  });
}

describe('openai-responses: recorded answers of tools that OpenAI runs', () => {
  itReads('file-search', 'each step of the search once, and the file that is cited twice as one source', (answer) => {
    expect(steps(answer)).toEqual([
      ['file_search_call', 'in_progress'],
      ['file_search_call', 'searching'],
      ['file_search_call', 'completed'],
    ]);
    expect(sources(answer)).toEqual([{ type: 'source', id: 'file-Ebzhf8H4DPGPr9pUhr7n7v', title: 'ai.pdf' }]);
    expect(files(answer)).toEqual([]);
  });

  itReads(
    'image-generation',
    'each step once, the image on its way as metadata, and the image itself as one file',
    (answer) => {
      const image = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
      expect(steps(answer).map((step) => (step as readonly JsonValue[])[1])).toEqual([
        ...['in_progress', 'generating', ['partial_image_index', 'partial_image_b64'], 'generating'],
      ]);
      expect(files(answer)).toMatchObject([{ type: 'file', mediaType: 'image/png', data: image }]);
      expect(JSON.stringify(answer.message?.metadata)).not.toContain(image);
      expect(answer.message?.parts.map(({ type }) => type)).toEqual(['file', 'text']);
    },
  );

  itReads(
    'mcp-approval',
    'the list of tools by their names, and the request for approval with its arguments',
    (answer) => {
      const facts = answer.chunks
        .flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata['openai-responses']] : []))
        .filter(Boolean);
      expect(facts).toMatchObject([
        { type: 'mcp_list_tools', status: 'in_progress' },
        {
          type: 'mcp_list_tools',
          server_label: 'zip1',
          tools: expect.arrayContaining(['create_short_url']) as unknown,
        },
        {
          type: 'mcp_approval_request',
          server_label: 'zip1',
          name: 'create_short_url',
          arguments: expect.stringContaining('ai-sdk.dev') as unknown,
        },
      ]);
      expect(answer.calls).toEqual([]);
      expect(answer.message?.metadata).toMatchObject({
        'openai-responses': { output: [{}, {}, { type: 'mcp_approval_request' }] },
      });
    },
  );

  itReads(
    'code-interpreter-files',
    'the code as it is written, images that it shows as files, files in its container as one source each',
    (answer) => {
      expect(steps(answer)).toEqual([
        ['code_interpreter_call', 'in_progress'],
        ['code_interpreter_call', 'plot('],
        ['code_interpreter_call', '[1, 4, 9])'],
        ['code_interpreter_call', 'interpreting'],
        ['code_interpreter_call', 'completed'],
        ['web_search_call', 'in_progress'],
        ['web_search_call', 'searching'],
        ['web_search_call', 'completed'],
      ]);
      expect(files(answer)).toEqual([
        { type: 'file', mediaType: 'image/png', data: 'AQID' },
        { type: 'file', mediaType: 'image/png', url: 'https://files.example/plot.png' },
      ]);
      const inContainer = { providerData: { 'openai-responses': { container_id: 'cntr_1' } } };
      expect(sources(answer)).toEqual([
        { type: 'source', id: 'cfile_1', title: 'plot.png', ...inContainer },
        { type: 'source', id: 'cfile_2', title: 'table.csv', ...inContainer },
        { type: 'source', url: 'https://numbers.example/', title: 'Numbers' },
      ]);
    },
  );

  itReads('web-search-citations', 'each search once, each page once', (answer) => {
    expect(steps(answer)).toHaveLength(6);
    expect(sources(answer).map(({ url }) => url)).toEqual(['https://rivers.example/loire', 'https://hills.example/']);
  });
});
