import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lastValueFrom } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { google } from '../../../lib/providers/google/google.js';
import { googleTools } from '../../../lib/providers/google/serverTools.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import { call, frame, read, replayed, stop } from './frames.js';

const metadataIn = (...frames: readonly JsonObject[]) =>
  read(...frames, stop)
    .chunks.flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata] : []))
    .slice(1);

describe('PartReports: tools that Google runs', () => {
  it('PartReports reports code and its results by their ids, and a failed execution', () => {
    const code = (id: string) => frame([{ executableCode: { id, language: 'PYTHON', code: `print(${id})` } }]);
    const result = (id: string, outcome: string) => frame([{ codeExecutionResult: { id, outcome, output: id } }]);
    const reported = metadataIn(code('1'), code('2'), result('2', 'OUTCOME_FAILED'), result('1', 'OUTCOME_OK'));
    expect(reported).toMatchObject(
      [
        { id: '1', name: 'code_execution', status: 'running', input: { code: 'print(1)' } },
        { id: '2', name: 'code_execution', status: 'running', input: { code: 'print(2)' } },
        { id: '2', status: 'failed', input: { code: 'print(2)' }, output: { outcome: 'OUTCOME_FAILED', output: '2' } },
        { id: '1', status: 'completed', input: { code: 'print(1)' }, output: { output: '1' } },
      ].map((tool) => ({ serverTools: [tool] })),
    );
  });

  it('PartReports reports a search from the grounding only if no part reported it', () => {
    const groundingMetadata = { webSearchQueries: ['tide Brest'], groundingChunks: [{ web: { uri: 'https://t' } }] };
    const grounded = frame([{ text: 'Low.' }], { groundingMetadata });
    expect(metadataIn(grounded)[0]).toEqual({
      serverTools: [
        {
          id: 'r1_google_search',
          name: 'google_search',
          status: 'completed',
          input: { queries: ['tide Brest'] },
          output: groundingMetadata.groundingChunks,
          raw: groundingMetadata,
        },
      ],
    });
    const toolCall = { id: 's1', toolType: 'GOOGLE_SEARCH_WEB', args: { queries: ['tide Brest'] } };
    const withPart = metadataIn(frame([{ toolCall }]), grounded);
    expect(withPart.map(({ serverTools }) => serverTools)).toMatchObject([
      [{ id: 's1', status: 'running' }],
      undefined,
    ]);
  });

  it('PartReports reports the pages that the URL context read', () => {
    const page = (status: string) => ({
      retrievedUrl: 'https://t',
      urlRetrievalStatus: `URL_RETRIEVAL_STATUS_${status}`,
    });
    const read_ = (status: string) =>
      metadataIn(frame([{ text: 'Low.' }], { urlContextMetadata: { urlMetadata: [page(status)] } }))[0];
    const tool = { id: 'r1_url_context', name: 'url_context', input: { urls: ['https://t'] } };
    expect(read_('SUCCESS')).toMatchObject({
      serverTools: [{ ...tool, status: 'completed', output: [page('SUCCESS')] }],
    });
    expect(read_('PAYWALL')).toMatchObject({ serverTools: [{ ...tool, status: 'failed' }] });
  });
});

describe('PartReports: other parts', () => {
  it('PartReports reports a transcription, and a part of an unknown kind, which is sent back', () => {
    const transcription = { audioTranscription: { text: 'Hello.' } };
    const unknown = { hologram: { pixels: [1, 2] }, thoughtSignature: 's' };
    expect(metadataIn(frame([transcription, unknown, { text: 'Hi' }]))).toEqual([
      transcription,
      { unknown: { hologram: { pixels: [1, 2] } } },
    ]);
    expect(replayed(frame([unknown, { text: 'Hi' }]), stop)).toEqual([unknown, { text: 'Hi' }]);
  });

  it('PartReports never lets an unknown call end as if nothing was open', () => {
    const { finish, chunks } = read(frame([{ computerCall: { action: 'click' } }]), stop);
    expect(finish).toMatchObject({ reason: 'other', rawReason: 'STOP' });
    expect(chunks).toContainEqual({
      type: 'metadata',
      metadata: { unknown: { computerCall: { action: 'click' } } },
    });
    expect(read(frame([{ hologram: {} }, { text: 'Hi' }]), stop).finish?.reason).toBe('stop');
  });

  it('decodeGoogle reads the known content, whatever unknown parts, fields and frames are between', () => {
    const name = fc.stringMatching(/^zz[a-z]{1,6}x$/);
    const unknown = fc.oneof(
      fc.dictionary(name, fc.jsonValue(), { minKeys: 1 }).map((part) => frame([part as JsonObject])),
      fc.dictionary(name, fc.jsonValue()).map((fields) => fields as JsonObject),
      fc.dictionary(name, fc.jsonValue()).map((fields) => frame([], fields as JsonObject)),
    );
    const known = [frame([{ text: 'Hel' }]), frame([{ text: 'lo' }]), call({ name: 'add', args: { x: 1 } })];
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 2 }), unknown), { maxLength: 6 }), (inserts) => {
        const frames = known.flatMap((one, at) => [
          ...inserts.flatMap(([before, extra]) => (before === at ? [extra] : [])),
          one,
        ]);
        const { text, calls, finish } = read(...frames, stop);
        expect(text).toBe('Hello');
        expect(calls).toMatchObject([{ name: 'add', arguments: { x: 1 } }]);
        expect(finish?.reason).toBe('toolCalls');
      }),
      { numRuns: 300 },
    );
  });
});

describe('google over a socket: server tools and continuations', () => {
  const withServer = async (
    script: Parameters<typeof serveModel>[0],
    use: (url: string, bodies: () => readonly JsonObject[]) => Promise<void>,
  ) => {
    const server = await serveModel(script);
    try {
      await use(server.urlFor('google'), () => server.requests.map(({ body }) => body as JsonObject));
    } finally {
      await server.close();
    }
  };

  it('google reports code, a search and an unknown part, and sends the parts back', () => {
    const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } };
    const result = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } };
    const search = { webSearchQueries: ['tide'], groundingChunks: [] };
    const serverTools = [code, result, search].map((raw) => ({ raw }));
    const unknown = { hologram: { pixels: [1] } };
    return withServer(
      [[{ type: 'metadata', metadata: { serverTools, unknown } }, 'One.'], 'Yes.'],
      async (baseUrl, bodies) => {
        const model = google('gemini-3.8-flash', { apiKey: 'k', baseUrl, serverTools: [googleTools.codeExecution()] });
        const agent = createAgent({ model });
        const first = await lastValueFrom(agent.run('Count.'));
        expect(first.metadata).toMatchObject({
          serverTools: [
            { name: 'code_execution', status: 'completed', output: { output: '1' } },
            { name: 'google_search', status: 'completed', input: { queries: ['tide'] } },
          ],
          unknown,
        });
        await lastValueFrom(agent.run('Sure?', { history: [userMessage('Count.'), ...first.messages] }));
        expect(bodies()[1]?.['contents']).toMatchObject([
          {},
          { role: 'model', parts: [code, result, unknown, { text: 'One.' }] },
          {},
        ]);
      },
    );
  });

  it('google continues a response that stopped with CONTINUATION: the same contents, with its token', () =>
    withServer(
      [
        ['The Loire ', { type: 'finish', reason: 'paused' }],
        ['is ', { type: 'finish', reason: 'paused' }],
        'long.',
        'Yes.',
      ],
      async (baseUrl, bodies) => {
        const agent = createAgent({ model: google('gemini-3.8-flash', { apiKey: 'k', baseUrl }) });
        const result = await lastValueFrom(agent.run('Tell me.'));
        expect(result).toMatchObject({ text: 'The Loire is long.', finishReason: 'stop', turns: 3 });
        const contents = [{ role: 'user', parts: [{ text: 'Tell me.' }] }];
        expect(bodies()).toEqual([
          { contents },
          { contents, continuationToken: 'continuation-1' },
          { contents, continuationToken: 'continuation-2' },
        ]);
        await lastValueFrom(agent.run('And?', { history: [userMessage('Tell me.'), ...result.messages] }));
        expect(bodies()[3]).not.toHaveProperty('continuationToken');
        expect(bodies()[3]?.['contents']).toHaveLength(3);
      },
    ));
});
