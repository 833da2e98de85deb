import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { concat, from, of, throwError } from 'rxjs';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { parseCalls, extractTextCalls } from '../../../lib/providers/shared/textCalls.js';
import { openTool } from '../../checks/conformance/case.js';
import { observe } from '../../support/observe.js';
import { pushThrough } from '../../support/pushThrough.js';

const finish: Chunk = { type: 'finish', reason: 'stop' };
const text = (value: string): Chunk => ({ type: 'text', text: value });
const offered = ['add', 'now', 'a', 'b', 'f'];
const request: ModelRequest = { messages: [], tools: offered.map((name) => openTool(name)) };

const readable = (chunks: readonly Chunk[]) => ({
  chunks,
  text: chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join(''),
  calls: chunks.flatMap((chunk) => (chunk.type === 'toolCallFragment' ? [[chunk.name, chunk.arguments]] : [])),
});

/** Passes texts and other chunks through text calls, and returns what is emitted. */
function read(inputs: readonly (string | Chunk)[], end: Chunk | 'interrupted' = finish) {
  const chunks: Chunk[] = [];
  const textCalls = pushThrough(extractTextCalls(request), (chunk) => chunks.push(chunk));
  for (const input of inputs) textCalls.next(typeof input === 'string' ? text(input) : input);
  if (end === 'interrupted') textCalls.release();
  else textCalls.next(end);
  return readable(chunks);
}

const add = '{"name": "add", "parameters": {"a": "}{\\"]["}}';

describe('extractTextCalls: chunk by chunk', () => {
  it.each<[string, unknown[]]>([
    [`<|python_tag|>${add}`, [['add', { a: '}{"][' }]]],
    [
      ` \n<|python_tag|>${add}; {"name":"now","arguments":{}}<|eom_id|>\n`,
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
  ])('extractTextCalls reads calls from %s', (written, calls) => {
    expect(read([written])).toMatchObject({ text: '', calls });
    expect(read(Array.from(written))).toMatchObject({ text: '', calls });
    expect(read([written]).chunks.at(-1)).toEqual(finish);
  });

  it.each([
    `Let me see. <|python_tag|>${add}`,
    `The page says:\n<|python_tag|>${add}`,
    `<|python_tag|>${add} is what Llama writes.`,
    `<|python_tag|>${add}; {"name":"delete_all","parameters":{}}`,
    'Llama writes <|python_tag|> before a call.',
    '`<|python_tag|>{"name":"f","parameters":{}}` is a call.',
    '<|python_tag|>print(1)',
    '<|python_tag|>{"name":"f","parameters":{"a":',
    '<|python_tag|>{"name":"f","colour":"red"}',
    '<|python_tag|>[]',
    '<|python_tag|>[1]',
    '<|python_tag|>',
    '<|python_tag|>{"name":"f"}}',
    '{"name":"f","parameters":{}}',
    '<|pyth',
    '1 < 2 <|pyth',
  ])('extractTextCalls forwards unchanged: %s', (written) => {
    expect(read([written])).toMatchObject({ text: written, calls: [] });
    expect(read(Array.from(written))).toMatchObject({ text: written, calls: [] });
  });

  it('extractTextCalls holds back a text only while it begins as calls do', () => {
    const held = (...texts: string[]) => {
      const chunks: Chunk[] = [];
      const textCalls = pushThrough(extractTextCalls(request), (chunk) => chunks.push(chunk));
      for (const value of texts) textCalls.next(text(value));
      return texts.join('').slice(readable(chunks).text.length);
    };
    expect(held('Say ')).toBe('');
    expect(held('Say <|python_')).toBe('');
    expect(held('\n <|python_')).toBe('\n <|python_');
    expect(held('<|python_tag|>', ' ')).toBe('<|python_tag|> ');
    expect(held('<|python_tag|>', ' p')).toBe('');
    expect(held('<|python_tag|>{', '"name"')).toBe('<|python_tag|>{"name"');
  });

  it('extractTextCalls emits no call for an interrupted response or besides calls of the server', () => {
    const written = `<|python_tag|>${add}`;
    expect(read([written], 'interrupted')).toMatchObject({ text: written, calls: [] });
    const native: Chunk = { type: 'toolCallFragment', id: 'c', name: 'add', arguments: '{}' };
    expect(read([written, native])).toMatchObject({ text: written, calls: [['add', '{}']] });
    expect(read([native, written])).toMatchObject({ text: written, calls: [['add', '{}']] });
  });

  it('extractTextCalls starts over on retract, and keeps provider parts', () => {
    const signature: Chunk = { type: 'provider', provider: 'p', data: { signature: 's' } };
    const { chunks } = read(['<|pyth', { type: 'retract' }, signature, `<|python_tag|>${add}`]);
    expect(chunks).toMatchObject([
      { type: 'retract' },
      signature,
      { type: 'toolCallFragment', name: 'add', done: true },
      finish,
    ]);
  });

  it('extractTextCalls loses nothing, however the text is cut', () => {
    const word = fc.constantFrom('<|python_tag|>', '<|python_', '<', '{', '}', '"', '[', ' ', add, 'word', '\\', ';');
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const { text: forwarded, calls } = read(words);
        const all = words.join('');
        if (calls.length === 0) expect(forwarded).toBe(all);
        else expect(forwarded === '' && parseCalls(all)).toHaveLength(calls.length);
      }),
    );
  });
});

describe('extractTextCalls', () => {
  const tools = offered.map(openTool);
  const source = [`<|python_tag|>`, add].map(text);
  const events = (request: Partial<ModelRequest>) =>
    readable(observe(concat(from(source), of(finish)).pipe(extractTextCalls({ messages: [], ...request }))).values);

  it('extractTextCalls emits no call without tools, of another tool, or with the tool choice none', () => {
    expect(events({ tools }).calls).toHaveLength(1);
    expect(events({})).toMatchObject({ text: `<|python_tag|>${add}`, calls: [] });
    expect(events({ tools: [openTool('other')] })).toMatchObject({ text: `<|python_tag|>${add}`, calls: [] });
    expect(events({ tools, toolChoice: 'none' })).toMatchObject({ text: `<|python_tag|>${add}`, calls: [] });
  });

  it('extractTextCalls emits the held text before an error and the completion, for each subscriber', () => {
    const broken = concat(
      from(source),
      throwError(() => new Error('broken')),
    ).pipe(extractTextCalls({ messages: [], tools }));
    for (let subscription = 0; subscription < 2; subscription++) {
      const { values, error } = observe(broken);
      expect(readable(values).text).toBe(`<|python_tag|>${add}`);
      expect(error).toMatchObject({ message: 'broken' });
    }
  });
});
