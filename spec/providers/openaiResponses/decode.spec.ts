import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { read } from './reading.js';

type Event = JsonObject;
const created: Event = {
  type: 'response.created',
  response: { id: 'resp_1', model: 'gpt-5', status: 'in_progress', output: [] },
};
const added = (item: JsonObject, index = 0): Event => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});
const ended = (item: JsonObject, index = 0): Event => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});
const delta = (words: string, id = 'msg_1', rest: JsonObject = {}): Event => ({
  ...{ type: 'response.output_text.delta', item_id: id, output_index: 0, content_index: 0, delta: words },
  ...rest,
});
const textDone = (words: string, id = 'msg_1', index = 0): Event => ({
  ...{ type: 'response.output_text.done', item_id: id, output_index: 0, content_index: index, text: words },
});
const args = (piece: string, id = 'fc_1', index = 0): Event => ({
  ...{ type: 'response.function_call_arguments.delta', item_id: id, output_index: index, delta: piece },
});
const message = (words: string, id = 'msg_1', annotations: readonly JsonObject[] = []): JsonObject => ({
  ...{
    type: 'message',
    id,
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: words, annotations }],
  },
});
const call = (rest: JsonObject = {}): JsonObject => ({
  ...{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'add', arguments: '{"a":1}', status: 'completed' },
  ...rest,
});
const over = (output: readonly JsonObject[] = [], rest: JsonObject = {}): Event => ({
  type: 'response.completed',
  response: { id: 'resp_1', model: 'gpt-5', status: 'completed', output, ...rest },
});
const toolEvents = async (frames: readonly Event[]) =>
  (await read(frames)).chunks.flatMap((chunk) =>
    chunk.type === 'metadata' && chunk.metadata['openai-responses'] !== undefined
      ? [chunk.metadata['openai-responses']]
      : [],
  );

describe('openai-responses: text', () => {
  it('streams, and the snapshots that repeat it add nothing', async () => {
    const part = { type: 'output_text', text: 'Hello', annotations: [] };
    const partDone = { type: 'response.content_part.done', item_id: 'msg_1', output_index: 0, content_index: 0, part };
    const frames = [
      created,
      added(message('')),
      delta('Hel'),
      delta('lo'),
      textDone('Hello'),
      partDone,
      ended(message('Hello')),
    ];
    const { chunks, finish } = await read([...frames, over([message('Hello')])]);
    expect(chunks.slice(0, 3)).toEqual([
      { type: 'metadata', metadata: { responseId: 'resp_1', model: 'gpt-5' } },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ]);
    expect(chunks.slice(3).map(({ type }) => type)).toEqual(['providerData', 'finish']);
    expect(finish).toEqual({ type: 'finish', reason: 'stop', rawReason: 'completed' });
  });

  const whole: readonly (readonly [string, readonly Event[]])[] = [
    ['only in output_text.done', [textDone('Hello'), over()]],
    ['only in output_item.done', [ended(message('Hello')), over()]],
    ['only in the whole response', [over([message('Hello')])]],
    ['only in an item that was announced with it', [added(message('Hello')), over()]],
    ['half in deltas, half in a snapshot', [delta('Hel'), ended(message('Hello')), over()]],
    [
      'in deltas under an id, with a whole response under another',
      [delta('Hel'), delta('lo'), over([message('Hello', 'other')])],
    ],
    [
      'under ids that differ from event to event',
      [
        added(message('', 'a')),
        delta('Hel', 'b'),
        delta('lo', 'c'),
        ended(message('Hello', 'd')),
        over([message('Hello', 'e')]),
      ],
    ],
    [
      'without ids',
      [
        delta('Hel', ''),
        delta('lo', ''),
        ended({ ...message('Hello'), id: '' }),
        over([{ ...message('Hello'), id: null }]),
      ],
    ],
    [
      'with a content index in the deltas that the snapshot does not know',
      [delta('Hello', 'msg_1', { content_index: 3 }), textDone('Hello'), over([message('Hello')])],
    ],
    [
      'in a response that is one frame, not streamed',
      [{ object: 'response', status: 'completed', output: [message('Hello')] }],
    ],
    ['with a last event of another name', [delta('Hello'), { ...over([message('Hello')]), type: 'response.done' }]],
  ];
  it.each(whole)('comes out once when it is %s', async (_, frames) => {
    const { text, finish, error } = await read(frames);
    expect(error).toBeUndefined();
    expect(text).toBe('Hello');
    expect(finish?.reason).toBe('stop');
  });

  it('of several messages and contents comes out in order, whatever their indices', async () => {
    const two = [
      { type: 'output_text', text: 'a' },
      { type: 'output_text', text: 'b' },
    ];
    const frames = [
      delta('a', 'm1', { output_index: 0 }),
      delta('b', 'm1', { output_index: 7, content_index: 1 }),
      delta('c', 'm2'),
    ];
    const { text, message: made } = await read([
      ...frames,
      over([{ ...message('', 'm1'), content: two }, message('cd', 'm2')]),
    ]);
    expect(text).toBe('abcd');
    expect(made?.metadata).toMatchObject({
      'openai-responses': {
        output: [
          { id: 'm1', length: 2 },
          { id: 'm2', length: 2 },
        ],
      },
    });
  });

  it('of two messages that come in turns is not told apart afterwards', async () => {
    const { text, message: made } = await read([
      delta('a', 'm1'),
      delta('b', 'm2', { output_index: 1 }),
      delta('c', 'm1'),
      over(),
    ]);
    expect(text).toBe('abc');
    expect(made?.metadata).toEqual({ 'openai-responses': { responseId: 'resp_1' } });
  });

  it('that is a refusal is text, with contentFilter', async () => {
    const refusal = (step: string, field: string, words: string) => ({
      type: `response.refusal.${step}`,
      item_id: 'msg_1',
      content_index: 0,
      [field]: words,
    });
    const item = { ...message(''), content: [{ type: 'refusal', refusal: 'I will not.' }] };
    const {
      text,
      finish,
      message: made,
    } = await read([
      refusal('delta', 'delta', 'I will'),
      refusal('done', 'refusal', 'I will not.'),
      ended(item),
      over([item]),
    ]);
    expect(text).toBe('I will not.');
    expect(finish).toMatchObject({ reason: 'contentFilter', rawReason: 'completed' });
    expect(made?.metadata).toMatchObject({
      'openai-responses': { output: [{ id: 'msg_1', length: 11, refusal: true }] },
    });
  });
});

describe('openai-responses: thinking', () => {
  const summary = (words: string, index: number) => ({
    type: 'response.reasoning_summary_text.delta',
    item_id: 'rs_1',
    summary_index: index,
    delta: words,
  });
  const item = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [
      { type: 'summary_text', text: 'One. ' },
      { type: 'summary_text', text: 'Two.' },
    ],
    encrypted_content: 'secret',
  };

  it('comes from summaries, each once, and goes into what is given back', async () => {
    const { thinking, message: made } = await read([
      summary('One. ', 0),
      summary('Tw', 1),
      ended({ ...item, content: null, status: null }),
      delta('Hi'),
      over([item]),
    ]);
    expect(thinking).toBe('One. Two.');
    expect(made?.metadata).toEqual({
      'openai-responses': { responseId: 'resp_1', output: [item, { type: 'message', id: 'msg_1', length: 2 }] },
    });
  });

  it('comes from the reasoning itself where a server shows it', async () => {
    const raw = { type: 'response.reasoning_text.delta', item_id: 'rs_1', content_index: 0, delta: 'Hm' };
    const whole = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] };
    expect((await read([raw, ended(whole), over([whole])])).thinking).toBe('Hm.');
    expect((await read([over([whole])])).thinking).toBe('Hm.');
  });
});

describe('openai-responses: calls', () => {
  const sum = {
    type: 'toolCall',
    id: 'call_1',
    name: 'add',
    arguments: { a: 1 },
    providerData: { 'openai-responses': { id: 'fc_1' } },
  };
  const open = call({ arguments: '', status: 'in_progress' });
  const argsDone = {
    type: 'response.function_call_arguments.done',
    item_id: 'fc_1',
    output_index: 0,
    arguments: '{"a":1}',
  };

  const whole: readonly (readonly [string, readonly Event[]])[] = [
    ['streamed', [added(open), args('{"a'), args('":1}'), argsDone, ended(call()), over([call()])]],
    ['whole in function_call_arguments.done', [added(open), argsDone, over()]],
    ['whole in output_item.done', [ended(call()), over([call()])]],
    ['whole in the response', [over([call()])]],
    ['whole where it is announced', [added(call()), over()]],
    ['announced with a placeholder', [added(open), args('{}'), ended(call()), over([call()])]],
    [
      'under a whole response of other ids',
      [added(open), args('{"a":1}'), ended(call()), over([call({ id: 'other' })])],
    ],
    [
      'under a whole response of other ids and call ids',
      [ended(call()), over([call({ id: 'fc_z', call_id: 'call_z' })])],
    ],
    ['under a whole response of other call ids', [ended(call()), over([call({ call_id: 'call_z' })])]],
    [
      'under a done item of another call id',
      [added(open), args('{"a":1}'), ended(call({ call_id: 'call_z' })), over()],
    ],
    [
      'under another id and call id at the same index',
      [added(open), ended(call({ id: 'fc_z', call_id: 'call_z' })), over()],
    ],
    [
      'under new ids in every snapshot, spaced otherwise',
      [
        ...[added(open), args('{"a":1}'), ended(call({ id: 'fc_y', call_id: 'call_y' }))],
        over([call({ id: 'fc_z', call_id: 'call_z', arguments: '{"a": 1}' })]),
      ],
    ],
    [
      'announced, and only in a whole response of other ids',
      [added(open), over([call({ id: 'fc_z', call_id: 'call_z' })])],
    ],
    ['with arguments as an object', [ended(call({ arguments: { a: 1 } })), over()]],
  ];
  it.each(whole)('come out once and whole when they are %s', async (_, frames) => {
    const { calls, finish } = await read(frames);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ ...sum, providerData: expect.anything() as unknown });
    expect(finish?.reason).toBe('toolCalls');
  });

  it('are marked as whole where their item is done', async () => {
    const { chunks } = await read([added(open), args('{"a":1}'), ended(call())]);
    expect(chunks).toEqual([
      { type: 'toolCallFragment', index: 'fc_1', id: 'call_1', name: 'add' },
      { type: 'toolCallFragment', index: 'fc_1', arguments: '{"a":1}' },
      { type: 'toolCallFragment', index: 'fc_1', done: true, providerData: { 'openai-responses': { id: 'fc_1' } } },
    ]);
  });

  it('in parallel are told apart by the ids of their items, also under one output index', async () => {
    const second = { id: 'fc_2', call_id: 'call_2', name: 'sub' };
    const { calls, message: made } = await read([
      ...[added(open), added(call({ ...second, arguments: '' }), 0)],
      ...[args('{"a"', 'fc_1'), args('{"b"', 'fc_2'), args(':2}', 'fc_2', 5), args(':1}', 'fc_1', 5)],
      ...[ended(call()), ended(call({ ...second, arguments: '{"b":2}' })), over()],
    ]);
    expect(calls).toMatchObject([
      { id: 'call_1', name: 'add', arguments: { a: 1 } },
      { id: 'call_2', name: 'sub', arguments: { b: 2 } },
    ]);
    expect(made?.metadata).toMatchObject({ 'openai-responses': { output: [{ id: 'fc_1' }, { id: 'fc_2' }] } });
  });

  it('under one item id but with call ids of their own are two', async () => {
    const other = call({ call_id: 'call_2', arguments: '{"a":2}' });
    const { calls } = await read([ended(call()), ended(other), over([call(), other])]);
    expect(calls).toMatchObject([
      { id: 'call_1', arguments: { a: 1 } },
      { id: 'call_2', arguments: { a: 2 } },
    ]);
  });

  it('that are alike are two, also where every snapshot renames them', async () => {
    const named = (id: string, rest: JsonObject = {}) => call({ id: `fc_${id}`, call_id: `call_${id}`, ...rest });
    const { calls } = await read([
      ...[
        added(named('1', { arguments: '' }), 0),
        added(named('2', { arguments: '' }), 1),
        ended(named('x'), 0),
        ended(named('y'), 1),
      ],
      over([named('v'), named('w')]),
    ]);
    expect(calls).toMatchObject([
      { id: 'call_1', arguments: { a: 1 } },
      { id: 'call_2', arguments: { a: 1 } },
    ]);
  });

  it('with other arguments under another call id are another call, also at a used index or in the whole response', async () => {
    const other = call({ id: 'fc_2', call_id: 'call_2', arguments: '{"a":2}' });
    for (const frames of [
      [added(open), args('{"a":1}'), ended(other), ended(call()), over()],
      [ended(call()), over([other])],
      [ended(call()), over([call(), call({ id: 'fc_2', call_id: 'call_2' })])],
    ]) {
      expect((await read(frames)).calls.map(({ id }) => id).sort()).toEqual(['call_1', 'call_2']);
    }
  });

  it('in parallel whose deltas carry the call id for the id of the item, and no index, stay apart', async () => {
    const second = { id: 'fc_2', call_id: 'call_2', name: 'sub' };
    const piece = (words: string, id: string) => ({
      type: 'response.function_call_arguments.delta',
      item_id: id,
      delta: words,
    });
    const { calls } = await read([
      ...[added(open), added(call({ ...second, arguments: '' }), 1)],
      ...[piece('{"a"', 'call_1'), piece('{"b"', 'call_2'), piece(':1}', 'call_1'), piece(':2}', 'call_2')],
      over(),
    ]);
    expect(calls).toMatchObject([
      { id: 'call_1', arguments: { a: 1 } },
      { id: 'call_2', arguments: { b: 2 } },
    ]);
  });

  it('that were cut by the limit are not exposed', async () => {
    const incomplete = {
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] },
    };
    const { calls, finish } = await read([
      added(open),
      args('{"a'),
      ended(call({ arguments: '{"a', status: 'incomplete' })),
      incomplete,
    ]);
    expect(calls).toEqual([]);
    expect(finish).toMatchObject({ reason: 'length', rawReason: 'max_output_tokens' });
  });

  it('that only the whole response shows are exposed if it says that they are whole, or was not cut itself', async () => {
    const ending = (status: string, ofCall: string) => ({
      type: `response.${status}`,
      response: {
        status,
        incomplete_details: { reason: 'max_output_tokens' },
        output: [call({ arguments: '{"a":', status: ofCall })],
      },
    });
    expect((await read([added(open), args('{"a":'), ending('incomplete', 'in_progress')])).calls).toEqual([]);
    const both = [call({ id: 'fc_0', call_id: 'call_0' }), call({ arguments: '{"a":', status: 'in_progress' })];
    const cut = { ...ending('incomplete', ''), response: { ...ending('incomplete', '').response, output: both } };
    expect((await read([cut])).calls).toMatchObject([{ id: 'call_0' }]);
  });
});

describe('openai-responses: the end', () => {
  const incomplete = (reason: string | null) => ({
    type: 'response.incomplete',
    response: {
      status: 'incomplete',
      incomplete_details: reason === null ? null : { reason },
      output: [message('Half')],
    },
  });
  it.each([
    ['max_output_tokens', 'length', 'max_output_tokens'],
    ['max_tokens', 'length', 'max_tokens'],
    ['content_filter', 'contentFilter', 'content_filter'],
    ['something_new', 'other', 'something_new'],
    [null, 'other', 'incomplete'],
  ])('by %s is told', async (reason, expected, word) => {
    const { text, finish } = await read([delta('Ha'), incomplete(reason)]);
    expect(text).toBe('Half');
    expect(finish).toMatchObject({ reason: expected, rawReason: word });
  });

  it('is believed by the status of the response where the event says completed', async () => {
    const cut = over([], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect((await read([delta('Ha'), cut])).finish).toMatchObject({ reason: 'length' });
  });

  it('brings the usage, cached and reasoning tokens included in input and output', async () => {
    const usage = {
      ...{ input_tokens: 50, input_tokens_details: { cached_tokens: 20 }, output_tokens: 30 },
      ...{ output_tokens_details: { reasoning_tokens: 10 }, total_tokens: 80 },
    };
    expect((await read([over([], { usage })])).finish?.usage).toEqual({
      input: 50,
      output: 30,
      total: 80,
      cachedInput: 20,
      reasoning: 10,
    });
    expect((await read([over([], { usage: null })])).finish).not.toHaveProperty('usage');
    expect((await read([over([], { usage: { input_tokens: 0, output_tokens: 0 } })])).finish).not.toHaveProperty(
      'usage',
    );
  });

  it('without any word of it is an interruption after the text; [DONE] is a word', async () => {
    const cut = await read([created, delta('Half')]);
    expect(cut).toMatchObject({
      text: 'Half',
      finish: undefined,
      error: { code: 'stream_interrupted', retryable: true },
    });
    expect((await read([created, delta('All')], true)).finish).toEqual({ type: 'finish', reason: 'unspecified' });
  });
});

describe('openai-responses: failures', () => {
  const failed = (error: JsonObject | null) => ({
    type: 'response.failed',
    response: { id: 'resp_1', status: 'failed', error, output: [message('Half')] },
  });
  const failures: readonly (readonly [string, Event, string, boolean])[] = [
    ['response.failed', failed({ code: 'rate_limit_exceeded', message: 'Too fast' }), 'Too fast', true],
    ['response.failed of a server error', failed({ code: 'server_error', message: 'Oops' }), 'Oops', true],
    ['response.failed for good', failed({ code: 'invalid_prompt', message: 'No' }), 'No', false],
    ['response.failed without a reason', failed(null), 'failed, without a reason', false],
    [
      'a completed response that failed',
      over([message('Half')], { status: 'failed', error: { code: 'server_error', message: 'Oops' } }),
      'Oops',
      true,
    ],
    [
      'response.cancelled',
      { type: 'response.cancelled', response: { status: 'cancelled', output: [message('Half')] } },
      'was cancelled',
      false,
    ],
  ];
  it.each(failures)('%s is an error after all text', async (_, event, words, retryable) => {
    const { text, finish, error } = await read([created, delta('Ha'), event]);
    expect(text).toBe('Half');
    expect(finish).toBeUndefined();
    expect(error).toMatchObject({
      code: 'provider',
      provider: 'openai-responses',
      retryable,
      message: expect.stringContaining(words) as unknown,
    });
  });

  it.each([
    [{ type: 'error', code: 'server_error', message: 'The engine' }],
    [{ type: 'error', error: { type: 'server_error', code: null, message: 'The engine' } }],
    [{ error: { code: 'server_error', message: 'The engine' } }],
  ])('the error event %j is an error, before anything is emitted if it is the first', async (event) => {
    const { chunks, error } = await read([created, event]);
    expect(chunks).toEqual([]);
    expect(error).toMatchObject({
      code: 'provider',
      providerCode: 'server_error',
      retryable: true,
      message: expect.stringContaining('The engine') as unknown,
    });
  });
});

describe('openai-responses: sources and files', () => {
  const page = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 5 };
  const file = {
    type: 'container_file_citation',
    container_id: 'cntr_1',
    file_id: 'cfile_1',
    filename: 'plot.png',
    start_index: 0,
    end_index: 1,
  };
  const annotate = (annotation: JsonObject) => ({
    type: 'response.output_text.annotation.added',
    item_id: 'msg_1',
    annotation,
  });

  it('comes each once, whether it is cited again or repeated in snapshots', async () => {
    const whole = message('Hello', 'msg_1', [page, { ...page, start_index: 3 }, file]);
    const { chunks, text } = await read([delta('Hello'), annotate(page), annotate(page), ended(whole), over([whole])]);
    expect(chunks.filter(({ type }) => type === 'source')).toEqual([
      { type: 'source', source: { type: 'source', url: 'https://a.example', title: 'A' } },
      {
        type: 'source',
        source: {
          type: 'source',
          id: 'cfile_1',
          title: 'plot.png',
          providerData: { 'openai-responses': { container_id: 'cntr_1' } },
        },
      },
    ]);
    expect(text).toBe('Hello');
  });

  it('an image is a file, once; partial ones are progress', async () => {
    const partial = {
      type: 'response.image_generation_call.partial_image',
      item_id: 'ig_1',
      partial_image_index: 0,
      partial_image_b64: 'AA==',
    };
    const item = {
      type: 'image_generation_call',
      id: 'ig_1',
      status: 'completed',
      output_format: 'webp',
      revised_prompt: 'p',
      result: 'AQID',
    };
    const frames = [
      added({ type: item.type, id: 'ig_1', status: 'in_progress' }),
      partial,
      partial,
      ended(item),
      over([item]),
    ];
    const { chunks, message: made } = await read(frames);
    const image = {
      type: 'file',
      mediaType: 'image/webp',
      data: 'AQID',
      providerData: { 'openai-responses': { id: 'ig_1' } },
    };
    expect(chunks.filter(({ type }) => type === 'file')).toEqual([{ type: 'file', file: image }]);
    expect(made).toMatchObject({
      parts: [image],
      metadata: { 'openai-responses': { output: [{ id: 'ig_1', revised_prompt: 'p' }] } },
    });
    expect(JSON.stringify(made?.metadata)).not.toContain('AQID');
    expect(await toolEvents(frames)).toEqual([
      { type: 'image_generation_call', id: 'ig_1', status: 'in_progress' },
      { type: 'image_generation_call', id: 'ig_1', partial_image_index: 0, partial_image_b64: 'AA==' },
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', output_format: 'webp', revised_prompt: 'p' },
    ]);
  });

  it('the images of a code interpreter are files', async () => {
    const item = {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      code: 'plot()',
      container_id: 'c',
      outputs: [
        { type: 'logs', logs: '1' },
        { type: 'image', url: 'data:image/png;base64,AQID' },
      ],
    };
    const { chunks } = await read([ended(item), over([item])]);
    expect(chunks.filter(({ type }) => type === 'file')).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AQID' } },
    ]);
  });
});

describe('openai-responses: what the server runs itself', () => {
  const step = (of: string, name: string, id: string, rest: JsonObject = {}) => ({
    type: `response.${of}.${name}`,
    item_id: id,
    output_index: 0,
    ...rest,
  });

  it('is told as metadata, in order, each once, and is no call for the client', async () => {
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
      added({ type: 'web_search_call', id: 'ws_1', status: 'in_progress' }),
      ...['in_progress', 'searching', 'completed'].map((name) => step('web_search_call', name, 'ws_1')),
      ended(search),
      added({ type: 'code_interpreter_call', id: 'ci_1', status: 'in_progress' }),
      step('code_interpreter_call_code', 'delta', 'ci_1', { delta: 'x=' }),
      step('code_interpreter_call_code', 'delta', 'ci_1', { delta: '1' }),
      step('code_interpreter_call_code', 'done', 'ci_1', { code: 'x=1' }),
      step('code_interpreter_call', 'interpreting', 'ci_1'),
      step('code_interpreter_call', 'completed', 'ci_1'),
      ended(code),
      over([search, code]),
    ];
    expect(await toolEvents(frames)).toEqual([
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
    '%s is no call for the client',
    async (type) => {
      const item = { type, id: 'x_1', call_id: 'call_9', name: 'rm', arguments: '{}', input: 'x', status: 'completed' };
      const { calls, message: made } = await read([added(item), delta('Hi'), ended(item), over([item])]);
      expect(calls).toEqual([]);
      expect(made?.metadata).toMatchObject({ 'openai-responses': { output: [item, { type: 'message' }] } });
    },
  );

  it('is told to have ended, also by a server that never shows the item', async () => {
    expect(
      await toolEvents([
        step('mcp_call', 'in_progress', 'mcp_1'),
        step('mcp_call_arguments', 'delta', 'mcp_1', { delta: '{}' }),
        step('mcp_call', 'failed', 'mcp_1'),
        over(),
      ]),
    ).toEqual([
      { type: 'mcp_call', id: 'mcp_1', status: 'in_progress' },
      { type: 'mcp_call', id: 'mcp_1', delta: '{}' },
      { type: 'mcp_call', id: 'mcp_1', status: 'failed' },
    ]);
  });

  it('is kept in a message even if nothing else is said: an approval has to be answered', async () => {
    const request = { type: 'mcp_approval_request', id: 'mcpr_1', name: 'send', arguments: '{}', server_label: 's' };
    const { message: made, text } = await read([added(request), ended(request), over([request])]);
    expect(text).toBe('');
    expect(made?.metadata).toEqual({ 'openai-responses': { responseId: 'resp_1', output: [request] } });
  });
});
