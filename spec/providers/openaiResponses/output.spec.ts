import { describe, expect, it } from '@jest/globals';
import {
  argumentsDelta,
  call,
  completed,
  created,
  itemAdded,
  itemDone,
  message,
  read,
  textDelta,
  textDone,
} from './frames.js';
import type { Event } from './frames.js';

describe('createOutputDecoder: text', () => {
  it('createOutputDecoder streams text, and snapshots that repeat it add nothing', async () => {
    const part = { type: 'output_text', text: 'Hello', annotations: [] };
    const partDone = { type: 'response.content_part.done', item_id: 'msg_1', output_index: 0, content_index: 0, part };
    const frames = [
      created,
      itemAdded(message('')),
      textDelta('Hel'),
      textDelta('lo'),
      textDone('Hello'),
      partDone,
      itemDone(message('Hello')),
    ];
    const { chunks, finish } = await read([...frames, completed([message('Hello')])]);
    expect(chunks.slice(0, 3)).toEqual([
      { type: 'metadata', metadata: { responseId: 'resp_1', model: 'gpt-5' } },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ]);
    expect(chunks.slice(3).map(({ type }) => type)).toEqual(['providerData', 'finish']);
    expect(finish).toEqual({ type: 'finish', reason: 'stop', rawReason: 'completed' });
  });

  const whole: readonly (readonly [string, readonly Event[]])[] = [
    ['only in output_text.done', [textDone('Hello'), completed()]],
    ['only in output_item.done', [itemDone(message('Hello')), completed()]],
    ['only in the final response', [completed([message('Hello')])]],
    ['only in an item that was announced with it', [itemAdded(message('Hello')), completed()]],
    ['half in deltas, half in a snapshot', [textDelta('Hel'), itemDone(message('Hello')), completed()]],
    [
      'in deltas under an id, with a final response under another',
      [textDelta('Hel'), textDelta('lo'), completed([message('Hello', 'other')])],
    ],
    [
      'under ids that differ from event to event',
      [
        itemAdded(message('', 'a')),
        textDelta('Hel', 'b'),
        textDelta('lo', 'c'),
        itemDone(message('Hello', 'd')),
        completed([message('Hello', 'e')]),
      ],
    ],
    [
      'without ids',
      [
        textDelta('Hel', ''),
        textDelta('lo', ''),
        itemDone({ ...message('Hello'), id: '' }),
        completed([{ ...message('Hello'), id: null }]),
      ],
    ],
    [
      'with a content index in the deltas that the snapshot does not know',
      [textDelta('Hello', 'msg_1', { content_index: 3 }), textDone('Hello'), completed([message('Hello')])],
    ],
    [
      'in a response that is one frame, not streamed',
      [{ object: 'response', status: 'completed', output: [message('Hello')] }],
    ],
    [
      'with a last event of another name',
      [textDelta('Hello'), { ...completed([message('Hello')]), type: 'response.done' }],
    ],
  ];
  it.each(whole)('createOutputDecoder emits a text once that is sent %s', async (_, frames) => {
    const { text, finish, error } = await read(frames);
    expect(error).toBeUndefined();
    expect(text).toBe('Hello');
    expect(finish?.reason).toBe('stop');
  });

  it('createOutputDecoder keeps the order of several messages and contents, whatever their indices', async () => {
    const two = [
      { type: 'output_text', text: 'a' },
      { type: 'output_text', text: 'b' },
    ];
    const frames = [
      textDelta('a', 'm1', { output_index: 0 }),
      textDelta('b', 'm1', { output_index: 7, content_index: 1 }),
      textDelta('c', 'm2'),
    ];
    const { text, message: made } = await read([
      ...frames,
      completed([{ ...message('', 'm1'), content: two }, message('cd', 'm2')]),
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

  it('createOutputDecoder stores no items if the texts of two messages are interleaved', async () => {
    const { text, message: made } = await read([
      textDelta('a', 'm1'),
      textDelta('b', 'm2', { output_index: 1 }),
      textDelta('c', 'm1'),
      completed(),
    ]);
    expect(text).toBe('abc');
    expect(made?.metadata).toEqual({ 'openai-responses': { responseId: 'resp_1' } });
  });

  it('createOutputDecoder emits a refusal as text, and the finish reason is contentFilter', async () => {
    const refusal = (step: string, field: string, text: string) => ({
      type: `response.refusal.${step}`,
      item_id: 'msg_1',
      content_index: 0,
      [field]: text,
    });
    const item = { ...message(''), content: [{ type: 'refusal', refusal: 'I will not.' }] };
    const {
      text,
      finish,
      message: made,
    } = await read([
      refusal('delta', 'delta', 'I will'),
      refusal('done', 'refusal', 'I will not.'),
      itemDone(item),
      completed([item]),
    ]);
    expect(text).toBe('I will not.');
    expect(finish).toMatchObject({ reason: 'contentFilter', rawReason: 'completed' });
    expect(made?.metadata).toMatchObject({
      'openai-responses': { output: [{ id: 'msg_1', length: 11, refusal: true }] },
    });
  });
});

describe('createOutputDecoder: thinking', () => {
  const summary = (text: string, index: number) => ({
    type: 'response.reasoning_summary_text.delta',
    item_id: 'rs_1',
    summary_index: index,
    delta: text,
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

  it('createOutputDecoder emits summaries of reasoning once, and stores the item to be sent back', async () => {
    const { thinking, message: made } = await read([
      summary('One. ', 0),
      summary('Tw', 1),
      itemDone({ ...item, content: null, status: null }),
      textDelta('Hi'),
      completed([item]),
    ]);
    expect(thinking).toBe('One. Two.');
    expect(made?.metadata).toEqual({
      'openai-responses': { responseId: 'resp_1', output: [item, { type: 'message', id: 'msg_1', length: 2 }] },
    });
  });

  it('createOutputDecoder emits the reasoning itself if a server sends it', async () => {
    const raw = { type: 'response.reasoning_text.delta', item_id: 'rs_1', content_index: 0, delta: 'Hm' };
    const whole = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] };
    expect((await read([raw, itemDone(whole), completed([whole])])).thinking).toBe('Hm.');
    expect((await read([completed([whole])])).thinking).toBe('Hm.');
  });
});
describe('createOutputDecoder: calls', () => {
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
    [
      'streamed',
      [itemAdded(open), argumentsDelta('{"a'), argumentsDelta('":1}'), argsDone, itemDone(call()), completed([call()])],
    ],
    ['complete in function_call_arguments.done', [itemAdded(open), argsDone, completed()]],
    ['complete in output_item.done', [itemDone(call()), completed([call()])]],
    ['complete in the response', [completed([call()])]],
    ['complete where it is announced', [itemAdded(call()), completed()]],
    ['announced with a placeholder', [itemAdded(open), argumentsDelta('{}'), itemDone(call()), completed([call()])]],
    [
      'under a final response of other ids',
      [itemAdded(open), argumentsDelta('{"a":1}'), itemDone(call()), completed([call({ id: 'other' })])],
    ],
    [
      'under a final response of other ids and call ids',
      [itemDone(call()), completed([call({ id: 'fc_z', call_id: 'call_z' })])],
    ],
    ['under a final response of other call ids', [itemDone(call()), completed([call({ call_id: 'call_z' })])]],
    [
      'under a done item of another call id',
      [itemAdded(open), argumentsDelta('{"a":1}'), itemDone(call({ call_id: 'call_z' })), completed()],
    ],
    [
      'under another id and call id at the same index',
      [itemAdded(open), itemDone(call({ id: 'fc_z', call_id: 'call_z' })), completed()],
    ],
    [
      'under new ids in every snapshot, spaced otherwise',
      [
        ...[itemAdded(open), argumentsDelta('{"a":1}'), itemDone(call({ id: 'fc_y', call_id: 'call_y' }))],
        completed([call({ id: 'fc_z', call_id: 'call_z', arguments: '{"a": 1}' })]),
      ],
    ],
    [
      'announced, and only in a final response of other ids',
      [itemAdded(open), completed([call({ id: 'fc_z', call_id: 'call_z' })])],
    ],
    ['with arguments as an object', [itemDone(call({ arguments: { a: 1 } })), completed()]],
  ];
  it.each(whole)('createOutputDecoder emits a call once and completely that is sent %s', async (_, frames) => {
    const { calls, finish } = await read(frames);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ ...sum, providerData: expect.anything() as unknown });
    expect(finish?.reason).toBe('toolCalls');
  });

  it('createOutputDecoder marks a call as complete when its item is done', async () => {
    const { chunks } = await read([itemAdded(open), argumentsDelta('{"a":1}'), itemDone(call())]);
    expect(chunks).toEqual([
      { type: 'toolCallFragment', index: 'fc_1', id: 'call_1', name: 'add' },
      { type: 'toolCallFragment', index: 'fc_1', arguments: '{"a":1}' },
      { type: 'toolCallFragment', index: 'fc_1', done: true, providerData: { 'openai-responses': { id: 'fc_1' } } },
    ]);
  });

  it('createOutputDecoder exposes no call that the token limit truncated', async () => {
    const incomplete = {
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] },
    };
    const { calls, finish } = await read([
      itemAdded(open),
      argumentsDelta('{"a'),
      itemDone(call({ arguments: '{"a', status: 'incomplete' })),
      incomplete,
    ]);
    expect(calls).toEqual([]);
    expect(finish).toMatchObject({ reason: 'length', rawReason: 'max_output_tokens' });
  });

  it('createOutputDecoder exposes a call of a truncated response only if its status is completed', async () => {
    const response = (status: string, callStatus: string) => ({
      type: `response.${status}`,
      response: {
        status,
        incomplete_details: { reason: 'max_output_tokens' },
        output: [call({ arguments: '{"a":', status: callStatus })],
      },
    });
    expect(
      (await read([itemAdded(open), argumentsDelta('{"a":'), response('incomplete', 'in_progress')])).calls,
    ).toEqual([]);
    const both = [call({ id: 'fc_0', call_id: 'call_0' }), call({ arguments: '{"a":', status: 'in_progress' })];
    const cut = { ...response('incomplete', ''), response: { ...response('incomplete', '').response, output: both } };
    expect((await read([cut])).calls).toMatchObject([{ id: 'call_0' }]);
  });
});
