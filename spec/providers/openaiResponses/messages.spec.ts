import { describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { filePart, modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message, Part } from '../../../lib/core/message.js';
import { assistant, call, hello, input, result, text, user } from './conversation.js';

describe('encodeInput: files', () => {
  it('encodeInput sends images and files as bytes or by URL', () => {
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

  it('encodeInput refuses audio files', () => {
    expect(() => input([userMessage([filePart(new Uint8Array([1]), 'audio/wav')])])).toThrow(
      /does not accept audio\/wav.*Use openaiChat\(\)/s,
    );
  });
});

describe('encodeInput: files in tool results', () => {
  const answer = (result: JsonValue) => [
    modelMessage([call('a')]),
    userMessage([{ type: 'toolResult', id: 'a', name: 'look', result }]),
  ];
  const output = (result: JsonValue) => (input(answer(result)) as readonly JsonObject[])[1];
  const image = { type: 'file', mediaType: 'image/png', data: 'AQID' };

  it('encodeInput sends the files of a tool result as contents of its output', () => {
    const pdf = { type: 'file', mediaType: 'application/pdf', url: 'https://a.example/a.pdf' };
    const detail = { ...image, providerOptions: { openai: { detail: 'low' } } };
    expect(output([{ type: 'text', text: 'Blue:' }, image, { a: 1 }, pdf, detail])).toEqual({
      type: 'function_call_output',
      call_id: 'a',
      output: [
        { type: 'input_text', text: 'Blue:' },
        { type: 'input_image', image_url: 'data:image/png;base64,AQID', detail: 'auto' },
        { type: 'input_text', text: '{"a":1}' },
        { type: 'input_file', file_url: 'https://a.example/a.pdf' },
        { type: 'input_image', image_url: 'data:image/png;base64,AQID', detail: 'low' },
      ],
    });
    expect(output(image)).toMatchObject({ output: [{ type: 'input_image' }] });
    expect(output([1, 'a'])).toMatchObject({ output: '[1,"a"]' });
  });

  it('encodeInput refuses audio and video in a tool result', () => {
    for (const mediaType of ['audio/wav', 'video/mp4'])
      expect(() => output([{ type: 'file', mediaType, data: 'AQ==' }])).toThrow(
        expect.objectContaining({
          subject: 'capability',
          message: expect.stringContaining(`${mediaType} files in tool results (tool "look")`) as unknown,
        }),
      );
  });
});

describe('encodeInput: providerOptions', () => {
  const options = (fields: JsonObject) => ({ providerOptions: { openai: fields, other: { x: 1 } } });

  it('encodeInput merges the provider options of parts and messages into their encodings', () => {
    const message: Message = {
      ...userMessage([
        { type: 'text', text: 'Hi', ...options({ prompt_cache_breakpoint: { mode: 'explicit' } }) },
        { type: 'file', mediaType: 'image/png', data: 'AQ==', ...options({ detail: 'high' }) },
      ]),
      ...options({ status: 'completed' }),
    };
    expect(input([message])).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Hi', prompt_cache_breakpoint: { mode: 'explicit' } },
          { type: 'input_image', image_url: 'data:image/png;base64,AQ==', detail: 'high' },
        ],
        status: 'completed',
      },
    ]);
  });

  it('encodeInstructions refuses provider options of the system prompt, which is one text', () => {
    const system = { ...systemMessage('Be brief.'), ...options({ prompt_cache_breakpoint: {} }) };
    expect(() => input([system, hello])).toThrow(expect.objectContaining({ subject: 'options' }));
    expect(() => input([{ ...systemMessage('Be brief.'), providerOptions: { other: { x: 1 } } }, hello])).not.toThrow();
  });
});

describe('encodeInput: messages of other providers', () => {
  it('encodeInput keeps the order of texts and calls, and puts results before the text of the user', () => {
    const thinking: Part = { type: 'provider', provider: 'anthropic', data: { type: 'thinking', thinking: 'x' } };
    const model = modelMessage([text('Let me '), thinking, text('look.'), call('a'), text('And'), call('b')]);
    const results = userMessage([
      { type: 'toolResult', id: 'a', name: 'look', result: { sky: 'blue' } },
      { type: 'toolResult', id: 'b', name: 'look', error: 'too dark' },
      text('Well?'),
    ]);
    const item = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{"at":"sky"}' });
    expect(input([hello, model, results])).toEqual([
      user('Hello'),
      assistant('Let me look.'),
      item('a'),
      assistant('And'),
      item('b'),
      { type: 'function_call_output', call_id: 'a', output: '{"sky":"blue"}' },
      { type: 'function_call_output', call_id: 'b', output: '{"error":"too dark"}' },
      user('Well?'),
    ]);
  });

  it('encodeInput sends short and unique call ids, the same for call and result', () => {
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
