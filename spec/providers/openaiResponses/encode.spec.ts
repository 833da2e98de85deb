import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { filePart, modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message, Part } from '../../../lib/core/message.js';
import type { Request } from '../../../lib/core/model.js';
import { encodeResponses } from '../../../lib/providers/openaiResponses/encode.js';
import { isReasoningModel } from '../../../lib/providers/openaiResponses/models.js';

const hello = userMessage('Hello');
const body = (request: Partial<Request>, model = 'gpt-4o', store?: boolean) =>
  encodeResponses(
    model,
    { messages: [hello], ...request },
    { store, reasoning: isReasoningModel(model), session: false },
  ).body;
const input = (messages: readonly Message[], store?: boolean) => body({ messages }, 'gpt-4o', store)['input'];
const said = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const answered = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const call = (id: string, own?: string): Part => ({
  type: 'toolCall',
  id,
  name: 'look',
  arguments: { at: 'sky' },
  ...(own === undefined ? {} : { providerData: { 'openai-responses': { id: own } } }),
});
const result = (id: string): Message => userMessage([{ type: 'toolResult', id, name: 'look', result: 'blue' }]);
const ofOurs = (parts: readonly Part[], output: readonly JsonObject[]): Message => ({
  ...modelMessage(parts),
  metadata: { 'openai-responses': { responseId: 'resp_1', output } },
});
const text = (words: string): Part => ({ type: 'text', text: words });
const reasoning = (id: string, secret?: string): JsonObject => ({
  type: 'reasoning',
  id,
  summary: [],
  ...(secret === undefined ? {} : { encrypted_content: secret }),
});

describe('openai-responses: the request', () => {
  it('leaves what is not asked for to the API', () => {
    expect(body({})).toEqual({ model: 'gpt-4o', input: [said('Hello')], stream: true });
  });

  it('has a field for each setting', () => {
    expect(body({ temperature: 0.5, topP: 0.9, maxOutputTokens: 100, stopSequences: [] }, 'gpt-4o', false)).toEqual({
      ...{
        model: 'gpt-4o',
        input: [said('Hello')],
        temperature: 0.5,
        top_p: 0.9,
        max_output_tokens: 100,
        store: false,
        stream: true,
      },
    });
  });

  it('sends the system prompt as instructions, not as an item', () => {
    expect(body({ messages: [systemMessage('Be brief.'), systemMessage('Be kind.'), hello] })).toMatchObject({
      instructions: 'Be brief.\n\nBe kind.',
      input: [said('Hello')],
    });
  });

  it('declares tools flat, strict where their schema is', () => {
    const strict = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    const loose = { type: 'object', properties: { a: { type: 'string' } } };
    const tools = [strict, loose].map((parameters, at) => ({ name: `t${at}`, description: 'd', parameters }));
    expect(body({ tools, toolChoice: { name: 't0' }, parallelToolCalls: false })).toMatchObject({
      tools: [
        { type: 'function', name: 't0', description: 'd', parameters: strict, strict: true },
        { type: 'function', name: 't1', description: 'd', parameters: loose, strict: false },
      ],
      tool_choice: { type: 'function', name: 't0' },
      parallel_tool_calls: false,
    });
    expect(body({ tools, toolChoice: 'required' })['tool_choice']).toBe('required');
    expect(body({ toolChoice: 'required', parallelToolCalls: true })).toEqual(body({}));
  });

  it('asks for an answer by a JSON schema in text.format', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    expect(body({ output: schema })['text']).toEqual({
      format: { type: 'json_schema', name: 'output', strict: true, schema },
    });
  });

  it('asks for a summary where thinking is wanted, and for encrypted reasoning only of models that reason', () => {
    expect(body({ thinking: true }, 'gpt-5')).toMatchObject({
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    });
    expect(body({ thinking: { effort: 'low' } }, 'gpt-5')['reasoning']).toEqual({ effort: 'low', summary: 'auto' });
    expect(body({ thinking: { effort: 'low', budget: 5 } }, 'gpt-5')['reasoning']).toEqual({
      effort: 'low',
      summary: 'auto',
    });
    expect(body({ thinking: false }, 'gpt-5.1')['reasoning']).toEqual({ effort: 'none' });
    expect(body({ thinking: true }, 'a-deployment')).toHaveProperty('include');
    expect(body({}, 'a-deployment')).not.toHaveProperty('include');
    expect(body({}, 'gpt-4o')).not.toHaveProperty('include');
  });

  it.each([
    ['o3', true],
    ['gpt-5-mini', true],
    ['gpt-5.2-pro', true],
    ['ft:o4-mini:us:x', true],
    ['openai/gpt-5', true],
    ['gpt-5-chat-latest', false],
    ['gpt-5.2-chat-latest', false],
    ['gpt-4.1', false],
    ['chatgpt-4o-latest', false],
    ['mine', undefined],
  ])('knows by the name whether %s reasons', (model, expected) => {
    expect(isReasoningModel(model)).toBe(expected);
  });

  it('passes images and files as bytes or by address', () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const parts = [
      text('See:'),
      filePart(bytes, 'image/png'),
      filePart(new URL('https://a.example/i.jpg'), 'image/jpeg'),
      filePart(bytes, 'application/pdf', 'a.pdf'),
      filePart(bytes, 'application/pdf'),
      filePart(new URL('https://a.example/a.pdf'), 'application/pdf', 'a.pdf'),
      filePart(new URL('data:text/csv;base64,AQID'), 'text/csv'),
    ];
    expect(input([userMessage(parts)])).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'See:' },
          { type: 'input_image', image_url: 'data:image/png;base64,AQID', detail: 'auto' },
          { type: 'input_image', image_url: 'https://a.example/i.jpg', detail: 'auto' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AQID' },
          { type: 'input_file', filename: 'file.pdf', file_data: 'data:application/pdf;base64,AQID' },
          { type: 'input_file', file_url: 'https://a.example/a.pdf' },
          { type: 'input_file', filename: 'file.csv', file_data: 'data:text/csv;base64,AQID' },
        ],
      },
    ]);
  });

  it('refuses sound, and says what to do', () => {
    expect(() => input([userMessage([filePart(new Uint8Array([1]), 'audio/wav')])])).toThrow(
      /does not accept audio\/wav.*Use openai\(\)/s,
    );
  });
});

describe('openai-responses: history of other providers', () => {
  it('goes text by text and call by call, in order, results before the words of the user', () => {
    const metadata = { anthropic: { thinking: 'x' }, 'openai-responses': 'nonsense' };
    const model: Message = {
      role: 'model',
      parts: [text('Let me '), text('look.'), call('a'), text('And'), call('b')],
      metadata,
    };
    const results = userMessage([
      { type: 'toolResult', id: 'a', name: 'look', result: { sky: 'blue' } },
      { type: 'toolResult', id: 'b', name: 'look', error: 'too dark' },
      text('Well?'),
    ]);
    const item = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{"at":"sky"}' });
    expect(input([hello, model, results])).toEqual([
      said('Hello'),
      answered('Let me look.'),
      item('a'),
      answered('And'),
      item('b'),
      { type: 'function_call_output', call_id: 'a', output: '{"sky":"blue"}' },
      { type: 'function_call_output', call_id: 'b', output: '{"error":"too dark"}' },
      said('Well?'),
    ]);
  });

  it('gets ids that the API takes, the same for call and result, and unlike any other', () => {
    const [long, other] = ['x'.repeat(65), 'y'.repeat(700)];
    const calls = modelMessage([call(long), call('call_1'), call(other)]);
    const sent = input([hello, calls, result(long), result('call_1'), result(other)]) as readonly JsonObject[];
    const ids = sent.slice(1).map(({ call_id: id }) => id as string);
    expect(ids.slice(0, 3)).toEqual(ids.slice(3));
    expect(new Set(ids).size).toBe(3);
    expect(ids[1]).toBe('call_1');
    expect(ids.every((id) => id.length <= 64)).toBe(true);
  });
});

describe('openai-responses: what it made itself', () => {
  const output: readonly JsonObject[] = [
    reasoning('rs_1', 'secret 1'),
    { type: 'message', id: 'msg_1', phase: 'commentary', length: 4 },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
    { type: 'image_generation_call', id: 'ig_1', status: 'completed' },
    reasoning('rs_2', 'secret 2'),
    { type: 'function_call', id: 'fc_1', call_id: 'a', namespace: 'n' },
    { type: 'message', id: 'msg_2', length: 6 },
  ];
  const parts: readonly Part[] = [
    text('Wa'),
    { type: 'source', url: 'https://a.example' },
    text('it'),
    { type: 'file', mediaType: 'image/png', data: 'AQID', providerData: { 'openai-responses': { id: 'ig_1' } } },
    call('a', 'fc_1'),
    text('There.'),
  ];

  it('goes back item by item, in its order, with ids', () => {
    expect(input([hello, ofOurs(parts, output), result('a')])).toEqual([
      said('Hello'),
      output[0],
      { ...answered('Wait'), id: 'msg_1', status: 'completed', phase: 'commentary' },
      output[2],
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AQID' },
      output[4],
      { type: 'function_call', id: 'fc_1', call_id: 'a', namespace: 'n', name: 'look', arguments: '{"at":"sky"}' },
      { ...answered('There.'), id: 'msg_2', status: 'completed' },
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
    ]);
  });

  it('goes without ids where its text was edited since, so that no id stands for something else', () => {
    const edited = parts.map((part) =>
      part.type === 'text' && part.text === 'There.' ? text('There, edited.') : part,
    );
    expect(input([hello, ofOurs(edited, output), result('a')])).toEqual([
      said('Hello'),
      answered('Wait'),
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":"sky"}' },
      answered('There, edited.'),
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
    ]);
  });

  it('keeps a call whose id was made distinct, and leaves out one that never became whole', () => {
    const items = [
      { type: 'function_call', id: 'fc_1', call_id: 'a' },
      { type: 'function_call', id: 'fc_2', call_id: 'cut' },
    ];
    expect(input([hello, ofOurs([call('distinct', 'fc_1')], items), result('distinct')])).toMatchObject([
      said('Hello'),
      { type: 'function_call', id: 'fc_1', call_id: 'distinct' },
      { type: 'function_call_output', call_id: 'distinct' },
    ]);
  });

  it('gives a refusal back as one', () => {
    const refused = ofOurs([text('No.')], [{ type: 'message', id: 'msg_1', length: 3, refusal: true }]);
    expect(input([hello, refused, hello])).toMatchObject([
      {},
      { id: 'msg_1', content: [{ type: 'refusal', refusal: 'No.' }] },
      {},
    ]);
  });

  it('goes back without reasoning that nothing follows, and without calls that the client has not answered', () => {
    const open = {
      type: 'local_shell_call',
      id: 'lsh_1',
      call_id: 'shell',
      action: { type: 'exec', command: ['ls'] },
      status: 'completed',
    };
    const cut = ofOurs(
      [text('Hm.')],
      [{ type: 'message', id: 'msg_1', length: 3 }, reasoning('rs_1'), open, reasoning('rs_2')],
    );
    expect(input([hello, cut, hello])).toEqual([
      said('Hello'),
      { ...answered('Hm.'), id: 'msg_1', status: 'completed' },
      said('Hello'),
    ]);
    const ran = { type: 'shell_call', id: 'sh_1', call_id: 's', action: {}, status: 'completed' };
    const shown = { type: 'shell_call_output', id: 'sho_1', call_id: 's', output: [] };
    expect(input([hello, ofOurs([text('Hm.')], [ran, shown, { type: 'message', id: 'm', length: 3 }])])).toMatchObject([
      {},
      ran,
      shown,
      {},
    ]);
  });

  it('goes back without reasoning that is not encrypted where nothing is stored, and what followed it without its id', () => {
    const items = [
      reasoning('rs_1'),
      { type: 'message', id: 'msg_1', length: 3 },
      reasoning('rs_2', 'secret'),
      { type: 'function_call', id: 'fc_1', call_id: 'a' },
    ];
    const sent = [hello, ofOurs([text('Hm.'), call('a', 'fc_1')], items), result('a')];
    expect(input(sent, false)).toEqual([
      said('Hello'),
      answered('Hm.'),
      items[2],
      { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'look', arguments: '{"at":"sky"}' },
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
    ]);
    expect(body({ messages: sent, providerOptions: { 'openai-responses': { store: false } } })['input']).toEqual(
      input(sent, false),
    );
    expect(input(sent)).toHaveLength(6);
    const metadata = { 'openai-responses': { responseId: 'resp_1', stored: false, output: items } };
    const unstored = { ...modelMessage([text('Hm.'), call('a', 'fc_1')]), metadata };
    expect(input([hello, unstored, result('a')])).toEqual(input(sent, false));
  });
});
