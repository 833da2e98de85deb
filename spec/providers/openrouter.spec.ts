import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lastValueFrom, toArray } from 'rxjs';
import type { JsonObject } from '../../lib/core/json/json.js';
import { filePart, modelMessage, userMessage } from '../../lib/core/message.js';
import type { ModelRequest } from '../../lib/core/model.js';
import { openrouter } from '../../lib/providers/openrouter.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { openrouter as served } from '../../lib/testing/server/dialects/chatCompletions/variant.js';
import { answering } from './answering.js';
import { delta, frame, read } from './chatCompletions/reading.js';
import { describeProviderContract, runTwoTurns } from '../support/providerContract.js';
import type { ProviderUnderTest } from '../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'openrouter',
  make: (baseUrl, options) =>
    openrouter('anthropic/claude-sonnet-4.5', { ...options, baseUrl: baseUrl.replace(/\/v1$/, '/api/v1') }),
  dialect: served,
  transientCode: '502',
};
describeProviderContract(provider);

async function sent(request: Partial<ModelRequest>, name = 'google/gemini-2.5-flash', options: ModelOptions = {}) {
  const { fetch, requests } = answering(delta({ content: 'a' }, 'stop'));
  await lastValueFrom(
    openrouter(name, { apiKey: 'k', fetch, ...options }).stream({ messages: [userMessage('Hi')], ...request }),
  );
  return requests[0] ?? { url: '', headers: new Headers(), body: {} };
}
const details = (...frames: readonly JsonObject[]) => {
  const found = read(frames, true, 'openrouter').chunks.find((chunk) => chunk.type === 'provider');
  return found?.type === 'provider' ? found.data['reasoning_details'] : undefined;
};
const reasoning = (...list: readonly JsonObject[]) => delta({ reasoning_details: list });

describe('openrouter in a run with tools', () => {
  it('openrouter sends reasoning details back unchanged, with their message', async () => {
    const { bodies, paths, events } = await runTwoTurns(provider);
    const call = (id: string, name: string, args: string) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    });
    expect(paths[0]).toBe('/api/v1/chat/completions');
    expect(bodies[1]).toEqual({
      model: 'anthropic/claude-sonnet-4.5',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How warm is it in Oslo and in Lisbon?' },
        {
          role: 'assistant',
          content: 'Let me look.',
          reasoning_details: [
            { type: 'reasoning.text', text: 'Two look-ups are needed.', format: 'loopback-v1', index: 0 },
          ],
          tool_calls: [call('call_1_1', 'temperature', '{"city":"Oslo"}'), call('call_1_2', 'season', '{}')],
        },
        { role: 'tool', tool_call_id: 'call_1_1', content: '{"city":"Oslo","celsius":-3}' },
        { role: 'tool', tool_call_id: 'call_1_2', content: '{"error":"no calendar"}' },
      ],
      tools: (bodies[0] as { tools: unknown }).tools,
      reasoning: { enabled: true },
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(events.filter((event) => event.type === 'metadata').map(({ metadata }) => metadata)).toEqual([
      { responseId: 'chatcmpl-1', model: 'anthropic/claude-sonnet-4.5', upstreamProvider: 'Loopback' },
      { cost: 0.00012 },
      { responseId: 'chatcmpl-2', model: 'anthropic/claude-sonnet-4.5', upstreamProvider: 'Loopback' },
      { cost: 0.00012 },
    ]);
  });
});

describe('openrouter: requests', () => {
  it.each<[NonNullable<ModelRequest['thinking']>, JsonObject]>([
    [true, { enabled: true }],
    [false, { effort: 'none' }],
    [{ effort: 'high' }, { effort: 'high' }],
    [{ budget: 2000 }, { max_tokens: 2000 }],
    [{ effort: 'low', budget: 2000 }, { effort: 'low' }],
    [{}, { enabled: true }],
  ])('openrouter encodes thinking %j', async (thinking, expected) => {
    expect((await sent({ thinking })).body['reasoning']).toEqual(expected);
  });

  it('openrouter merges its provider options into the body, and sends its key', async () => {
    const plugins = [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }];
    const { url, headers, body } = await sent({
      thinking: true,
      providerOptions: { openrouter: { plugins, reasoning: { exclude: true } } },
    });
    expect(url).toBe('https://openrouter.ai/api/v1/chat/completions');
    expect(headers.get('authorization')).toBe('Bearer k');
    expect(body).toMatchObject({ plugins, reasoning: { enabled: true, exclude: true } });
  });

  it('openrouter sends documents and videos, also by URL', async () => {
    const { body } = await sent({
      messages: [
        userMessage([
          filePart(new URL('https://example.org/a.pdf'), 'application/pdf', 'a.pdf'),
          filePart(new Uint8Array([1]), 'application/pdf'),
          filePart(new URL('https://example.org/a.mp4'), 'video/mp4'),
        ]),
      ],
    });
    expect(body['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', file: { filename: 'a.pdf', file_data: 'https://example.org/a.pdf' } },
          { type: 'file', file: { filename: 'file.pdf', file_data: 'data:application/pdf;base64,AQ==' } },
          { type: 'video_url', video_url: { url: 'https://example.org/a.mp4' } },
        ],
      },
    ]);
  });

  it('openrouter makes call ids valid for models that refuse other ids', async () => {
    const messages = [
      userMessage('Q'),
      modelMessage([{ type: 'toolCall', id: 'toolu_1', name: 'f', arguments: {} }]),
      userMessage([{ type: 'toolResult', id: 'toolu_1', name: 'f', result: 'r' }]),
    ];
    const ids = async (name: string) =>
      JSON.stringify((await sent({ messages }, name)).body).match(/"(?:id|tool_call_id)":"[^"]*"/g);
    expect(await ids('google/gemini-2.5-flash')).toEqual(['"id":"toolu_1"', '"tool_call_id":"toolu_1"']);
    const [call = '', result] = (await ids('mistralai/mistral-small')) ?? [];
    expect(call).toMatch(/^"id":"[a-zA-Z0-9]{9}"$/);
    expect(result).toBe(call.replace('id', 'tool_call_id'));
  });
});

describe('openrouter: reasoning details', () => {
  const text = (index: number, fields: JsonObject): JsonObject => ({
    type: 'reasoning.text',
    format: 'anthropic-claude-v1',
    index,
    ...fields,
  });

  it('openrouter joins the fragments of a detail and its signature, also if two details alternate', () => {
    expect(
      details(
        reasoning(text(0, { text: 'A', signature: null })),
        reasoning(text(1, { text: 'x' })),
        reasoning(text(0, { text: 'B' }), text(1, { text: 'y' })),
        reasoning(text(0, { signature: 's0' })),
        reasoning({ type: 'reasoning.summary', index: 2, summary: 'Su', id: 'rs_1' }),
        reasoning({ type: 'reasoning.summary', index: 2, summary: 'm', id: 'rs_1' }),
        reasoning({ type: 'reasoning.encrypted', index: 2, data: 'AAA=', id: 'rs_1' }),
      ),
    ).toEqual([
      text(0, { text: 'AB', signature: 's0' }),
      text(1, { text: 'xy' }),
      { type: 'reasoning.summary', index: 2, summary: 'Sum', id: 'rs_1' },
      { type: 'reasoning.encrypted', index: 2, data: 'AAA=', id: 'rs_1' },
    ]);
  });

  it('openrouter separates the encrypted details of two calls, and what follows a signature', () => {
    const secret = (id: string, data: string) => ({
      type: 'reasoning.encrypted',
      format: 'google-gemini-v1',
      index: 0,
      id,
      data,
    });
    const list = [
      secret('call_a', 'AA'),
      secret('call_b', 'BB'),
      text(0, { text: 'A', signature: 's' }),
      text(0, { text: 'B', signature: 't' }),
    ];
    expect(details(reasoning(...list))).toEqual(list);
    expect(
      details(
        reasoning({ type: 'reasoning.encrypted', data: 'A' }),
        reasoning({ type: 'reasoning.encrypted', data: 'B' }),
      ),
    ).toHaveLength(2);
  });

  it('openrouter stores the same detail however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (texts) => {
        const frames = [
          ...texts.map((fragment) => reasoning(text(0, { text: fragment }))),
          reasoning(text(0, { signature: 's' })),
        ];
        expect(details(...frames)).toEqual([text(0, { text: texts.join(''), signature: 's' })]);
      }),
    );
  });
});

describe('openrouter: responses', () => {
  it('openrouter emits images and sources, and stores parsed documents', async () => {
    const file = { type: 'file', file: { hash: 'h', name: 'a.pdf', content: [{ type: 'text', text: 'Parsed.' }] } };
    const cited = { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } };
    const { fetch } = answering(
      delta({ content: 'See', images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AQ==' } }] }),
      delta({ annotations: [cited, file] }, 'stop'),
    );
    const chunks = await lastValueFrom(
      openrouter('m', { apiKey: 'k', fetch })
        .stream({ messages: [userMessage('Hi')] })
        .pipe(toArray()),
    );
    expect(chunks).toContainEqual({ type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AQ==' } });
    expect(chunks).toContainEqual({ type: 'source', source: { type: 'source', url: 'https://a.example', title: 'A' } });
    expect(chunks).toContainEqual({ type: 'provider', provider: 'openrouter', data: { annotations: [file] } });
  });

  it('openrouter reports an error at the top or in the choice, with the text of the upstream provider', () => {
    const error = {
      code: 502,
      message: 'Provider returned error',
      metadata: { provider_name: 'X', raw: 'overloaded' },
    };
    const failed = { finish_reason: 'error', delta: { content: '' } };
    for (const last of [frame(failed, { error }), frame({ ...failed, error })]) {
      const { text, error: thrown } = read([delta({ content: 'Half' }), last], true, 'openrouter');
      expect(text).toBe('Half');
      expect(thrown).toMatchObject({
        code: 'provider',
        providerCode: '502',
        retryable: true,
        message: expect.stringMatching(/overloaded/) as unknown,
      });
    }
  });
});
