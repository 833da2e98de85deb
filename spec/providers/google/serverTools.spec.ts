import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { tool } from '../../../lib/core/tool.js';
import { decodeGoogle } from '../../../lib/providers/google/decode.js';
import { encodeGoogle } from '../../../lib/providers/google/encode.js';
import { google } from '../../../lib/providers/google/google.js';
import { googleTools } from '../../../lib/providers/google/serverTools.js';
import type { GoogleTool } from '../../../lib/providers/google/serverTools.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import { readAnswer } from '../../support/recordedAnswers.js';

const messages = [userMessage('How warm is the northernmost city of Norway?')];
const temperature = {
  name: 'temperature',
  description: 'Of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};
const body = (model: string, request: Partial<ModelRequest>, ...serverTools: readonly GoogleTool[]) =>
  encodeGoogle(model, { messages, ...request }, serverTools).body;

const textIn = (file: string) => readFileSync(file, 'utf8').split('\n').filter(Boolean);
const framesIn = (file: string) => textIn(file).map((line) => JSON.parse(line) as JsonObject);

/** What a reader sees of a response, and the parts that are sent back. */
function answerIn(file: string) {
  const { chunks, message } = readAnswer(decodeGoogle, framesIn(file));
  const history = [...messages, ...(message ? [message] : [])];
  const contents = encodeGoogle('gemini-2.5-flash', { messages: history }).body['contents'] as readonly JsonObject[];
  return {
    message,
    replayed: contents[1]?.['parts'],
    metadata: chunks.flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata] : [])),
    sources: chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : [])),
    files: chunks.flatMap((chunk) => (chunk.type === 'file' ? [chunk.file] : [])),
  };
}

describe('googleTools', () => {
  it("googleTools are sent in the API's format", () => {
    const from = new Date('2026-01-01T00:00:00Z');
    const searches = [googleTools.search(), googleTools.search({ published: { from, to: '2026-02-01T00:00:00Z' } })];
    expect(body('gemini-2.5-flash', {}, ...searches, googleTools.codeExecution(), googleTools.urlContext())).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'How warm is the northernmost city of Norway?' }] }],
      tools: [
        { googleSearch: {} },
        {
          googleSearch: { timeRangeFilter: { startTime: '2026-01-01T00:00:00.000Z', endTime: '2026-02-01T00:00:00Z' } },
        },
        { codeExecution: {} },
        { urlContext: {} },
      ],
    });
  });

  it.each(['gemini-3-pro-preview', 'gemini-flash-latest'])(
    'googleTools are combined with functions for %s, with includeServerSideToolInvocations',
    (model) => {
      const { tools, toolConfig } = body(model, { tools: [temperature] }, googleTools.search(), {
        definition: { googleMaps: {} },
      });
      expect(tools).toEqual([
        {
          functionDeclarations: [
            { name: 'temperature', description: 'Of a city.', parametersJsonSchema: temperature.parameters },
          ],
        },
        { googleSearch: {} },
        { googleMaps: {} },
      ]);
      expect(toolConfig).toEqual({ includeServerSideToolInvocations: true });
    },
  );

  it.each([
    ['auto', { mode: 'VALIDATED' }],
    ['required', { mode: 'ANY' }],
    ['none', { mode: 'NONE' }],
    [{ name: 'temperature' }, { mode: 'ANY', allowedFunctionNames: ['temperature'] }],
  ] as const)(
    'googleTools and functions send the tool choice %j in a mode that the API accepts for both',
    (toolChoice, functionCallingConfig) => {
      const { toolConfig } = body('gemini-3-flash-preview', { tools: [temperature], toolChoice }, googleTools.search());
      expect(toolConfig).toEqual({ functionCallingConfig, includeServerSideToolInvocations: true });
    },
  );

  it('googleTools are refused together with functions or a schema before Gemini 3, without a request', () => {
    const asked = (request: Partial<ModelRequest>) => () => body('gemini-2.5-flash', request, googleTools.search());
    expect(asked({ tools: [temperature] })).toThrow(/with your own tools in one request\..*Use a Gemini 3 model/);
    expect(asked({ output: { type: 'object' } })).toThrow(/with a JSON Schema in one request/);
    expect(asked({})).not.toThrow();
    expect(body('gemini-3-flash-preview', { output: { type: 'object' } }, googleTools.search())).toMatchObject({
      tools: [{ googleSearch: {} }],
      generationConfig: { responseMimeType: 'application/json' },
    });
  });

  it('googleTools and functions are refused by the server without includeServerSideToolInvocations', async () => {
    const server = await serveModel(['unused']);
    try {
      const model = google('gemini-3-flash-preview', { apiKey: 'k', baseUrl: server.urlFor('google'), retry: false });
      const providerOptions = { google: { tools: [{ functionDeclarations: [{ name: 'a' }] }, { googleSearch: {} }] } };
      await expect(lastValueFrom(model.stream({ messages, providerOptions }))).rejects.toThrow(
        /include_server_side_tool_invocations/,
      );
    } finally {
      await server.close();
    }
  });
});

describe('googleTools: recordings', () => {
  it('googleTools.urlContext makes the page that was read a source, once, although it also grounds the answer', () => {
    const { sources, metadata, message } = answerIn('spec/recordings/google/url-context.chunks.txt');
    expect(sources).toEqual([{ type: 'source', url: 'https://tides.example/brest', title: 'Tides of Brest' }]);
    expect(message?.parts.filter(({ type }) => type === 'source')).toEqual(sources);
    expect(metadata).toHaveLength(3);
    expect(metadata[1]).toMatchObject({
      serverTools: [
        {
          id: 'response-sample_url_context',
          name: 'url_context',
          status: 'completed',
          input: { urls: ['https://tides.example/brest', 'https://gone.example'] },
        },
      ],
    });
    expect(metadata[2]).toMatchObject({
      groundingMetadata: { groundingChunks: [{ web: { uri: 'https://tides.example/brest' } }] },
      urlContextMetadata: {
        urlMetadata: [{}, { retrievedUrl: 'https://gone.example', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_ERROR' }],
      },
    });
  });

  it('googleTools.codeExecution makes code and result metadata, and images files; all is sent back in order', () => {
    const { files, metadata, message, replayed } = answerIn('spec/recordings/google/code-execution.chunks.txt');
    const executableCode = { language: 'PYTHON', code: 'print(4 + 6)' };
    const codeExecutionResult = { outcome: 'OUTCOME_OK', output: '10\n' };
    const call = { id: 'response-sample_code_execution_1', name: 'code_execution', input: executableCode };
    expect(metadata.slice(1)).toEqual([
      { serverTools: [{ ...call, status: 'running', raw: { executableCode } }] },
      { serverTools: [{ ...call, status: 'completed', output: codeExecutionResult, raw: { codeExecutionResult } }] },
    ]);
    expect(files).toEqual([{ type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' }]);
    expect(message?.parts.filter(({ type }) => type === 'file')).toEqual(files);
    expect(replayed).toEqual([
      { text: 'Let me add.' },
      { executableCode },
      { codeExecutionResult },
      { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
      { text: 'It is 10.' },
    ]);
  });

  it('googleTools.search and a function call in one response are both sent back, then the result', async () => {
    const raw = textIn('spec/recordings/google/tool-combination.chunks.txt').map((line) => `data: ${line}\r\n\r\n`);
    const server = await serveModel(['It is -5 degrees.'], { forRequest: [{ raw }] });
    try {
      const agent = createAgent({
        model: google('gemini-3-flash-preview', {
          apiKey: 'k',
          baseUrl: server.urlFor('google'),
          serverTools: [googleTools.search()],
        }),
        tools: [tool({ ...temperature, execute: () => -5 })],
      });
      const events = await lastValueFrom(agent.stream(messages).pipe(toArray()));
      const [first, second] = server.requests.map((request) => request.body as JsonObject);
      expect(first?.['toolConfig']).toEqual({ includeServerSideToolInvocations: true });
      expect(second?.['toolConfig']).toEqual(first?.['toolConfig']);
      const parts = framesIn('spec/recordings/google/tool-combination.chunks.txt').map(
        (frame) =>
          ((frame['candidates'] as JsonObject[])[0]?.['content'] as { readonly parts: readonly JsonObject[] }).parts[0],
      );
      expect(second?.['contents']).toEqual([
        { role: 'user', parts: [{ text: 'How warm is the northernmost city of Norway?' }] },
        { role: 'model', parts },
        { role: 'user', parts: [{ functionResponse: { id: 'call1', name: 'temperature', response: { result: -5 } } }] },
      ]);
      const shown = events.flatMap((event) =>
        event.type === 'metadata' ? ((event.metadata['serverTools'] ?? []) as readonly JsonObject[]) : [],
      );
      const search = { id: 'search1', name: 'google_search_web', input: { queries: ['northernmost city of Norway'] } };
      expect(shown).toMatchObject([
        { ...search, status: 'running' },
        { ...search, status: 'completed', output: { search_suggestions: '<div>northernmost city</div>' } },
      ]);
      expect(events.filter(({ type }) => type === 'source')).toHaveLength(1);
      expect(events.at(-1)).toMatchObject({ type: 'result', result: { text: 'It is -5 degrees.', turns: 2 } });
    } finally {
      await server.close();
    }
  });

  const shared = '../shared/recordings/google/search-grounding.chunks.txt';
  (existsSync(shared) ? it : it.skip)(
    'googleTools.search makes each page a source once, and the grounding metadata once',
    () => {
      const { sources, metadata, message } = answerIn(shared);
      expect(sources.map(({ title }) => title)).toEqual([
        'Weather information for locality: San Francisco, administrative_area: CA',
        'sftourismtips.com',
        'clothesforecast.com',
        'whimsysoul.com',
      ]);
      expect(message?.parts.filter(({ type }) => type === 'source')).toEqual(sources);
      expect(metadata).toHaveLength(3);
      expect(metadata[1]).toMatchObject({
        serverTools: [{ name: 'google_search', status: 'completed', input: { queries: expect.any(Array) as unknown } }],
      });
      expect(Object.keys(metadata[2]?.['groundingMetadata'] ?? {})).toEqual([
        'searchEntryPoint',
        'groundingChunks',
        'groundingSupports',
        'webSearchQueries',
      ]);
    },
  );
});
