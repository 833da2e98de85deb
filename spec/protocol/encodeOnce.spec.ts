import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';
import { filePart, messageText, modelMessage, userMessage } from '../../lib/core/message.js';
import type { FilePart, Message } from '../../lib/core/message.js';
import type { ToolDefinition } from '../../lib/core/tool.js';
import {
  encodeConversation,
  encodeJson,
  encodeOnce,
  joinEncoded,
  markImmutable,
  memoizePerAnswer,
  memoizePerMessage,
  memoizePerTool,
} from '../../lib/protocol/encodeOnce.js';

describe('encodeOnce', () => {
  it('encodeOnce encodes any body as JSON.stringify does, marked or not, the first and the second time', () => {
    const body = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())));
    fc.assert(
      fc.property(body, fc.boolean(), (value, marked) => {
        const lists = Object.values(value).filter(Array.isArray) as JsonValue[][];
        for (const entry of lists.flat())
          if (marked && typeof entry === 'object' && entry !== null) markImmutable(entry as JsonObject);
        for (let time = 0; time < 2; time++) expect(encodeOnce(value as JsonObject)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('encodeOnce omits what is undefined, as JSON.stringify does', () => {
    const body = { a: undefined, list: [undefined, { b: undefined }] } as unknown as JsonObject;
    expect(encodeOnce(body)).toBe('{"list":[null,{}]}');
  });

  it('encodeOnce encodes a marked object once, and any other each time', () => {
    const [marked, unmarked] = [{ n: 1 }, { n: 1 }];
    markImmutable(marked);
    const texts = [0, 1].map(() => {
      const text = encodeOnce({ messages: [marked, unmarked] });
      [marked.n, unmarked.n] = [2, 2]; // forbidden for the first: it shows that its text was cached
      return text;
    });
    expect(texts).toEqual(['{"messages":[{"n":1},{"n":1}]}', '{"messages":[{"n":1},{"n":2}]}']);
  });
});

describe('encodeJson', () => {
  it('encodeJson replaces each half of a surrogate pair, and nothing else', () => {
    const unit = fc.constantFrom('\\ud83d', '\ude00', '\ud83d', '\u{1f600}', '\\', '"', 'u', 'd83d', 'a', '\n');
    const text = fc.string({ unit });
    fc.assert(
      fc.property(text, text, (key, value) => {
        const [wellFormedKey, wellFormed] = [key, value].map((each) => (each as WellFormed).toWellFormed());
        expect(JSON.parse(encodeJson({ [key]: [value] }))).toEqual({ [String(wellFormedKey)]: [wellFormed] });
        // As in the arguments of a call, which are JSON within JSON.
        const nested = JSON.parse(encodeJson({ nested: encodeJson([value]) })) as { nested: string };
        expect(JSON.parse(nested.nested)).toEqual([wellFormed]);
      }),
    );
  });
});

/** Of ES2024. */
type WellFormed = string & { toWellFormed(): string };

describe('memoizePerMessage', () => {
  const counting = () => {
    const encoded: Message[] = [];
    const encode = memoizePerMessage((message) => {
      encoded.push(message);
      return [{ role: message.role, parts: message.parts.length }];
    });
    return { encoded, encode };
  };

  it('memoizePerMessage encodes each message once, also one that is equal to another', () => {
    const { encoded, encode } = counting();
    const [a, b] = [userMessage('a'), userMessage('a')];
    expect([a, b, a].map(encode)).toEqual(Array(3).fill([{ role: 'user', parts: 1 }]));
    expect(encoded).toEqual([a, b]);
    expect(encode(a)).toBe(encode(a));
  });

  it('memoizePerMessage does not cache messages with files', () => {
    const { encoded, encode } = counting();
    const image = userMessage([filePart(new Uint8Array(3), 'image/png')]);
    expect(encode(image)).not.toBe(encode(image));
    expect(encoded).toHaveLength(2);
  });

  it.each([
    ['a file', (file: FilePart) => file],
    ['an array with a file', (file: FilePart) => ['A chart:', file]],
  ])('memoizePerMessage does not cache a message with a tool result that is %s', (_title, resultOf) => {
    const { encode } = counting();
    const result = resultOf(filePart(new Uint8Array(3), 'image/png')) as unknown as JsonValue;
    const message = userMessage([{ type: 'toolResult', id: 'c', name: 'plot', result }]);
    expect(encode(message)).not.toBe(encode(message));
  });

  it('memoizePerMessage does not cache a failure', () => {
    let attempt = 0;
    const encode = memoizePerMessage(() => {
      if (attempt++ === 0) throw new Error('no field for it');
      return [];
    });
    const message = userMessage('a');
    expect(() => encode(message)).toThrow('no field for it');
    expect(encode(message)).toEqual([]);
  });
});

describe('memoizePerAnswer', () => {
  it('memoizePerAnswer encodes a message again if it answers another message', () => {
    let count = 0;
    const encode = memoizePerAnswer((_, answered) => [{ answers: answered ? messageText(answered) : '', at: count++ }]);
    const [answer, first, second] = [userMessage('42'), modelMessage('a?'), modelMessage('b?')];
    expect([first, first, second, undefined].map((answered) => encode(answer, answered)[0])).toEqual([
      { answers: 'a?', at: 0 },
      { answers: 'a?', at: 0 },
      { answers: 'b?', at: 1 },
      { answers: '', at: 2 },
    ]);
  });
});

describe('memoizePerTool', () => {
  it('memoizePerTool encodes each definition once, and encodeOnce its text', () => {
    const [a, b] = ['a', 'b'].map((name) => ({ name, description: '', parameters: {} })) as [
      ToolDefinition,
      ToolDefinition,
    ];
    const names: string[] = [];
    const encode = memoizePerTool(({ name }) => {
      names.push(name);
      return { name };
    });
    const texts = [0, 1].map(() => encodeOnce({ tools: [a, b, a].map(encode) }));
    expect(texts).toEqual(Array(2).fill('{"tools":[{"name":"a"},{"name":"b"},{"name":"a"}]}'));
    expect(names).toEqual(['a', 'b']);
  });
});

describe('encodeConversation', () => {
  const counting = () => {
    const read: string[] = [];
    const encode = encodeConversation((message, answered) => {
      read.push(messageText(message));
      return [{ text: messageText(message), answers: answered ? messageText(answered) : null }];
    });
    return { read, encode };
  };
  const [a, b, c] = [userMessage('a'), modelMessage('b'), userMessage('c')];
  const file = userMessage([{ type: 'text', text: 'f' }, filePart(new Uint8Array(3), 'image/png')]);
  const expected = [
    { text: 'a', answers: null },
    { text: 'b', answers: null },
    { text: 'c', answers: 'b' },
  ];

  it('encodeConversation reads a message once while the list grows, with the message of the model before it', () => {
    const { read, encode } = counting();
    expect(encode([a])).toEqual(expected.slice(0, 1));
    expect(encode([a, b])).toEqual(expected.slice(0, 2));
    const all = encode([a, b, c]);
    expect(all).toEqual(expected);
    expect(read).toEqual(['a', 'b', 'c']);
    // The text of what was encoded already is used again.
    expect(encodeOnce({ all })).toBe(JSON.stringify({ all: expected }));
    const more = encode([a, b, c, a]);
    expect(encodeOnce({ more })).toBe(JSON.stringify({ more: [...expected, { text: 'a', answers: null }] }));
  });

  it('encodeConversation reads a message with a file each time, and no other', () => {
    const { read, encode } = counting();
    const fileText = { text: 'f', answers: 'b' };
    for (let time = 0; time < 2; time++) {
      expect(encode([a, b, file, a])).toEqual([...expected.slice(0, 2), fileText, expected[0]]);
    }
    expect(read.filter((text) => text === 'f')).toHaveLength(2);
    expect(read.filter((text) => text !== 'f')).toEqual(['a', 'b']);
  });

  it('joinEncoded keeps the texts of two lists, and encodes any other list', () => {
    const { encode } = counting();
    const [first, second] = [encode([a, b]), encode([c])];
    const plain = [{ text: 'x', answers: null }];
    const lists = [joinEncoded(first, second), joinEncoded(first, plain), joinEncoded(plain, second)];
    for (const all of lists) expect(encodeOnce({ all })).toBe(JSON.stringify({ all }));
    (plain[0] as { text: string }).text = 'y'; // not of a conversation: it is read again
    expect(encodeOnce({ all: joinEncoded(plain, second) })).toContain('"y"');
  });
});
