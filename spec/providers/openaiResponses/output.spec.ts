import { describe, expect, it } from '@jest/globals';
import {
  argumentsDelta,
  callItem,
  completed,
  created,
  itemAdded,
  itemDone,
  messageItem,
  read,
  textDelta,
  textDone,
} from './frames.js';
import type { Event } from './frames.js';
import { itemsOf, own, response, written } from './conversation.js';

describe('OutputDecoder: text', () => {
  it('OutputDecoder streams text, and snapshots that repeat it add nothing', async () => {
    const part = { type: 'output_text', text: 'Hello', annotations: [] };
    const partDone = { type: 'response.content_part.done', item_id: 'msg_1', output_index: 0, content_index: 0, part };
    const frames = [
      created,
      itemAdded(messageItem('')),
      textDelta('Hel'),
      textDelta('lo'),
      textDone('Hello'),
      partDone,
      itemDone(messageItem('Hello')),
    ];
    const { chunks, finish } = await read([...frames, completed([messageItem('Hello')])]);
    expect(chunks.slice(0, 4)).toEqual([
      { type: 'metadata', metadata: { responseId: 'resp_1', model: 'gpt-5' } },
      own({ type: 'message', id: 'msg_1' }),
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ]);
    expect(chunks.slice(4).map(({ type }) => type)).toEqual(['provider', 'finish']);
    expect(finish).toEqual({ type: 'finish', reason: 'stop', rawReason: 'completed' });
  });

  const textVariants: readonly (readonly [string, readonly Event[]])[] = [
    ['only in output_text.done', [textDone('Hello'), completed()]],
    ['only in output_item.done', [itemDone(messageItem('Hello')), completed()]],
    ['only in the final response', [completed([messageItem('Hello')])]],
    ['only in an item that was announced with it', [itemAdded(messageItem('Hello')), completed()]],
    ['half in deltas, half in a snapshot', [textDelta('Hel'), itemDone(messageItem('Hello')), completed()]],
    [
      'in deltas under an id, with a final response under another',
      [textDelta('Hel'), textDelta('lo'), completed([messageItem('Hello', 'other')])],
    ],
    [
      'under ids that differ from event to event',
      [
        itemAdded(messageItem('', 'a')),
        textDelta('Hel', 'b'),
        textDelta('lo', 'c'),
        itemDone(messageItem('Hello', 'd')),
        completed([messageItem('Hello', 'e')]),
      ],
    ],
    [
      'without ids',
      [
        textDelta('Hel', ''),
        textDelta('lo', ''),
        itemDone({ ...messageItem('Hello'), id: '' }),
        completed([{ ...messageItem('Hello'), id: null }]),
      ],
    ],
    [
      'with a content index in the deltas that the snapshot does not know',
      [textDelta('Hello', 'msg_1', { content_index: 3 }), textDone('Hello'), completed([messageItem('Hello')])],
    ],
    [
      'in a response that is one frame, not streamed',
      [{ object: 'response', status: 'completed', output: [messageItem('Hello')] }],
    ],
    [
      'with a last event of another name',
      [textDelta('Hello'), { ...completed([messageItem('Hello')]), type: 'response.done' }],
    ],
  ];
  it.each(textVariants)('OutputDecoder emits a text once that is sent %s', async (_, frames) => {
    const { text, finish, error } = await read(frames);
    expect(error).toBeUndefined();
    expect(text).toBe('Hello');
    expect(finish?.reason).toBe('stop');
  });

  it('OutputDecoder keeps the order of several messages and contents, whatever their indices', async () => {
    const two = [
      { type: 'output_text', text: 'a' },
      { type: 'output_text', text: 'b' },
    ];
    const frames = [
      textDelta('a', 'm1', { output_index: 0 }),
      textDelta('b', 'm1', { output_index: 7, content_index: 1 }),
      textDelta('c', 'm2'),
    ];
    const { text, message } = await read([
      ...frames,
      completed([{ ...messageItem('', 'm1'), content: two }, messageItem('cd', 'm2')]),
    ]);
    expect(text).toBe('abcd');
    expect(message?.parts.slice(0, -1)).toEqual([...written('m1', 'ab'), ...written('m2', 'cd')]);
  });

  it('OutputDecoder keeps the places of the texts of two messages that are interleaved, and each id once', async () => {
    const { text, message } = await read([
      textDelta('a', 'm1'),
      textDelta('b', 'm2', { output_index: 1 }),
      textDelta('c', 'm1'),
      completed(),
    ]);
    expect(text).toBe('abc');
    expect(message?.parts.slice(0, -1)).toEqual([
      ...written('m1', 'a'),
      ...written('m2', 'b'),
      own({ type: 'message' }),
      { type: 'text', text: 'c' },
    ]);
  });

  it('OutputDecoder emits a refusal as text, and the finish reason is contentFilter', async () => {
    const refusal = (step: string, field: string, text: string) => ({
      type: `response.refusal.${step}`,
      item_id: 'msg_1',
      content_index: 0,
      [field]: text,
    });
    const item = { ...messageItem(''), content: [{ type: 'refusal', refusal: 'I will not.' }] };
    const { text, finish, message } = await read([
      refusal('delta', 'delta', 'I will'),
      refusal('done', 'refusal', 'I will not.'),
      itemDone(item),
      completed([item]),
    ]);
    expect(text).toBe('I will not.');
    expect(finish).toMatchObject({ reason: 'contentFilter', rawReason: 'completed' });
    expect(itemsOf(message)).toEqual([{ type: 'message', id: 'msg_1', refusal: true }]);
  });
});

describe('OutputDecoder: thinking', () => {
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

  it('OutputDecoder emits summaries of reasoning once, and stores the item to be sent back', async () => {
    const { thinking, message } = await read([
      summary('One. ', 0),
      summary('Tw', 1),
      itemDone({ ...item, content: null, status: null }),
      textDelta('Hi'),
      completed([item]),
    ]);
    expect(thinking).toBe('One. Two.');
    expect(message?.parts).toEqual(response([own(item), ...written('msg_1', 'Hi')]).parts);
  });

  it('OutputDecoder emits the reasoning itself if a server sends it', async () => {
    const raw = { type: 'response.reasoning_text.delta', item_id: 'rs_1', content_index: 0, delta: 'Hm' };
    const visible = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] };
    expect((await read([raw, itemDone(visible), completed([visible])])).thinking).toBe('Hm.');
    expect((await read([completed([visible])])).thinking).toBe('Hm.');
  });
});
describe('OutputDecoder: calls', () => {
  const sum = {
    type: 'toolCall',
    id: 'call_1',
    name: 'add',
    arguments: { a: 1 },
    providerData: { openai: { id: 'fc_1' } },
  };
  const open = callItem({ arguments: '', status: 'in_progress' });
  const argsDone = {
    type: 'response.function_call_arguments.done',
    item_id: 'fc_1',
    output_index: 0,
    arguments: '{"a":1}',
  };

  const callVariants: readonly (readonly [string, readonly Event[]])[] = [
    [
      'streamed',
      [
        itemAdded(open),
        argumentsDelta('{"a'),
        argumentsDelta('":1}'),
        argsDone,
        itemDone(callItem()),
        completed([callItem()]),
      ],
    ],
    ['complete in function_call_arguments.done', [itemAdded(open), argsDone, completed()]],
    ['complete in output_item.done', [itemDone(callItem()), completed([callItem()])]],
    ['complete in the response', [completed([callItem()])]],
    ['complete where it is announced', [itemAdded(callItem()), completed()]],
    [
      'announced with a placeholder',
      [itemAdded(open), argumentsDelta('{}'), itemDone(callItem()), completed([callItem()])],
    ],
    [
      'under a final response of other ids',
      [itemAdded(open), argumentsDelta('{"a":1}'), itemDone(callItem()), completed([callItem({ id: 'other' })])],
    ],
    [
      'under a final response of other ids and call ids',
      [itemDone(callItem()), completed([callItem({ id: 'fc_z', call_id: 'call_z' })])],
    ],
    ['under a final response of other call ids', [itemDone(callItem()), completed([callItem({ call_id: 'call_z' })])]],
    [
      'under a done item of another call id',
      [itemAdded(open), argumentsDelta('{"a":1}'), itemDone(callItem({ call_id: 'call_z' })), completed()],
    ],
    [
      'under another id and call id at the same index',
      [itemAdded(open), itemDone(callItem({ id: 'fc_z', call_id: 'call_z' })), completed()],
    ],
    [
      'under new ids in every snapshot, spaced otherwise',
      [
        ...[itemAdded(open), argumentsDelta('{"a":1}'), itemDone(callItem({ id: 'fc_y', call_id: 'call_y' }))],
        completed([callItem({ id: 'fc_z', call_id: 'call_z', arguments: '{"a": 1}' })]),
      ],
    ],
    [
      'announced, and only in a final response of other ids',
      [itemAdded(open), completed([callItem({ id: 'fc_z', call_id: 'call_z' })])],
    ],
    ['with arguments as an object', [itemDone(callItem({ arguments: { a: 1 } })), completed()]],
  ];
  it.each(callVariants)('OutputDecoder emits a call once and completely that is sent %s', async (_, frames) => {
    const { calls, finish } = await read(frames);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ ...sum, providerData: expect.anything() as unknown });
    expect(finish?.reason).toBe('toolCalls');
  });

  it('OutputDecoder marks a call as complete when its item is done', async () => {
    const { chunks } = await read([itemAdded(open), argumentsDelta('{"a":1}'), itemDone(callItem())]);
    expect(chunks).toEqual([
      { type: 'toolCallFragment', index: 'fc_1', id: 'call_1', name: 'add' },
      { type: 'toolCallFragment', index: 'fc_1', arguments: '{"a":1}' },
      {
        type: 'toolCallFragment',
        index: 'fc_1',
        done: true,
        providerData: { openai: { type: 'function_call', id: 'fc_1', call_id: 'call_1' } },
      },
    ]);
  });

  it('OutputDecoder exposes no call that the token limit truncated, and the response is not continued', async () => {
    const incomplete = {
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] },
    };
    const { calls, finish, message } = await read([
      created,
      textDelta('Hm.'),
      itemAdded(open),
      argumentsDelta('{"a'),
      itemDone(callItem({ arguments: '{"a', status: 'incomplete' })),
      incomplete,
    ]);
    expect(calls).toEqual([]);
    expect(message?.parts.at(-1)).toEqual(own({ type: 'response', textLength: 3 }));
    expect(finish).toMatchObject({ reason: 'length', rawReason: 'max_output_tokens' });
  });

  it('OutputDecoder exposes a call of a truncated response only if its status is completed', async () => {
    const response = (status: string, callStatus: string) => ({
      type: `response.${status}`,
      response: {
        status,
        incomplete_details: { reason: 'max_output_tokens' },
        output: [callItem({ arguments: '{"a":', status: callStatus })],
      },
    });
    expect(
      (await read([itemAdded(open), argumentsDelta('{"a":'), response('incomplete', 'in_progress')])).calls,
    ).toEqual([]);
    const both = [callItem({ id: 'fc_0', call_id: 'call_0' }), callItem({ arguments: '{"a":', status: 'in_progress' })];
    const truncated = {
      ...response('incomplete', ''),
      response: { ...response('incomplete', '').response, output: both },
    };
    expect((await read([truncated])).calls).toMatchObject([{ id: 'call_0' }]);
  });
});
