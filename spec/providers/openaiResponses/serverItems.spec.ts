import { describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { completed, itemAdded, itemDone, read, serverReports, textDelta } from './frames.js';
import type { Read } from './frames.js';
import { ownRecordings, sharedRecordings } from './recordings.js';

describe('createServerItemReporter', () => {
  const step = (of: string, name: string, id: string, rest: JsonObject = {}) => ({
    type: `response.${of}.${name}`,
    item_id: id,
    output_index: 0,
    ...rest,
  });

  it('createServerItemReporter reports each step once, in order, and no call for the client', async () => {
    const search = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'rivers' },
    };
    const code = {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      code: 'x=1',
      container_id: 'c',
      outputs: null,
    };
    const frames = [
      itemAdded({ type: 'web_search_call', id: 'ws_1', status: 'in_progress' }),
      ...['in_progress', 'searching', 'completed'].map((name) => step('web_search_call', name, 'ws_1')),
      itemDone(search),
      itemAdded({ type: 'code_interpreter_call', id: 'ci_1', status: 'in_progress' }),
      step('code_interpreter_call_code', 'delta', 'ci_1', { delta: 'x=' }),
      step('code_interpreter_call_code', 'delta', 'ci_1', { delta: '1' }),
      step('code_interpreter_call_code', 'done', 'ci_1', { code: 'x=1' }),
      step('code_interpreter_call', 'interpreting', 'ci_1'),
      step('code_interpreter_call', 'completed', 'ci_1'),
      itemDone(code),
      completed([search, code]),
    ];
    expect(await serverReports(frames)).toEqual([
      { type: 'web_search_call', id: 'ws_1', status: 'in_progress' },
      { type: 'web_search_call', id: 'ws_1', status: 'searching' },
      search,
      { type: 'code_interpreter_call', id: 'ci_1', status: 'in_progress' },
      { type: 'code_interpreter_call', id: 'ci_1', delta: 'x=' },
      { type: 'code_interpreter_call', id: 'ci_1', delta: '1' },
      { type: 'code_interpreter_call', id: 'ci_1', status: 'interpreting' },
      code,
    ]);
    const { calls, finish } = await read(frames);
    expect(calls).toEqual([]);
    expect(finish?.reason).toBe('stop');
  });

  it.each(['mcp_call', 'custom_tool_call', 'local_shell_call', 'computer_call', 'something_new'])(
    'createServerItemReporter takes %s, which is not a call for the client',
    async (type) => {
      const item = { type, id: 'x_1', call_id: 'call_9', name: 'rm', arguments: '{}', input: 'x', status: 'completed' };
      const { calls, message } = await read([itemAdded(item), textDelta('Hi'), itemDone(item), completed([item])]);
      expect(calls).toEqual([]);
      expect(message?.metadata).toMatchObject({ 'openai-responses': { output: [item, { type: 'message' }] } });
    },
  );

  it('createServerItemReporter reports the end of an item that is never sent', async () => {
    expect(
      await serverReports([
        step('mcp_call', 'in_progress', 'mcp_1'),
        step('mcp_call_arguments', 'delta', 'mcp_1', { delta: '{}' }),
        step('mcp_call', 'failed', 'mcp_1'),
        completed(),
      ]),
    ).toEqual([
      { type: 'mcp_call', id: 'mcp_1', status: 'in_progress' },
      { type: 'mcp_call', id: 'mcp_1', delta: '{}' },
      { type: 'mcp_call', id: 'mcp_1', status: 'failed' },
    ]);
  });

  it('createServerItemReporter takes an approval request, which is kept in a message to be answered', async () => {
    const request = { type: 'mcp_approval_request', id: 'mcpr_1', name: 'send', arguments: '{}', server_label: 's' };
    const { message, text } = await read([itemAdded(request), itemDone(request), completed([request])]);
    expect(text).toBe('');
    expect(message?.metadata).toEqual({ 'openai-responses': { responseId: 'resp_1', output: [request] } });
  });
});

/** The reports of the tools that OpenAI runs: the type, and the step or the other fields. */
const steps = ({ chunks }: Read): readonly JsonValue[] =>
  chunks.flatMap((chunk): readonly JsonValue[] => {
    const report =
      chunk.type === 'metadata' ? (chunk.metadata['openai-responses'] as JsonObject | undefined) : undefined;
    if (!report) return [];
    return [
      [
        report['type'] ?? null,
        report['status'] ?? report['delta'] ?? Object.keys(report).filter((key) => key !== 'type' && key !== 'id'),
      ],
    ];
  });
const sources = ({ chunks }: Read) => chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []));
const files = ({ chunks }: Read) => chunks.flatMap((chunk) => (chunk.type === 'file' ? [chunk.file] : []));

/** Tests a recording, if it is present. */
function itReads(name: string, what: string, check: (answer: Read) => void): void {
  const found = [...ownRecordings, ...sharedRecordings].find((one) => one.name === `openai-responses/${name}`);
  (found ? it : it.skip)(`createServerItemReporter reports in ${name} ${what}`, async () => {
    const frames = found?.frames ?? [];
    const [answer, final] = [await read(frames), await read(frames.slice(-1))];
    check(answer);
    const parts = answer.message?.parts ?? [];
    expect(parts.filter(({ type }) => type === 'source')).toEqual(sources(answer));
    expect(parts.filter(({ type }) => type === 'file')).toEqual(files(answer));
    // The final response alone has the same, as servers send it that stream little.
    expect([sources(final), files(final)]).toEqual([sources(answer), files(answer)]);
  });
}

describe('createServerItemReporter: recordings', () => {
  itReads('file-search', 'each step of a file search once, and a file that is cited twice as one source', (answer) => {
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
    'each step of an image generation once, the partial image as metadata, and the image as one file',
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

  itReads('mcp-approval', 'the names of MCP tools, and the request for approval with its arguments', (answer) => {
    const reports = answer.chunks
      .flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata['openai-responses']] : []))
      .filter(Boolean);
    expect(reports).toMatchObject([
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
  });

  itReads(
    'code-interpreter-files',
    'fragments of the code, images that it shows as files, and files in its container as one source each',
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

  itReads('web-search-citations', 'each search and each page once', (answer) => {
    expect(steps(answer)).toHaveLength(6);
    expect(sources(answer).map(({ url }) => url)).toEqual(['https://rivers.example/loire', 'https://hills.example/']);
  });
});
