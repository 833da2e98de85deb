import { afterEach, describe, expect, it } from '@jest/globals';
import { from, lastValueFrom, toArray } from 'rxjs';
import type { JsonObject } from '../../../lib/core/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { openaiResponses } from '../../../lib/providers/openaiResponses/openaiResponses.js';
import { responses } from '../../../lib/testing/server/dialects/responses.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, Script, ServedTurn } from '../../../lib/testing/server/index.js';

describe('the loopback provider in the words of the Responses API', () => {
  const servers: LoopbackServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  const ask = async (script: Script<ServedTurn>) => {
    const server = await serveModel(script);
    servers.push(server);
    const model = openaiResponses('gpt-5', { apiKey: 'k', baseUrl: server.url, retry: false });
    return lastValueFrom(model.stream({ messages: [userMessage('Hi')] }).pipe(toArray()));
  };

  it('says text, sources, images, pieces of calls and usage, as the reader of that API understands them', async () => {
    const chunks = await ask([
      [
        'Look',
        { type: 'source', source: { type: 'source', url: 'https://a.example', title: 'A' } },
        { type: 'source', source: { type: 'source', id: 'file_1', title: 'a.pdf' } },
        { type: 'file', file: { type: 'file', mediaType: 'image/webp', data: 'AQID' } },
        { type: 'toolCallFragment', index: 0, id: 'c1', name: 'add', arguments: '{"a"' },
        { type: 'toolCallFragment', index: 1, id: 'c2', name: 'sub', arguments: '' },
        { type: 'toolCallFragment', index: 0, arguments: ':1}' },
        { type: 'finish', reason: 'toolCalls', usage: { input: 9, output: 4, cachedInput: 3, reasoning: 2 } },
      ],
    ]);
    const of = (type: string) => chunks.filter((chunk) => chunk.type === type);
    expect(of('source')).toHaveLength(2);
    expect(of('file')).toMatchObject([{ file: { mediaType: 'image/webp', data: 'AQID' } }]);
    expect(of('toolCallFragment')).toMatchObject([
      { index: 'fc_1_3', id: 'c1', name: 'add' },
      { index: 'fc_1_3', arguments: '{"a"' },
      { index: 'fc_1_4', id: 'c2', name: 'sub' },
      { index: 'fc_1_3', arguments: ':1}' },
      { index: 'fc_1_3', done: true },
      { index: 'fc_1_4', done: true },
    ]);
    expect(of('finish')).toMatchObject([{ reason: 'toolCalls', usage: { input: 9, output: 4, total: 13, cachedInput: 3, reasoning: 2 } }]);
  });

  it.each([
    ['stop', 'stop', 'completed'],
    ['length', 'length', 'max_output_tokens'],
    ['contentFilter', 'contentFilter', 'content_filter'],
    ['other', 'other', 'other'],
    ['unspecified', 'unspecified', undefined],
  ] as const)('ends by %s', async (reason, expected, word) => {
    const chunks = await ask([['Hi', { type: 'finish', reason }]]);
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: expected, ...(word === undefined ? {} : { rawReason: word }) });
  });

  it('does not end a call that the limit has cut', async () => {
    const cut = { type: 'toolCallFragment', index: 0, id: 'c1', name: 'add', arguments: '{"a"' } as const;
    const chunks = await ask([[cut, { type: 'finish', reason: 'length' }]]);
    expect(chunks.filter((chunk) => chunk.type === 'toolCallFragment' && chunk.done)).toEqual([]);
  });

  it('has no words for what the API has none for', async () => {
    const retracted = ask(() => from([{ type: 'retract' } as const]));
    await expect(retracted).rejects.toMatchObject({ code: 'provider', message: expect.stringContaining('"retract"') as unknown });
  });

  const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] };
  const asked = { type: 'function_call', call_id: 'a', name: 'add', arguments: '{}' };
  const answered = { type: 'function_call_output', call_id: 'a', output: '' };
  const body = (rest: JsonObject): JsonObject => ({ model: 'm', input: [user], stream: true, ...rest });
  const wrong: readonly (readonly [string, unknown, RegExp])[] = [
    ['no JSON', 'text', /could not parse/],
    ['messages of the other API', body({ messages: [] }), /Unsupported parameter: 'messages'/],
    ['no model', body({ model: '' }), /'model'/],
    ['no input', { model: 'm', stream: true }, /'input'/],
    ['an empty input', body({ input: [] }), /empty/],
    ['a tool in the form of the other API', body({ tools: [{ type: 'function', function: { name: 'x' } }] }), /tools\[0\]\.name/],
    ['no wish to stream', body({ stream: false }), /stream/],
    ['a call without its output', body({ input: [user, asked] }), /No tool output found for function call a/],
    ['an output without its call', body({ input: [user, answered] }), /No tool call found.*a/],
    [
      'an id that is too long',
      body({
        input: [
          { ...asked, call_id: 'x'.repeat(65) },
          { ...answered, call_id: 'x'.repeat(65) },
        ],
      }),
      /64/,
    ],
    [
      'reasoning that nothing follows',
      body({ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }, user] }),
      /'rs_1'.*required following item/,
    ],
  ];
  it.each(wrong)('objects to %s', (_, request, words) => {
    expect(responses.refusal(request)).toMatchObject({ status: 400, message: expect.stringMatching(words) as unknown });
  });

  it('takes a call with its output, and the output alone where a stored response has the call', () => {
    expect(responses.refusal(body({ input: [user, asked, answered] }))).toBeUndefined();
    expect(responses.refusal(body({ input: [answered], previous_response_id: 'resp_1' }))).toBeUndefined();
    expect(responses.refusal(body({ input: 'Hi' }))).toBeUndefined();
  });
});
