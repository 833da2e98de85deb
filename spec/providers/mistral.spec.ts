import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { from } from 'rxjs';
import type { JsonObject } from '../../lib/core/json/json.js';
import { filePart, modelMessage, systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message, Part } from '../../lib/core/message.js';
import type { ModelRequest } from '../../lib/core/model.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { chatCompletions } from '../../lib/providers/chatCompletions/chatCompletions.js';
import { mistralCallId } from '../../lib/providers/shared/callIds.js';
import { mistral, mistralDialect } from '../../lib/providers/mistral.js';
import { mistral as served } from '../../lib/testing/server/dialects/chatCompletions/variant.js';
import { delta, read } from './chatCompletions/reading.js';
import { describeProviderContract, runTwoTurns } from '../support/providerContract.js';
import type { ProviderUnderTest } from '../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'mistral',
  make: (baseUrl, options) =>
    mistral('mistral-small-latest', { ...options, baseUrl: baseUrl.replace(/\/v1$/, '/mistral/v1') }),
  dialect: served,
  transientCode: 'internal_server_error',
  settings: { seed: 7 },
};
describeProviderContract(provider);

const encode = (request: Partial<ModelRequest>, model = 'mistral-small-latest') =>
  chatCompletions(model, mistralDialect(model)).encode({ messages: [userMessage('Hi')], ...request }).body;
const messagesOf = (...messages: readonly Message[]) => encode({ messages })['messages'];
const contentOf = (...parts: readonly Part[]) =>
  (messagesOf(userMessage(parts)) as readonly JsonObject[])[0]?.['content'];

describe('mistral in a run with tools', () => {
  it('mistral sends thinking back in its place, and the same valid id for a call and its result', async () => {
    const { bodies, paths } = await runTwoTurns(provider);
    const { messages } = bodies[1] as { readonly messages: readonly { readonly tool_call_id?: string }[] };
    const ids = messages.flatMap(({ tool_call_id: id }) => id ?? []);
    const [a, b] = ids;
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    const call = (id: string | undefined, name: string, args: string) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    });
    expect(paths).toEqual(['/mistral/v1/chat/completions', '/mistral/v1/chat/completions']);
    expect(bodies[1]).toEqual({
      model: 'mistral-small-latest',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How warm is it in Oslo and in Lisbon?' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: [{ type: 'text', text: 'Two look-ups are needed.' }] },
            { type: 'text', text: 'Let me look.' },
          ],
          tool_calls: [call(a, 'temperature', '{"city":"Oslo"}'), call(b, 'season', '{}')],
        },
        { role: 'tool', tool_call_id: a, content: '{"city":"Oslo","celsius":-3}' },
        { role: 'tool', tool_call_id: b, content: '{"error":"no calendar"}' },
      ],
      tools: (bodies[0] as { tools: unknown }).tools,
      reasoning_effort: 'high',
      random_seed: 7,
      stream: true,
    });
  });
});

describe('mistral: requests', () => {
  it('mistral has its own names for the seed and a required call, and does not request usage', () => {
    const tools = [{ name: 'f', description: '', parameters: { type: 'object' } }];
    expect(
      encode({
        seed: 1,
        tools,
        toolChoice: 'required',
        parallelToolCalls: false,
        maxOutputTokens: 9,
        stopSequences: ['.'],
      }),
    ).toMatchObject({
      random_seed: 1,
      tool_choice: 'any',
      parallel_tool_calls: false,
      max_tokens: 9,
      stop: ['.'],
    });
    expect(encode({ tools, toolChoice: { name: 'f' } })['tool_choice']).toEqual({
      type: 'function',
      function: { name: 'f' },
    });
    for (const field of ['seed', 'stream_options', 'tool_choice'])
      expect(encode({ seed: 1 })).not.toHaveProperty(field);
  });

  it('mistral sends a schema in strict mode', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    expect(encode({ output: schema })['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'output', strict: true, schema },
    });
  });

  it('mistral sends images, audio and documents in its own parts', () => {
    const image = new URL('https://example.org/a.png');
    expect(
      contentOf(
        { type: 'text', text: 'See' },
        filePart(image, 'image/png'),
        filePart(new Uint8Array([1]), 'image/jpeg'),
        filePart(new Uint8Array([1]), 'application/pdf', 'a.pdf'),
        filePart(new URL('https://example.org/a.docx'), 'application/msword'),
        filePart(new Uint8Array([1]), 'audio/mpeg'),
        filePart(new TextEncoder().encode('a,b'), 'text/csv'),
      ),
    ).toEqual([
      { type: 'text', text: 'See' },
      { type: 'image_url', image_url: image.href },
      { type: 'image_url', image_url: 'data:image/jpeg;base64,AQ==' },
      { type: 'document_url', document_url: 'data:application/pdf;base64,AQ==', document_name: 'a.pdf' },
      { type: 'document_url', document_url: 'https://example.org/a.docx' },
      { type: 'input_audio', input_audio: 'AQ==' },
      { type: 'text', text: 'a,b' },
    ]);
  });

  it.each<[ModelRequest['thinking'], JsonObject]>([
    [true, { reasoning_effort: 'high' }],
    [false, { reasoning_effort: 'none' }],
    [{ effort: 'low' }, { reasoning_effort: 'low' }],
    [{ effort: 'xhigh' }, { reasoning_effort: 'xhigh' }],
  ])('mistral encodes thinking %j', (thinking, fields) => {
    expect(encode(thinking === undefined ? {} : { thinking })).toMatchObject(fields);
  });

  it('mistral throws for an effort that its API does not have', () => {
    expect(() => encode({ thinking: { effort: 'max' } })).toThrow(/mistral has no thinking effort "max"/);
  });

  it('mistral sends a file that it stores by its id', () => {
    const [file] = read([delta({ content: [{ type: 'file', file_id: 'f/1' }] })]).chunks.flatMap((chunk) =>
      chunk.type === 'file' ? [chunk.file] : [],
    );
    expect(file).toMatchObject({ url: 'https://api.mistral.ai/v1/files/f%2F1/content' });
    expect(contentOf(...(file ? [file] : []))).toEqual([{ type: 'file', file_id: 'f/1' }]);
  });

  it('mistral sends files in tool results', () => {
    const call = { type: 'toolCall', id: 'abcdefghi', name: 'f', arguments: {} } as const;
    const file = filePart(new Uint8Array([1]), 'image/png');
    const result = { type: 'toolResult', id: 'abcdefghi', name: 'f', result: ['See', file, { a: 1 }] } as const;
    expect(messagesOf(userMessage('Q'), modelMessage([call]), userMessage([result]))).toMatchObject([
      {},
      {},
      {
        role: 'tool',
        tool_call_id: 'abcdefghi',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: 'data:image/png;base64,AQ==' },
          { type: 'text', text: '{"a":1}' },
        ],
      },
    ]);
  });

  it('mistral sends the provider options of messages, parts, files and tools', () => {
    const providerOptions = { mistral: { extra: 1 }, 'openai-chat': { other: 2 } };
    const text = { type: 'text', text: 'Hi', providerOptions } as const;
    const file = { ...filePart(new URL('https://example.org/a.png'), 'image/png'), providerOptions };
    const tools = [{ name: 'f', description: '', parameters: { type: 'object' }, providerOptions }];
    const body = encode({ tools, messages: [{ ...userMessage([text, file]), providerOptions }] });
    expect(body).toMatchObject({
      messages: [{ role: 'user', extra: 1, content: [{ type: 'text', text: 'Hi', extra: 1 }, { extra: 1 }] }],
      tools: [{ type: 'function', function: { name: 'f', extra: 1 } }],
    });
    expect(encode({ messages: [{ role: 'system', parts: [text] }] })['messages']).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'Hi', extra: 1 }] },
    ]);
    expect(JSON.stringify(body)).not.toContain('other');
  });

  it('mistral throws for a budget, and for thinking settings of a Magistral model', () => {
    expect(() => encode({ thinking: { budget: 5 } })).toThrow(
      expect.objectContaining({ code: 'configuration', subject: 'options' }),
    );
    expect(encode({ thinking: true }, 'magistral-medium-latest')).not.toHaveProperty('reasoning_effort');
    expect(() => encode({ thinking: false }, 'magistral-medium-latest')).toThrow(/always thinks/);
  });

  it('mistral inserts a reply between results and the user, and lets the model continue its last message', () => {
    const call = { type: 'toolCall', id: 'abcdefghi', name: 'f', arguments: {} } as const;
    const result = { type: 'toolResult', id: 'abcdefghi', name: 'f', result: 1 } as const;
    expect(
      messagesOf(
        systemMessage('S'),
        userMessage('Q'),
        modelMessage([call]),
        userMessage([result, { type: 'text', text: 'And?' }]),
      ),
    ).toEqual([
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Q' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'abcdefghi', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'abcdefghi', content: '1' },
      { role: 'assistant', content: 'OK' },
      { role: 'user', content: 'And?' },
    ]);
    expect(messagesOf(userMessage('Q'), modelMessage('It is'))).toEqual([
      { role: 'user', content: 'Q' },
      { role: 'assistant', content: 'It is', prefix: true },
    ]);
  });

  it('mistral ignores the data of other providers', () => {
    const message = modelMessage([
      { type: 'text', text: 'A' },
      { type: 'provider', provider: 'openrouter', data: { reasoning_details: [{ type: 'x' }] } },
    ]);
    expect(messagesOf(userMessage('Q'), message, userMessage('R'))).toEqual([
      { role: 'user', content: 'Q' },
      { role: 'assistant', content: 'A' },
      { role: 'user', content: 'R' },
    ]);
  });
});

describe('mistralCallId', () => {
  it('mistralCallId keeps valid ids, and always maps any other id to the same valid id', () => {
    expect(mistralCallId('aB3xK9mP2')).toBe('aB3xK9mP2');
    expect(mistralCallId('call_1')).toBe(mistralCallId('call_1'));
    fc.assert(fc.property(fc.string(), (id) => expect(mistralCallId(id)).toMatch(/^[a-zA-Z0-9]{9}$/)));
  });

  it('mistralCallId maps a hundred thousand ids to different ids', () => {
    expect(new Set(Array.from({ length: 100_000 }, (_, at) => mistralCallId(`call_${at}`))).size).toBe(100_000);
  });
});

describe('mistral: responses', () => {
  const thought = (text: string): JsonObject => ({ type: 'thinking', thinking: [{ type: 'text', text }] });
  const messageOf = (...frames: readonly JsonObject[]): Message => {
    let message = modelMessage('');
    from(read(frames, true, 'mistral').chunks)
      .pipe(accumulateToolCalls(), consolidate())
      .subscribe((event) => event.type === 'message' && (message = event.message));
    return message;
  };

  it('mistral stores thinking with its places in the text, and sends it back there', () => {
    const message = messageOf(
      delta({ content: [thought('First, ')] }),
      delta({ content: [thought('this.')] }),
      delta({ content: 'One.' }),
      delta(
        {
          content: [
            { type: 'text', text: ' Two' },
            { ...thought('Then that.'), closed: true },
            { type: 'text', text: '.' },
          ],
        },
        'stop',
      ),
    );
    expect((messagesOf(userMessage('Q'), message, userMessage('R')) as readonly JsonObject[])[1]).toEqual({
      role: 'assistant',
      content: [
        thought('First, this.'),
        { type: 'text', text: 'One. Two' },
        { ...thought('Then that.'), closed: true },
        { type: 'text', text: '.' },
      ],
    });
  });

  it('mistral emits audio, documents and images in a response as files', () => {
    const { chunks } = read([
      delta({
        content: [
          { type: 'input_audio', input_audio: 'SUQz' },
          { type: 'input_audio', input_audio: 'https://a.example/a.mp3' },
          { type: 'document_url', document_url: 'https://a.example/a.pdf', document_name: 'A' },
          { type: 'document_url', document_url: 'data:application/pdf;base64,JVBE' },
          { type: 'image_url', image_url: { url: 'https://a.example/a.png' } },
        ],
      }),
    ]);
    expect(chunks.flatMap((chunk) => (chunk.type === 'file' ? [chunk.file] : []))).toEqual([
      { type: 'file', mediaType: 'audio/*', data: 'SUQz' },
      { type: 'file', mediaType: 'audio/*', url: 'https://a.example/a.mp3' },
      { type: 'file', mediaType: 'application/*', url: 'https://a.example/a.pdf', name: 'A' },
      { type: 'file', mediaType: 'application/pdf', data: 'JVBE' },
      { type: 'file', mediaType: 'image/*', url: 'https://a.example/a.png' },
    ]);
  });

  it('mistral emits the documents that are referenced within thinking', () => {
    const thinking = [
      { type: 'text', text: 'Hm.' },
      { type: 'reference', reference_ids: ['7'] },
    ];
    const { chunks, thinking: text } = read([delta({ content: [{ type: 'thinking', thinking }] })]);
    expect(text).toBe('Hm.');
    expect(chunks).toContainEqual({ type: 'source', source: { type: 'source', id: '7' } });
  });

  it('mistral emits the documents that are referenced, each once', () => {
    const reference = (...ids: readonly number[]): JsonObject => ({ type: 'reference', reference_ids: ids });
    const { chunks, text } = read([
      delta({ content: [{ type: 'text', text: 'Paris' }, reference(3, 5)] }),
      delta(
        {
          content: [reference(5), { type: 'tool_reference', tool: 'web_search', title: 'P', url: 'https://p.example' }],
        },
        'stop',
      ),
    ]);
    expect(text).toBe('Paris');
    expect(chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []))).toEqual([
      { type: 'source', id: '3' },
      { type: 'source', id: '5' },
      { type: 'source', url: 'https://p.example', title: 'P' },
    ]);
  });

  it.each([
    ['model_length', 'length'],
    ['error', 'error'],
    ['tool_calls', 'toolCalls'],
  ])('mistral maps the finish reason %s to %s', (word, reason) => {
    expect(read([delta({ content: 'a' }, word)]).finish).toMatchObject({ reason, rawReason: word });
  });
});
