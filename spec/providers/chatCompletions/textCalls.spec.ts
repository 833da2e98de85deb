import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Chunk } from '../../../lib/core/chunk.js';
import { callsIn, createTextCalls } from '../../../lib/providers/chatCompletions/textCalls.js';

/** Passes texts and other chunks through text calls, and returns what is emitted. */
function read(inputs: readonly (string | Chunk)[], complete = true) {
  const chunks: Chunk[] = [];
  const textCalls = createTextCalls((chunk) => chunks.push(chunk));
  for (const input of inputs) textCalls.next(typeof input === 'string' ? { type: 'text', text: input } : input);
  textCalls.flush(complete);
  return {
    chunks,
    text: chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join(''),
    calls: chunks.flatMap((chunk) => (chunk.type === 'toolCallFragment' ? [[chunk.name, chunk.arguments]] : [])),
  };
}

const add = '{"name": "add", "parameters": {"a": "}{\\"]["}}';

describe('createTextCalls', () => {
  it.each<[string, unknown[]]>([
    [`<|python_tag|>${add}`, [['add', { a: '}{"][' }]]],
    [
      `<|python_tag|>${add}; {"name":"now","arguments":{}}<|eom_id|>\n`,
      [
        ['add', { a: '}{"][' }],
        ['now', {}],
      ],
    ],
    [
      `<|python_tag|>{"name":"a","parameters":{}}<|python_tag|>{"name":"b","parameters":{}}`,
      [
        ['a', {}],
        ['b', {}],
      ],
    ],
    [
      `<|python_start|>[{"name":"a","parameters":{}}, {"name":"b"}]<|python_end|>`,
      [
        ['a', {}],
        ['b', {}],
      ],
    ],
    ['<|python_tag|>\n{"type":"function","function":{"name":"a","arguments":"{\\"x\\":1}"}}', [['a', '{"x":1}']]],
  ])('createTextCalls reads calls from %s', (text, calls) => {
    expect(read([text])).toMatchObject({ text: '', calls });
    expect(read(Array.from(text))).toMatchObject({ text: '', calls });
  });

  it('createTextCalls emits the text before the tag', () => {
    expect(read(['Let me see. <|python_tag|>', add])).toMatchObject({
      text: 'Let me see. ',
      calls: [['add', { a: '}{"][' }]],
    });
  });

  it.each([
    'Llama writes <|python_tag|> before a call.',
    '`<|python_tag|>{"name":"f","parameters":{}}` is a call.',
    '<|python_tag|>print(1)',
    '<|python_tag|>{"name":"f","parameters":{"a":',
    '<|python_tag|>{"name":"f","colour":"red"}',
    '<|python_tag|>[]',
    '<|python_tag|>[1]',
    '<|python_tag|>',
    '<|python_tag|>{"name":"f"}}',
    '1 < 2 <|pyth',
  ])('createTextCalls forwards unchanged: %s', (text) => {
    expect(read([text])).toMatchObject({ text, calls: [] });
    expect(read(Array.from(text))).toMatchObject({ text, calls: [] });
  });

  it('createTextCalls holds nothing back of a text that mentions the tag', () => {
    const chunks: Chunk[] = [];
    const textCalls = createTextCalls((chunk) => chunks.push(chunk));
    textCalls.next({ type: 'text', text: 'Say <|python_tag|> first.' });
    expect(chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('')).toBe('Say <|python_tag|> first.');
  });

  it('createTextCalls exposes no call of an incomplete response, and none besides the calls of the server', () => {
    expect(read([`<|python_tag|>${add}`], false)).toMatchObject({ text: `<|python_tag|>${add}`, calls: [] });
    const native: Chunk = { type: 'toolCallFragment', id: 'c', name: 'add', arguments: '{}' };
    expect(read([`<|python_tag|>${add}`, native])).toMatchObject({
      text: `<|python_tag|>${add}`,
      calls: [['add', '{}']],
    });
  });

  it('createTextCalls loses nothing, however the text is cut', () => {
    const word = fc.constantFrom('<|python_tag|>', '<|python_', '<', '{', '}', '"', '[', ' ', add, 'word', '\\', ';');
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const { text, calls } = read(words);
        const all = words.join('');
        if (calls.length === 0) expect(text).toBe(all);
        else expect(all.startsWith(text) && callsIn(all.slice(text.length))).toHaveLength(calls.length);
      }),
    );
  });

  it('createTextCalls is linear in the text', () => {
    const many = `<|python_tag|>${Array.from({ length: 20_000 }, () => add).join(';')}`;
    expect(read(many.match(/.{1,50}/gs) ?? []).calls).toHaveLength(20_000);
  });
});
