import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ProviderError } from '../../../lib/core/errors.js';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { delta, frame, read } from './reading.js';

const finish = (reason: string, rest: object = {}) => ({ type: 'finish', reason, ...rest });

describe('decodeChatCompletions: text, thinking, files and sources', () => {
  it('decodeChatCompletions emits metadata once, just before the first other chunk, and the finish last', () => {
    const { chunks } = read([
      { id: '', model: '', choices: [], prompt_filter_results: [] },
      {
        id: 'a1',
        model: 'm',
        service_tier: 'flex',
        choices: [{ index: 0, delta: { role: 'assistant', content: '' } }],
      },
      { id: 'a1', model: 'm', choices: [{ index: 0, delta: { content: 'Hi' } }] },
      { id: 'a1', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { id: 'a1', model: 'm', choices: [], usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 } },
    ]);
    expect(chunks).toEqual([
      { type: 'metadata', metadata: { responseId: 'a1', model: 'm', serviceTier: 'flex' } },
      { type: 'text', text: 'Hi' },
      finish('stop', { rawReason: 'stop', usage: { input: 2, output: 1, total: 3 } }),
    ]);
  });

  it.each<[string, JsonValue, string, string]>([
    ['a string', 'Hi', 'Hi', ''],
    [
      'text parts',
      [
        { type: 'text', text: 'H' },
        { type: 'text', text: 'i' },
      ],
      'Hi',
      '',
    ],
    [
      'thinking parts with a list',
      [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
        { type: 'text', text: 'Hi' },
      ],
      'Hi',
      'Hm',
    ],
    ['thinking parts with a string', [{ type: 'thinking', thinking: 'Hm' }], '', 'Hm'],
    ['one part without a list', { type: 'text', text: 'Hi' }, 'Hi', ''],
    [
      'references besides text',
      [
        { type: 'reference', reference_ids: [1] },
        { type: 'text', text: 'Hi' },
      ],
      'Hi',
      '',
    ],
  ])('decodeChatCompletions reads content that is %s', (_, content, text, thinking) => {
    expect(read([delta({ content })])).toMatchObject({ text, thinking });
  });

  it.each<[string, JsonObject]>([
    ['reasoning_content', { reasoning_content: 'Hm' }],
    ['reasoning', { reasoning: 'Hm' }],
    ['both with the same text', { reasoning_content: 'Hm', reasoning: 'Hm' }],
    ['an empty one and a full one', { reasoning_content: '', reasoning: 'Hm' }],
    [
      'details only',
      {
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm' },
          { type: 'reasoning.encrypted', data: 'x' },
        ],
      },
    ],
    ['a summary in the details', { reasoning_details: [{ type: 'reasoning.summary', summary: 'Hm' }] }],
    ['both plain and details', { reasoning: 'Hm', reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }],
  ])('decodeChatCompletions emits thinking once for %s', (_, fields) => {
    expect(read([delta(fields)]).thinking).toBe('Hm');
  });

  it('decodeChatCompletions does not emit reasoning details that repeat plain reasoning with its signature', () => {
    const { thinking, chunks } = read([
      delta({ reasoning: 'Hm' }),
      delta({ reasoning: null, reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: 's', index: 0 }] }),
    ]);
    expect(thinking).toBe('Hm');
    expect(chunks).toContainEqual({
      type: 'providerData',
      provider: 'server',
      data: { reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: 's', index: 0 }] },
    });
  });

  it('decodeChatCompletions emits a refusal as text and finishes with contentFilter', () => {
    const { text, finish: last } = read([delta({ refusal: 'I must ' }), delta({ refusal: 'not.' }), delta({}, 'stop')]);
    expect(text).toBe('I must not.');
    expect(last).toMatchObject({ reason: 'contentFilter', rawReason: 'stop' });
  });

  it('decodeChatCompletions emits from a complete message only what was not streamed', () => {
    const message = {
      role: 'assistant',
      content: 'Hello world',
      reasoning: 'Hm',
      tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }],
    };
    const streamed = read([
      delta({ content: 'Hello ' }),
      delta({ content: 'world' }),
      frame({ delta: {}, message, finish_reason: 'stop' }),
    ]);
    expect(streamed).toMatchObject({ text: 'Hello world', thinking: 'Hm' });
    expect(streamed.chunks.filter(({ type }) => type === 'toolCallFragment')).toEqual([
      { type: 'toolCallFragment', id: 'c', name: 'f', arguments: '{}' },
    ]);
    const unstreamed = read([frame({ message, finish_reason: 'tool_calls' })]);
    expect(unstreamed).toMatchObject({ text: 'Hello world', thinking: 'Hm', finish: { reason: 'toolCalls' } });
  });

  it('decodeChatCompletions emits only the new text of messages that grow', () => {
    const grown = ['He', 'Hello', 'Hello world'].map((content) => frame({ message: { content } }));
    expect(read(grown).text).toBe('Hello world');
    expect(read([delta({ content: '\n\nHello' }), frame({ message: { content: 'Hello' } })]).text).toBe('\n\nHello');
  });

  it('decodeChatCompletions reads only the choice at index 0', () => {
    const choices = [
      { index: 1, delta: { content: 'no' }, finish_reason: 'length' },
      { index: 0, delta: { content: 'yes' } },
    ];
    expect(read([{ choices }, { choices: [{ delta: {}, finish_reason: 'stop' }] }])).toMatchObject({
      text: 'yes',
      finish: { reason: 'stop' },
    });
  });

  it('decodeChatCompletions emits content after the finish reason before the finish', () => {
    const { chunks } = read([delta({ content: 'a' }, 'stop'), delta({ content: 'b' })]);
    expect(chunks.map(({ type }) => type)).toEqual(['text', 'text', 'finish']);
  });

  it('decodeChatCompletions emits images as files and citations as sources, each once', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } };
    const cite = { type: 'url_citation', url_citation: { url: 'https://a.test/', title: 'A', content: 'said' } };
    const { chunks } = read([
      delta({ images: [image], annotations: [cite] }),
      {
        ...frame({ message: { images: [image], annotations: [cite] } }),
        citations: ['https://a.test/', 'https://b.test/'],
      },
    ]);
    expect(chunks.slice(0, -1)).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'iVBORw0=' } },
      { type: 'source', source: { type: 'source', url: 'https://a.test/', title: 'A', text: 'said' } },
      { type: 'source', source: { type: 'source', url: 'https://b.test/' } },
    ]);
  });
});

describe('decodeChatCompletions: tool calls', () => {
  const fragments = (...deltas: JsonObject[]) =>
    read(deltas.map((fields) => delta(fields))).chunks.flatMap((chunk) => {
      if (chunk.type !== 'toolCallFragment') return [];
      return [Object.fromEntries(Object.entries(chunk).filter(([field]) => field !== 'type'))];
    });

  it('decodeChatCompletions emits each entry as a fragment and joins nothing', () => {
    expect(
      fragments(
        { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] },
        {
          tool_calls: [
            { index: 0, function: { arguments: '{"x"' } },
            { index: 1, id: '', function: { name: 'g', arguments: { y: 1 } } },
          ],
        },
        { tool_calls: [{ id: 7, name: 'bare', arguments: null }] },
      ),
    ).toEqual([
      { index: 0, id: 'a', name: 'f', arguments: '' },
      { index: 0, arguments: '{"x"' },
      { index: 1, name: 'g', arguments: { y: 1 } },
      { id: '7', name: 'bare', arguments: null },
    ]);
  });

  it('decodeChatCompletions skips lists that are null or empty, and empty entries', () => {
    expect(
      fragments(
        { tool_calls: null },
        { tool_calls: [] },
        { tool_calls: [null, {}, { index: 0, function: { name: '', arguments: '' } }, 'x'] },
      ),
    ).toEqual([]);
  });

  it('decodeChatCompletions reads the older function_call only without tool_calls', () => {
    expect(fragments({ function_call: { name: 'f', arguments: '{' } }, { function_call: { arguments: '}' } })).toEqual([
      { name: 'f', arguments: '{' },
      { arguments: '}' },
    ]);
    expect(fragments({ function_call: { name: 'f' }, tool_calls: [{ id: 'a', function: { name: 'f' } }] })).toEqual([
      { id: 'a', name: 'f' },
    ]);
  });

  it('decodeChatCompletions stores a signature with its call, and reasoning with a message that has calls', () => {
    const extra = { google: { thought_signature: 'sig' } };
    const call = { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' }, extra_content: extra }] };
    const { chunks } = read(
      [delta({ reasoning_content: 'Hm, ' }), delta({ reasoning_content: 'yes' }), delta(call, 'tool_calls')],
      true,
      'deep',
    );
    expect(chunks).toContainEqual(
      expect.objectContaining({ type: 'toolCallFragment', providerData: { deep: { extra_content: extra } } }),
    );
    const alone = { tool_calls: [{ extra_content: extra }] };
    expect(read([delta(alone)], true, 'deep').chunks).toContainEqual({
      type: 'toolCallFragment',
      providerData: { deep: { extra_content: extra } },
    });
    expect(chunks.at(-2)).toEqual({ type: 'providerData', provider: 'deep', data: { reasoning_content: 'Hm, yes' } });
    expect(
      read([delta({ reasoning_content: 'Hm' }), delta({ content: 'Hi' }, 'stop')]).chunks.map(({ type }) => type),
    ).not.toContain('providerData');
  });

  it('decodeChatCompletions joins the fragments of signed reasoning for the next request', () => {
    const fragment = (fields: JsonObject) =>
      delta({ reasoning_details: [{ type: 'reasoning.text', index: 0, ...fields }] });
    const { chunks } = read([
      fragment({ text: 'We ' }),
      fragment({ text: 'add.', signature: null }),
      fragment({ text: '', signature: 'sig' }),
      delta({
        reasoning_details: [
          { type: 'reasoning.encrypted', index: 1, data: 'x' },
          { type: 'reasoning.encrypted', index: 1, data: 'y' },
        ],
      }),
    ]);
    expect(chunks.find(({ type }) => type === 'providerData')).toMatchObject({
      data: {
        reasoning_details: [
          { type: 'reasoning.text', index: 0, text: 'We add.', signature: 'sig' },
          { type: 'reasoning.encrypted', index: 1, data: 'x' },
          { type: 'reasoning.encrypted', index: 1, data: 'y' },
        ],
      },
    });
  });
});

describe('decodeChatCompletions: the finish', () => {
  it.each([
    ['stop', 'stop'],
    ['eos', 'stop'],
    ['end_turn', 'stop'],
    ['length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_length', 'length'],
    ['tool_calls', 'toolCalls'],
    ['function_call', 'toolCalls'],
    ['content_filter', 'contentFilter'],
    ['error', 'error'],
    ['abort', 'other'],
    ['constructor', 'other'],
  ])('decodeChatCompletions maps the finish reason "%s" to %s and keeps the word as rawReason', (word, reason) => {
    expect(read([delta({}, word)]).chunks).toEqual([finish(reason, { rawReason: word })]);
  });

  it('decodeChatCompletions takes the first finish reason that is not empty, and the last usage', () => {
    const usage = (prompt_tokens: number) => ({ prompt_tokens, completion_tokens: 1 });
    const { finish: last } = read([
      delta({}, ''),
      delta({}, 'null'),
      { ...delta({}, 'tool_calls'), usage: usage(4) },
      { ...delta({}, 'stop'), usage: usage(5) },
      { choices: null, usage: null },
      { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
    ]);
    expect(last).toEqual(finish('toolCalls', { rawReason: 'tool_calls', usage: { input: 5, output: 1, total: 6 } }));
  });

  it('decodeChatCompletions takes a later finish reason if the response continued after the first', () => {
    expect(read([delta({ content: 'a' }, 'stop'), delta({ content: 'b' }, 'length')]).finish).toEqual(
      finish('length', { rawReason: 'length' }),
    );
    expect(read([delta({ content: 'a' }, 'stop'), delta({ content: '' }, 'length')]).finish).toEqual(
      finish('stop', { rawReason: 'stop' }),
    );
  });

  it.each<[string, JsonObject, object]>([
    [
      'the choice (Moonshot)',
      frame({ delta: {}, usage: { prompt_tokens: 3, completion_tokens: 2, cached_tokens: 1 } }),
      { input: 3, output: 2, total: 5, cachedInput: 1 },
    ],
    [
      'x_groq (Groq)',
      { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 2 } } },
      { input: 3, output: 2, total: 5 },
    ],
    [
      'the top, with cache and reasoning (OpenAI)',
      {
        usage: {
          prompt_tokens: 9,
          completion_tokens: 7,
          total_tokens: 16,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 5 },
        },
      },
      { input: 9, output: 7, total: 16, cachedInput: 4, reasoning: 5 },
    ],
    [
      'the top, reasoning not included in the output (xAI)',
      {
        usage: {
          prompt_tokens: 9,
          completion_tokens: 2,
          total_tokens: 16,
          completion_tokens_details: { reasoning_tokens: 5 },
        },
      },
      { input: 9, output: 7, total: 16, reasoning: 5 },
    ],
    [
      'the top, cache hits (DeepSeek)',
      { usage: { prompt_tokens: 9, completion_tokens: 2, prompt_cache_hit_tokens: 8 } },
      { input: 9, output: 2, total: 11, cachedInput: 8 },
    ],
    ['the top, half of it unknown', { usage: { prompt_tokens: 9, completion_tokens: null } }, { input: 9 }],
  ])('decodeChatCompletions reads usage at %s', (_, data, usage) => {
    expect(read([data]).finish?.usage).toEqual(usage);
  });

  it('decodeChatCompletions reports how much arrived when the stream ends without a finish reason', () => {
    const {
      error,
      finish: last,
      text,
    } = read([delta({ content: 'Hello' }), delta({ tool_calls: [{ id: 'a', function: { name: 'f' } }] })], false);
    expect(error).toMatchObject({
      code: 'stream_interrupted',
      retryable: true,
      provider: 'server',
      message: expect.stringMatching(/5 characters.*1 fragments/),
    });
    expect(text).toBe('Hello');
    expect(last).toBeUndefined();
  });

  it('decodeChatCompletions finishes as unspecified with [DONE] alone, and normally with a finish reason alone', () => {
    expect(read([delta({ content: 'a' })], true).finish).toEqual(finish('unspecified'));
    expect(read([delta({ content: 'a' }, 'stop')], false).finish).toMatchObject({ reason: 'stop' });
  });
});

describe('decodeChatCompletions: errors', () => {
  const failed = (...frames: Parameters<typeof read>[0]) => {
    const { error, chunks } = read(frames);
    expect(error).toMatchObject({ code: 'provider', provider: 'server' });
    const { message, retryable, providerCode } = error as ProviderError;
    return { message, retryable, providerCode, chunks };
  };

  it.each<[string, JsonObject, string, string | undefined, boolean]>([
    [
      'an object',
      { error: { message: 'The server had an error', type: 'server_error', param: null, code: null } },
      'The server had an error',
      'server_error',
      true,
    ],
    ['a string', { error: 'boom' }, 'boom', undefined, false],
    ['an object with a number', { error: { message: 'slow down', code: 429 } }, 'slow down', '429', true],
    ['an object with a number as text', { error: { message: 'no', code: '400' } }, 'no', '400', false],
    ['an exhausted account', { error: { message: 'pay', type: 'insufficient_quota', code: 429 } }, 'pay', '429', false],
    [
      'vLLM, flat',
      { object: 'error', message: 'too long', type: 'BadRequestError', code: 400 },
      'too long',
      '400',
      false,
    ],
    [
      'vLLM, flat, 500',
      { object: 'error', message: 'died', type: 'InternalServerError', code: 500 },
      'died',
      '500',
      true,
    ],
    ['FastAPI', { detail: 'Not Found' }, 'Not Found', undefined, false],
    ['FastAPI, a list', { detail: [{ loc: ['body'], msg: 'bad' }] }, 'bad', undefined, false],
    [
      'a gateway',
      { message: 'Endpoint request timed out', code: 'gateway_timeout' },
      'timed out',
      'gateway_timeout',
      true,
    ],
    [
      'Anthropic, through a gateway',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'Overloaded',
      'overloaded_error',
      true,
    ],
    [
      'MiniMax',
      { choices: null, base_resp: { status_code: 1008, status_msg: 'no balance' } },
      'no balance',
      '1008',
      false,
    ],
    [
      'OpenRouter, in the choice',
      frame({ delta: {}, error: { code: 502, message: 'bad upstream' } }),
      'bad upstream',
      '502',
      true,
    ],
    [
      'OpenRouter, by type',
      {
        error: { code: 400, message: 'x', metadata: { error_type: 'provider_unavailable', raw: 'upstream said y' } },
        choices: [],
      },
      'x: upstream said y',
      '400',
      true,
    ],
  ])('decodeChatCompletions reports an error as %s', (_, data, text, providerCode, retryable) => {
    const error = failed(data);
    expect(error.message).toContain(text);
    expect(error).toMatchObject({ retryable, providerCode, chunks: [] });
  });

  it('decodeChatCompletions reports an event named error, whatever its data', () => {
    expect(failed({ data: { code: 503, reason: 'busy' }, event: 'error' })).toMatchObject({
      message: expect.stringContaining('busy'),
      retryable: true,
    });
  });

  it('decodeChatCompletions emits the text before an error and in its frame', () => {
    const { chunks } = failed(delta({ content: 'Let ' }), {
      ...delta({ content: 'me' }, 'error'),
      error: { message: 'gone', code: 502 },
    });
    expect(chunks).toEqual([
      { type: 'text', text: 'Let ' },
      { type: 'text', text: 'me' },
    ]);
  });

  it.each<[string, JsonObject]>([
    ['an error of null', { ...delta({ content: '' }), error: null }],
    ['an empty error', { ...delta({ content: '' }), error: { code: 0, message: '' } }],
    ['a ping', { type: 'ping' }],
    ['a notice', { code: 0, message: 'ok' }],
    ['success of MiniMax', { base_resp: { status_code: 0, status_msg: '' } }],
    ['an empty frame', {}],
  ])('decodeChatCompletions does not report an error for %s', (_, data) => {
    expect(read([data, delta({ content: 'a' }, 'stop')])).toMatchObject({ error: undefined, text: 'a' });
  });
});

describe('decodeChatCompletions: arbitrary frames', () => {
  const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
  const anyObject = (...fields: string[]) =>
    fc.record(Object.fromEntries(fields.map((field) => [field, json])), {
      requiredKeys: [],
    }) as fc.Arbitrary<JsonObject>;
  const call = fc.oneof(json, anyObject('index', 'id', 'name', 'arguments', 'extra_content'), anyObject('function'));
  const fields = fc.record(
    {
      content: fc.oneof(json, fc.array(anyObject('type', 'text', 'thinking', 'image_url', 'refusal'))),
      reasoning_details: fc.oneof(
        json,
        fc.array(anyObject('type', 'text', 'summary', 'data', 'index', 'id', 'signature')),
      ),
      ...Object.fromEntries(
        ['reasoning', 'reasoning_content', 'refusal', 'function_call', 'images', 'annotations'].map((field) => [
          field,
          json,
        ]),
      ),
      tool_calls: fc.oneof(json, fc.array(call)),
    },
    { requiredKeys: [] },
  );
  const choice = fc.record(
    {
      index: json,
      delta: fc.oneof(json, fields),
      message: fc.oneof(json, fields),
      finish_reason: json,
      usage: json,
      text: json,
      error: json,
    },
    { requiredKeys: [] },
  );
  const anyFrame = fc.record(
    {
      choices: fc.oneof(json, fc.array(choice)),
      ...Object.fromEntries(
        ['id', 'model', 'usage', 'x_groq', 'error', 'object', 'message', 'detail', 'citations', 'base_resp'].map(
          (name) => [name, json],
        ),
      ),
    },
    { requiredKeys: [] },
  );

  it('decodeChatCompletions either throws a ProviderError or ends with one finish', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 6 }), (frames) => {
        const { error, chunks } = read(frames);
        if (error !== undefined) expect(error).toMatchObject({ code: 'provider' });
        const ends = chunks.flatMap(({ type }, at) => (type === 'finish' ? [at] : []));
        expect(ends).toEqual(error === undefined ? [chunks.length - 1] : []);
        expect(chunks.filter(({ type }) => type === 'metadata').length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 1000 },
    );
  });

  it('decodeChatCompletions emits the same text however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        expect(read(texts.map((content) => delta({ content }))).text).toBe(texts.join(''));
      }),
    );
  });
});
