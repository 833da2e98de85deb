import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { FilePart, Message } from '../../../lib/core/message.js';
import type { Request } from '../../../lib/core/model.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { encodeAnthropic } from '../../../lib/providers/anthropic/encode.js';
import { outputSchema } from '../../../lib/providers/anthropic/schema.js';

const messages = [userMessage('Name a river.')];
const body = (request: Partial<Request> = {}, model = 'claude-sonnet-4-5') =>
  encodeAnthropic(model, { messages, ...request }).body;
const sent = (...history: readonly Message[]) => body({ messages: history })['messages'];
const add = {
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' } } },
};

describe('anthropic: a request', () => {
  it('has what the API demands, and nothing that was not asked for', () => {
    expect(encodeAnthropic('claude-sonnet-4-5', { messages })).toEqual({
      path: '/messages',
      headers: { 'anthropic-version': '2023-06-01' },
      body: {
        model: 'claude-sonnet-4-5',
        max_tokens: 64_000,
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Name a river.' }] }],
        stream: true,
      },
    });
  });

  it('has a field for each setting', () => {
    expect(body({ temperature: 0.5, topP: 0.9, maxOutputTokens: 100, stopSequences: ['END'] })).toMatchObject({
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 100,
      stop_sequences: ['END'],
    });
    expect(() => body({ seed: 1 })).toThrow(/does not support seed/);
  });

  it.each([
    ['claude-3-haiku-20240307', 4096],
    ['claude-3-5-sonnet-20241022', 8192],
    ['claude-3-7-sonnet-20250219', 64_000],
    ['claude-opus-4-20250514', 32_000],
    ['claude-opus-4-1-20250805', 32_000],
    ['anthropic/claude-sonnet-4.5', 64_000],
    ['claude-opus-4-6', 128_000],
    ['claude-opus-5', 128_000],
    ['kimi-k2', 4096],
  ])('to %s is limited to %d tokens by default', (model, limit) => {
    expect(body({}, model)['max_tokens']).toBe(limit);
  });

  it('offers tools and says which to call', () => {
    const tools = [add];
    expect(body({ tools })).toMatchObject({
      tools: [{ name: 'add', description: 'Adds.', input_schema: add.parameters }],
    });
    expect(body({ tools })).not.toHaveProperty('tool_choice');
    const choice = (request: Partial<Request>) => body({ tools, ...request })['tool_choice'];
    expect(choice({ toolChoice: 'auto' })).toEqual({ type: 'auto' });
    expect(choice({ toolChoice: 'none', parallelToolCalls: false })).toEqual({ type: 'none' });
    expect(choice({ toolChoice: 'required' })).toEqual({ type: 'any' });
    expect(choice({ toolChoice: { name: 'add' }, parallelToolCalls: false })).toEqual({
      type: 'tool',
      name: 'add',
      disable_parallel_tool_use: true,
    });
    expect(choice({ parallelToolCalls: false })).toEqual({ type: 'auto', disable_parallel_tool_use: true });
    expect(body({ toolChoice: 'required' })).not.toHaveProperty('tool_choice'); // without tools it is refused
    expect(body({ tools: [{ ...add, parameters: {} }] })).toMatchObject({
      tools: [{ input_schema: { type: 'object' } }],
    });
  });
});

describe('anthropic: thinking behind calls', () => {
  const call: Message = { role: 'model', parts: [{ type: 'toolCall', id: 'a', name: 'x', arguments: {} }] };
  const block = { type: 'thinking', thinking: 'Hm', signature: 's' };
  const thought: Message = {
    role: 'model',
    parts: [{ type: 'text', text: '', providerData: { anthropic: { after: [block] } } }, ...call.parts],
  };
  const result = userMessage([{ type: 'toolResult', id: 'a', name: 'x', result: 1 }]);
  const asked = (history: readonly Message[], model?: string) =>
    body({ thinking: true, messages: [...messages, ...history] }, model)['thinking'];

  it('is left out where the answered calls were made without any, by another provider: the API refuses it there', () => {
    expect(asked([call, result])).toBeUndefined();
    expect(asked([call, result, call, result])).toBeUndefined();
  });

  it('stays where the turn began with signed thinking, and from the next question on', () => {
    const enabled = { type: 'enabled', budget_tokens: 10_000 };
    expect(asked([thought, result])).toEqual(enabled);
    expect(asked([thought, result, call, result])).toEqual(enabled);
    expect(asked([call, result, modelMessage('Loire'), userMessage('And?')])).toEqual(enabled);
  });

  it('stays with models that think as they see fit, which take any history', () => {
    expect(asked([call, result], 'claude-opus-4-7')).toMatchObject({ type: 'adaptive' });
  });
});

describe('anthropic: thinking', () => {
  const thinking = (wish: NonNullable<Request['thinking']>, model?: string, more: Partial<Request> = {}) =>
    body({ thinking: wish, ...more }, model);

  it('is a budget for models that take one, between 1024 and the limit', () => {
    expect(thinking(true)['thinking']).toEqual({ type: 'enabled', budget_tokens: 10_000 });
    expect(thinking({ effort: 'low' })['thinking']).toEqual({ type: 'enabled', budget_tokens: 4096 });
    expect(thinking({ budget: 2000 })['thinking']).toEqual({ type: 'enabled', budget_tokens: 2000 });
    expect(thinking(false)['thinking']).toEqual({ type: 'disabled' });
    expect(thinking({ budget: 70_000 })).toMatchObject({ max_tokens: 71_024, thinking: { budget_tokens: 70_000 } });
    expect(thinking(true, undefined, { maxOutputTokens: 4000 })).toMatchObject({
      max_tokens: 4000,
      thinking: { budget_tokens: 2000 },
    });
    expect(() => thinking({ budget: 500 })).toThrow(/at least 1024/);
    expect(() => thinking({ budget: 2000 }, undefined, { maxOutputTokens: 2000 })).toThrow(
      /less than the answer's limit/,
    );
    expect(() => thinking(true, undefined, { maxOutputTokens: 1000 })).toThrow(/maxOutputTokens/);
  });

  it('is adaptive, by an effort, for newer ones', () => {
    expect(thinking(true, 'claude-opus-4-7')['thinking']).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(thinking({ effort: 'minimal' }, 'claude-opus-5')).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
    });
    expect(thinking({ budget: 2000 }, 'claude-opus-4-6')['thinking']).toEqual({ type: 'enabled', budget_tokens: 2000 });
    expect(() => thinking({ budget: 2000 }, 'claude-opus-4-7')).toThrow(/does not support a budget.*effort/);
    expect(() => thinking(false, 'claude-mythos-5')).toThrow(/always thinks/);
  });

  it('is not to be had from old ones, which are not told to leave it', () => {
    expect(() => thinking(true, 'claude-3-5-haiku-20241022')).toThrow(/does not think/);
    expect(thinking(false, 'claude-3-5-haiku-20241022')).not.toHaveProperty('thinking');
    expect(anthropic('claude-3-5-haiku-20241022').capabilities).toMatchObject({
      thinking: false,
      typedOutput: false,
      vision: true,
    });
    expect(anthropic('claude-opus-5').capabilities).toMatchObject({ thinking: true, typedOutputWithTools: true });
  });
});

describe('anthropic: a conversation', () => {
  it('has the system prompt apart, and no blank text', () => {
    const request = body({
      messages: [
        systemMessage('Be brief.'),
        systemMessage('Be kind.'),
        userMessage([
          { type: 'text', text: ' ' },
          { type: 'text', text: 'Hi' },
        ]),
        modelMessage(''),
      ],
    });
    expect(request['system']).toBe('Be brief.\n\nBe kind.');
    expect(request['messages']).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }]);
  });

  it('puts results first, with errors marked, and texts as they are', () => {
    const history: Message[] = [
      modelMessage([
        { type: 'toolCall', id: 'a', name: 'x', arguments: {} },
        { type: 'toolCall', id: 'b', name: 'y', arguments: {} },
      ]),
      userMessage([
        { type: 'text', text: 'And?' },
        { type: 'toolResult', id: 'a', name: 'x', result: 'plain' },
        { type: 'toolResult', id: 'b', name: 'y', error: 'broken' },
      ]),
    ];
    expect(sent(...history)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'x', input: {} },
          { type: 'tool_use', id: 'b', name: 'y', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'plain' },
          { type: 'tool_result', tool_use_id: 'b', content: 'broken', is_error: true },
          { type: 'text', text: 'And?' },
        ],
      },
    ]);
  });

  it('says of a tool that failed without a word that it failed, which the API demands', () => {
    const results = ['', '  '].map((error, at) => ({ type: 'toolResult' as const, id: `c${at}`, name: 'x', error }));
    const blank = { type: 'tool_result', content: 'The tool failed.', is_error: true };
    expect(sent(userMessage(results))).toEqual([
      {
        role: 'user',
        content: [
          { ...blank, tool_use_id: 'c0' },
          { ...blank, tool_use_id: 'c1' },
        ],
      },
    ]);
  });

  it('made with another provider gets valid ids, the same for call and result, and nothing of that provider', () => {
    const foreign = { openai: { reasoning_content: 'x' }, google: { thoughtSignature: 's' } };
    const ids = ['call.1', 'call_1', 'call 1', ''];
    const history: Message[] = [
      {
        role: 'model',
        parts: [
          { type: 'text', text: 'Look.', providerData: foreign },
          ...ids.map((id) => ({ type: 'toolCall', id, name: 'x', arguments: {}, providerData: foreign }) as const),
        ],
        metadata: foreign,
      },
      userMessage(ids.map((id) => ({ type: 'toolResult', id, name: 'x', result: 1 }))),
    ];
    const [model, user] = sent(...history) as readonly { readonly content: readonly JsonObject[] }[];
    const valid = ['call_1_2', 'call_1', 'call_1_3', 'call'];
    expect(model?.content).toEqual([
      { type: 'text', text: 'Look.' },
      ...valid.map((id) => ({ type: 'tool_use', id, name: 'x', input: {} })),
    ]);
    expect(user?.content).toEqual(valid.map((id) => ({ type: 'tool_result', tool_use_id: id, content: '1' })));
  });

  it('that ends with the model ends without white space', () => {
    expect(sent(userMessage('Hi'), modelMessage('The answer is \n'))).toMatchObject([
      {},
      { content: [{ text: 'The answer is' }] },
    ]);
  });

  it('takes images and documents, as bytes and by address', () => {
    const file = (part: Omit<FilePart, 'type'>): FilePart => ({ type: 'file', ...part }) as FilePart;
    const content = (part: Omit<FilePart, 'type'>) =>
      (sent(userMessage([file(part)])) as readonly JsonObject[])[0]?.['content'];
    expect(content({ mediaType: 'image/png', data: 'AAAA' })).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ]);
    expect(content({ mediaType: 'image/*', url: 'https://x.example/a.png' })).toEqual([
      { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
    ]);
    expect(content({ mediaType: 'image/png', url: 'data:image/png;base64,AAAA' })).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ]);
    const cite = { anthropic: { citations: { enabled: true } } };
    expect(content({ mediaType: 'application/pdf', data: 'AAAA', name: 'a.pdf', providerData: cite })).toEqual([
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
        title: 'a.pdf',
        citations: { enabled: true },
      },
    ]);
    expect(content({ mediaType: 'application/pdf', url: 'https://x.example/a.pdf' })).toEqual([
      { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } },
    ]);
    expect(content({ mediaType: 'text/csv', data: btoa('a,b') })).toEqual([
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' } },
    ]);
    expect(() => content({ mediaType: 'audio/wav', data: 'AAAA' })).toThrow(/does not accept files of type audio\/wav/);
    expect(() => content({ mediaType: 'image/tiff', data: 'AAAA' })).toThrow(/image\/tiff/);
    expect(() => content({ mediaType: 'text/csv', url: 'https://x.example/a.csv' })).toThrow(/Fetch it/);
  });
});

describe('anthropic: an output schema', () => {
  it('that the API takes goes as it is, beside the effort', () => {
    const schema = {
      type: 'object',
      properties: {
        mail: { type: 'string', format: 'email', description: 'Where.' },
        n: { type: ['integer', 'null'] },
      },
      required: ['mail'],
      additionalProperties: false,
    };
    expect(outputSchema(schema)).toEqual(schema);
    expect(body({ output: schema, thinking: { effort: 'high' } }, 'claude-opus-5')['output_config']).toEqual({
      format: { type: 'json_schema', schema },
      effort: 'high',
    });
  });

  it('is closed at every object, and says in words what the API refuses', () => {
    const inner = { type: 'object', properties: { n: { type: 'number', minimum: 1, description: 'A number.' } } };
    expect(
      outputSchema({
        type: 'object',
        properties: {
          minimum: { type: 'string', format: 'phone' },
          list: { type: 'array', items: inner, minItems: 2 },
        },
        $defs: { inner },
        anyOf: [inner],
      }),
    ).toEqual({
      type: 'object',
      properties: {
        minimum: { type: 'string', description: '{format: "phone"}' },
        list: { type: 'array', items: closed(), description: '{minItems: 2}' },
      },
      $defs: { inner: closed() },
      anyOf: [closed()],
      additionalProperties: false,
    });
    function closed() {
      return {
        type: 'object',
        properties: { n: { type: 'number', description: 'A number.\n\n{minimum: 1}' } },
        additionalProperties: false,
      };
    }
  });
});
