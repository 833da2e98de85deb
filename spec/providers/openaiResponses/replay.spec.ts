import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage } from '../../../lib/core/message.js';
import type { Part } from '../../../lib/core/message.js';
import { assistant, body, call, hello, input, reasoning, response, result, text, user } from './conversation.js';

describe('encodeModelMessage', () => {
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

  it('encodeModelMessage sends the stored items with their ids, in their order', () => {
    expect(input([hello, response(parts, output), result('a')])).toEqual([
      user('Hello'),
      output[0],
      { ...assistant('Wait'), id: 'msg_1', status: 'completed', phase: 'commentary' },
      output[2],
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AQID' },
      output[4],
      { type: 'function_call', id: 'fc_1', call_id: 'a', namespace: 'n', name: 'look', arguments: '{"at":"sky"}' },
      { ...assistant('There.'), id: 'msg_2', status: 'completed' },
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
    ]);
  });

  it('encodeModelMessage sends no ids for a message whose text was edited', () => {
    const edited = parts.map((part) =>
      part.type === 'text' && part.text === 'There.' ? text('There, edited.') : part,
    );
    expect(input([hello, response(edited, output), result('a')])).toEqual([
      user('Hello'),
      assistant('Wait'),
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":"sky"}' },
      assistant('There, edited.'),
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
    ]);
  });

  it('encodeModelMessage keeps a call whose id was made unique, and omits one that never became complete', () => {
    const items = [
      { type: 'function_call', id: 'fc_1', call_id: 'a' },
      { type: 'function_call', id: 'fc_2', call_id: 'truncated' },
    ];
    expect(input([hello, response([call('distinct', 'fc_1')], items), result('distinct')])).toMatchObject([
      user('Hello'),
      { type: 'function_call', id: 'fc_1', call_id: 'distinct' },
      { type: 'function_call_output', call_id: 'distinct' },
    ]);
  });

  it('encodeModelMessage sends a refusal as one', () => {
    const refused = response([text('No.')], [{ type: 'message', id: 'msg_1', length: 3, refusal: true }]);
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
    const truncated = response(
      [text('Hm.')],
      [{ type: 'message', id: 'msg_1', length: 3 }, reasoning('rs_1'), open, reasoning('rs_2')],
    );
    expect(input([hello, truncated, hello])).toEqual([
      user('Hello'),
      { ...assistant('Hm.'), id: 'msg_1', status: 'completed' },
      user('Hello'),
    ]);
    const ran = { type: 'shell_call', id: 'sh_1', call_id: 's', action: {}, status: 'completed' };
    const shown = { type: 'shell_call_output', id: 'sho_1', call_id: 's', output: [] };
    expect(
      input([hello, response([text('Hm.')], [ran, shown, { type: 'message', id: 'm', length: 3 }])]),
    ).toMatchObject([{}, ran, shown, {}]);
  });

  it('encodeModelMessage omits reasoning that is neither encrypted nor stored, and the id of the item after it', () => {
    const items = [
      reasoning('rs_1'),
      { type: 'message', id: 'msg_1', length: 3 },
      reasoning('rs_2', 'secret'),
      { type: 'function_call', id: 'fc_1', call_id: 'a' },
    ];
    const sent = [hello, response([text('Hm.'), call('a', 'fc_1')], items), result('a')];
    expect(input(sent, false)).toEqual([
      user('Hello'),
      assistant('Hm.'),
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
