import { describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { readableParts } from '../../../lib/core/message.js';
import { completed, itemAdded, itemDone, otherReports, read, serverReports, textDelta, toolChanges } from './frames.js';
import type { Read } from './frames.js';
import { ownRecordings, sharedRecordings } from './recordings.js';
import { itemsOf } from './conversation.js';

describe('ServerItemReporter', () => {
  const step = (of: string, name: string, id: string, rest: JsonObject = {}) => ({
    type: `response.${of}.${name}`,
    item_id: id,
    output_index: 0,
    ...rest,
  });

  it('ServerItemReporter reports each step once, in order, and no call for the client', async () => {
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
    const [searching, coding] = [
      { id: 'ws_1', name: 'web_search' },
      { id: 'ci_1', name: 'code_interpreter' },
    ];
    expect(await serverReports(frames)).toEqual([
      { ...searching, status: 'running', raw: { type: 'web_search_call', id: 'ws_1', status: 'in_progress' } },
      { ...searching, status: 'running', raw: frames[2] },
      { ...searching, status: 'completed', input: search.action, raw: search },
      { ...coding, status: 'running', raw: { type: 'code_interpreter_call', id: 'ci_1', status: 'in_progress' } },
      { ...coding, status: 'running', raw: frames[6] },
      { ...coding, status: 'running', raw: frames[7] },
      { ...coding, status: 'running', raw: frames[9] },
      { ...coding, status: 'completed', input: 'x=1', raw: code },
    ]);
    const { calls, finish } = await read(frames);
    expect(calls).toEqual([]);
    expect(finish?.reason).toBe('stop');
  });

  it.each(['mcp_call', 'web_search_call', 'program'])(
    'ServerItemReporter takes %s, which is not a call for the client',
    async (type) => {
      const item = { type, id: 'x_1', call_id: 'call_9', name: 'rm', arguments: '{}', input: 'x', status: 'completed' };
      const { calls, message, finish } = await read([
        itemAdded(item),
        textDelta('Hi'),
        itemDone(item),
        completed([item]),
      ]);
      expect(calls).toEqual([]);
      expect(finish?.reason).toBe('stop');
      expect(itemsOf(message)).toMatchObject([{ type: 'message' }, item]);
    },
  );

  it('ServerItemReporter reports the output of a call as a change of the call', async () => {
    const call = { type: 'shell_call', id: 'sh_1', call_id: 'c1', status: 'completed', action: { commands: ['ls'] } };
    const hosted = { ...call, environment: { type: 'container_reference', container_id: 'cntr_1' } };
    const output = { type: 'shell_call_output', id: 'sho_1', call_id: 'c1', output: [{ stdout: 'a' }] };
    for (const shell of [hosted, { ...call, environment: null }]) {
      const frames = [itemDone(shell), itemDone(output, 1), completed([shell, output])];
      const { chunks, calls, finish } = await read(frames);
      expect(calls).toEqual([]);
      expect(finish?.reason).toBe('stop');
      const changes = toolChanges(chunks);
      expect(changes.every(({ id, name }) => id === 'sh_1' && name === 'shell')).toBe(true);
      expect(changes).toHaveLength(2);
      expect(changes).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ input: { commands: ['ls'] } }),
          expect.objectContaining({ status: 'completed', output: [{ stdout: 'a' }], raw: output }),
        ]),
      );
    }
  });

  it('ServerItemReporter reports a failed call with its error', async () => {
    const error = { type: 'http_error', code: 502, message: 'bad' };
    const call = { type: 'mcp_call', id: 'mcp_1', name: 'add', arguments: '{"a":1}', error, output: null };
    expect(await serverReports([itemDone(call), completed([call])])).toEqual([
      { id: 'mcp_1', name: 'add', status: 'failed', input: { a: 1 }, output: error, raw: call },
    ]);
  });

  it('ServerItemReporter reports an item that is not a tool as metadata of the provider, once', async () => {
    const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'secret' };
    const { chunks, message, finish } = await read([
      itemAdded(item),
      textDelta('Hi'),
      itemDone(item),
      completed([item]),
    ]);
    expect(otherReports(chunks)).toEqual([{ type: 'compaction', id: 'cmp_1' }]);
    expect(itemsOf(message)).toMatchObject([{ type: 'message' }, item]);
    expect(finish?.reason).toBe('stop');
  });

  it('ServerItemReporter reports the end of an item that is never sent', async () => {
    expect(
      await serverReports([
        step('mcp_call', 'in_progress', 'mcp_1'),
        step('mcp_call_arguments', 'delta', 'mcp_1', { delta: '{}' }),
        step('mcp_call', 'failed', 'mcp_1'),
        completed(),
      ]),
    ).toMatchObject([
      { id: 'mcp_1', name: 'mcp', status: 'running', raw: { type: 'response.mcp_call.in_progress' } },
      { id: 'mcp_1', status: 'running', raw: { delta: '{}' } },
      { id: 'mcp_1', status: 'failed', raw: { type: 'response.mcp_call.failed' } },
    ]);
  });

  it('ServerItemReporter takes an approval request, which is kept in a message to be answered', async () => {
    const request = { type: 'mcp_approval_request', id: 'mcpr_1', name: 'send', arguments: '{}', server_label: 's' };
    const { chunks, message, text } = await read([itemAdded(request), itemDone(request), completed([request])]);
    expect(text).toBe('');
    expect(toolChanges(chunks)).toEqual([{ id: 'mcpr_1', name: 'send', status: 'running', input: {}, raw: request }]);
    expect(itemsOf(message)).toEqual([request]);
  });
});

/** The changes of the tools that OpenAI runs: the name, and the status, the fragment or the step. */
const steps = ({ chunks }: Read): readonly JsonValue[] =>
  toolChanges(chunks).map(({ name, status, raw }) => {
    const { type, delta, status: step } = raw as JsonObject;
    const word = typeof type === 'string' && type.startsWith('response.') ? type.split('.')[2] : step;
    return [name, status === 'running' ? (delta ?? word ?? null) : status];
  });
const sources = ({ chunks }: Read) => chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []));
const files = ({ chunks }: Read) => chunks.flatMap((chunk) => (chunk.type === 'file' ? [chunk.file] : []));

/** Tests a recording, if it is present. */
function itReads(name: string, what: string, check: (answer: Read) => void): void {
  const found = [...ownRecordings, ...sharedRecordings].find((one) => one.name === `openai-responses/${name}`);
  (found ? it : it.skip)(`ServerItemReporter reports in ${name} ${what}`, async () => {
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

describe('ServerItemReporter: recordings', () => {
  itReads('file-search', 'each step of a file search once, and a file that is cited twice as one source', (answer) => {
    expect(steps(answer)).toEqual([
      ['file_search', 'in_progress'],
      ['file_search', 'searching'],
      ['file_search', 'completed'],
    ]);
    expect(sources(answer)).toEqual([
      { type: 'source', id: 'file-Ebzhf8H4DPGPr9pUhr7n7v', title: 'ai.pdf', start: 154, end: 154 },
    ]);
    expect(files(answer)).toEqual([]);
  });

  itReads(
    'image-generation',
    'each step of an image generation once, the partial image as metadata, and the image as one file',
    (answer) => {
      const image = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
      expect(steps(answer).map((step) => (step as readonly JsonValue[])[1])).toEqual([
        ...['in_progress', 'generating', 'partial_image', 'completed'],
      ]);
      expect(files(answer)).toMatchObject([{ type: 'file', mediaType: 'image/png', data: image }]);
      expect(JSON.stringify(answer.message).split(image)).toHaveLength(2);
      expect(answer.message && readableParts(answer.message.parts).map(({ type }) => type)).toEqual(['file', 'text']);
    },
  );

  itReads('mcp-approval', 'the names of MCP tools, and the request for approval with its arguments', (answer) => {
    expect(toolChanges(answer.chunks)).toMatchObject([
      { name: 'mcp_list_tools', status: 'running' },
      {
        name: 'mcp_list_tools',
        status: 'completed',
        output: expect.arrayContaining(['create_short_url']) as unknown,
        raw: { server_label: 'zip1' },
      },
      {
        name: 'create_short_url',
        status: 'running',
        input: expect.objectContaining({ description: expect.stringContaining('ai-sdk.dev') as unknown }) as unknown,
        raw: { type: 'mcp_approval_request', server_label: 'zip1' },
      },
    ]);
    expect(answer.finish?.reason).toBe('stop');
    expect(answer.calls).toEqual([]);
    expect(itemsOf(answer.message)).toMatchObject([{}, {}, { type: 'mcp_approval_request' }]);
  });

  itReads(
    'code-interpreter-files',
    'fragments of the code, images that it shows as files, and files in its container as one source each',
    (answer) => {
      expect(steps(answer)).toEqual([
        ['code_interpreter', 'in_progress'],
        ['code_interpreter', 'plot('],
        ['code_interpreter', '[1, 4, 9])'],
        ['code_interpreter', 'interpreting'],
        ['code_interpreter', 'completed'],
        ['web_search', 'in_progress'],
        ['web_search', 'searching'],
        ['web_search', 'completed'],
      ]);
      expect(files(answer)).toEqual([
        { type: 'file', mediaType: 'image/png', data: 'AQID' },
        { type: 'file', mediaType: 'image/png', url: 'https://files.example/plot.png' },
      ]);
      const inContainer = { providerData: { openai: { container_id: 'cntr_1' } } };
      expect(sources(answer)).toEqual([
        { type: 'source', id: 'cfile_1', title: 'plot.png', start: 22, end: 30, ...inContainer },
        { type: 'source', id: 'cfile_2', title: 'table.csv', start: 35, end: 44, ...inContainer },
        { type: 'source', url: 'https://numbers.example/', title: 'Numbers', start: 0, end: 16 },
      ]);
    },
  );

  itReads('web-search-citations', 'each search and each page once', (answer) => {
    expect(steps(answer)).toHaveLength(6);
    expect(sources(answer).map(({ url }) => url)).toEqual(['https://rivers.example/loire', 'https://hills.example/']);
  });
});
