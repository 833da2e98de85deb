import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage } from '../../../lib/core/message.js';
import type { Part } from '../../../lib/core/message.js';
import { assistant, body, call, hello, input, own, reasoning, response, result, text } from './conversation.js';
import { user, written } from './conversation.js';

describe('encodeModelMessage', () => {
  const search: JsonObject = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } };
  const image: JsonObject = { type: 'image_generation_call', id: 'ig_1', status: 'completed' };
  const parts: readonly Part[] = [
    own(reasoning('rs_1', 'secret 1')),
    ...written('msg_1', 'Wa', { phase: 'commentary' }),
    { type: 'source', url: 'https://a.example' },
    text('it'),
    own(search),
    { type: 'file', mediaType: 'image/png', data: 'AQID', providerData: { openai: image } },
    own(reasoning('rs_2', 'secret 2')),
    call('a', 'fc_1', { namespace: 'n', call_id: 'a' }),
    ...written('msg_2', 'There.'),
  ];
  const items: readonly JsonObject[] = [
    user('Hello'),
    reasoning('rs_1', 'secret 1'),
    { ...assistant('Wait'), id: 'msg_1', status: 'completed', phase: 'commentary' },
    search,
    { ...image, result: 'AQID' },
    reasoning('rs_2', 'secret 2'),
    { type: 'function_call', id: 'fc_1', call_id: 'a', namespace: 'n', name: 'look', arguments: '{"at":"sky"}' },
    { ...assistant('There.'), id: 'msg_2', status: 'completed' },
    { type: 'function_call_output', call_id: 'a', output: 'blue' },
  ];

  it('encodeModelMessage sends the parts with their ids, in their order', () => {
    expect(input([hello, response(parts), result('a')])).toEqual(items);
  });

  it('encodeModelMessage sends a text that was edited in its place, and none of the parts that were removed', () => {
    const edited = parts.map((part) =>
      part.type === 'text' && part.text === 'There.' ? text('There, edited.') : part,
    );
    expect(input([hello, response(edited), result('a')])).toEqual(
      items.map((item) => (item['id'] === 'msg_2' ? { ...item, content: assistant('There, edited.').content } : item)),
    );
    const readable = parts.filter(({ type }) => type !== 'provider');
    expect(input([hello, modelMessage(readable), result('a')])).toEqual([
      user('Hello'),
      assistant('Wait'),
      { type: 'function_call', call_id: 'a', namespace: 'n', name: 'look', arguments: '{"at":"sky"}' },
      assistant('There.'),
      items.at(-1),
    ]);
  });

  it('encodeModelMessage keeps a call whose id was made unique', () => {
    expect(input([hello, response([call('distinct', 'fc_1', { call_id: 'a' })]), result('distinct')])).toMatchObject([
      user('Hello'),
      { type: 'function_call', id: 'fc_1', call_id: 'distinct' },
      { type: 'function_call_output', call_id: 'distinct' },
    ]);
  });

  it('encodeModelMessage sends a refusal as one', () => {
    const refused = response(written('msg_1', 'No.', { refusal: true }));
    expect(input([hello, refused, hello])).toMatchObject([
      {},
      { id: 'msg_1', content: [{ type: 'refusal', refusal: 'No.' }] },
      {},
    ]);
  });

  it('encodeModelMessage leaves reasoning without a following item and unanswered calls, which encodeInput omits', () => {
    const open = {
      type: 'local_shell_call',
      id: 'lsh_1',
      call_id: 'shell',
      action: { type: 'exec', command: ['ls'] },
      status: 'completed',
    };
    const truncated = response([...written('msg_1', 'Hm.'), own(reasoning('rs_1')), own(open), own(reasoning('rs_2'))]);
    expect(input([hello, truncated, hello])).toEqual([
      user('Hello'),
      { ...assistant('Hm.'), id: 'msg_1', status: 'completed' },
      user('Hello'),
    ]);
    const ran = { type: 'shell_call', id: 'sh_1', call_id: 's', action: {}, status: 'completed' };
    const shown = { type: 'shell_call_output', id: 'sho_1', call_id: 's', output: [] };
    expect(input([hello, response([own(ran), own(shown), ...written('m', 'Hm.')])])).toMatchObject([
      {},
      ran,
      shown,
      {},
    ]);
  });

  it('encodeModelMessage omits reasoning that is neither encrypted nor stored, and the id of the item after it', () => {
    const thought = [
      own(reasoning('rs_1')),
      ...written('msg_1', 'Hm.'),
      own(reasoning('rs_2', 'secret')),
      call('a', 'fc_1', { call_id: 'a' }),
    ];
    const sent = [hello, response(thought), result('a')];
    expect(input(sent, false)).toEqual([
      user('Hello'),
      assistant('Hm.'),
      reasoning('rs_2', 'secret'),
      { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'look', arguments: '{"at":"sky"}' },
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
    ]);
    expect(body({ messages: sent, providerOptions: { openai: { store: false } } })['input']).toEqual(
      input(sent, false),
    );
    expect(input(sent)).toHaveLength(6);
    expect(input([hello, response(thought, 'resp_1', { stored: false }), result('a')])).toEqual(input(sent, false));
  });
});
