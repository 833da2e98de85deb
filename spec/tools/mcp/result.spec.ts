import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRepetitionTest, toResult } from '../../../lib/tools/mcp/result.js';
import { expectLinear } from '../../support/cost.js';
import type { JsonValue } from '../../../lib/index.js';

const text = (content: string) => ({ type: 'text' as const, text: content });
const image = { type: 'image' as const, data: 'aGk=', mimeType: 'image/png' };
const imageFile = { type: 'file', mediaType: 'image/png', data: 'aGk=' };

describe('toResult', () => {
  it.each<[string, (index: number) => unknown, string]>([
    ['a list', () => 0, '[1]'],
    ['an object', (index) => ({ [`field${index}`]: 0 }), '{"a":1}'],
    ['an object in an object', (index) => ({ [`field${index}`]: 0 }), '{"result":{"a":1}}'],
  ])('toResult compares %s with many texts in linear time', (_, item, part) => {
    const inputs = [100, 200, 400].map((count) => {
      const items = Array.from({ length: count * 100 }, (_item, index) => item(index));
      const fields = items.flatMap((one) => Object.entries(one as object));
      const value = fields.length > 0 ? Object.fromEntries(fields) : items;
      const structuredContent = { result: value as JsonValue };
      return { content: Array.from({ length: count }, () => text(part)), structuredContent };
    });
    expectLinear((input) => toResult('t', input), inputs);
    expect(inputs.map((input) => toResult('t', input))).toHaveLength(inputs.length);
  });

  it('toResult joins texts to one text', () => {
    expect(toResult('t', { content: [text('one'), text('two')] })).toBe('one\ntwo');
    expect(toResult('t', { content: [text('')] })).toBe('');
  });
  it('toResult returns null for no content', () => {
    expect(toResult('t', { content: [] })).toBeNull();
  });
  it('toResult returns only the structured content, of any type, if the texts repeat it', () => {
    expect(toResult('t', { content: [text('{"a":1}')], structuredContent: { a: 1 } })).toEqual({ a: 1 });
    expect(toResult('t', { content: [], structuredContent: { a: 1 } })).toEqual({ a: 1 });
    expect(toResult('t', { content: [text('null')], structuredContent: null })).toBeNull();
  });
  it('toResult returns the structured content and the texts that do not repeat it', () => {
    const structuredContent = { rows: 2 };
    const repeat = text(JSON.stringify(structuredContent));
    const both = { structuredContent, content: 'Only the first two of 500.\nAsk for more.' };
    expect(
      toResult('t', { content: [text('Only the first two of 500.'), text('Ask for more.')], structuredContent }),
    ).toEqual(both);
    expect(
      toResult('t', {
        content: [text('Only the first two of 500.'), repeat, text('Ask for more.')],
        structuredContent,
      }),
    ).toEqual(both);
    expect(toResult('t', { content: [repeat, text(' ')], structuredContent })).toEqual(structuredContent);
  });
  it('toResult returns only the structured content if an SDK has wrapped the value of the text in it', () => {
    expect(toResult('t', { content: [text('hello')], structuredContent: { result: 'hello' } })).toEqual({
      result: 'hello',
    });
    expect(toResult('t', { content: [text('a'), text('b')], structuredContent: { result: ['a', 'b'] } })).toEqual({
      result: ['a', 'b'],
    });
  });
  it('toResult returns all contents if there is more than text, with images as file parts', () => {
    expect(toResult('t', { content: [text('see'), image] })).toEqual([text('see'), imageFile]);
    expect(toResult('t', { content: [image], structuredContent: { a: 1 } })).toEqual([{ a: 1 }, imageFile]);
    expect(toResult('t', { content: [text('{"a":1}'), text('see'), image], structuredContent: { a: 1 } })).toEqual([
      { a: 1 },
      text('see'),
      imageFile,
    ]);
    const link = { type: 'resource_link' as const, uri: 'file:///a', name: 'a' };
    expect(toResult('t', { content: [link], structuredContent: { a: 1 } })).toEqual({
      structuredContent: { a: 1 },
      content: [link],
    });
  });
  it('toResult returns audio and the bytes of a resource as file parts, and the text of a resource as JSON', () => {
    const content = [
      { type: 'audio' as const, data: 'AQ==', mimeType: 'audio/wav' },
      {
        type: 'resource' as const,
        resource: { uri: 'file:///x/a.pdf?v=1', mimeType: 'application/pdf', blob: 'Ag==' },
      },
      { type: 'resource' as const, resource: { uri: 'demo:1', blob: 'Aw==' } },
      { type: 'resource' as const, resource: { uri: 'file:///a', text: 'A' } },
    ];
    expect(toResult('t', { content })).toEqual([
      { type: 'file', mediaType: 'audio/wav', data: 'AQ==' },
      { type: 'file', mediaType: 'application/pdf', data: 'Ag==', name: 'a.pdf' },
      { type: 'file', mediaType: 'application/octet-stream', data: 'Aw==', name: 'demo:1' },
      content[3],
    ]);
  });
  it('toResult omits _meta, which is not meant for a model', () => {
    const _meta = { 'example.com/secret': 1 };
    expect(toResult('t', { content: [{ ...image, _meta }] })).toEqual([imageFile]);
    const resource = { uri: 'file:///a', text: 'A' };
    expect(toResult('t', { content: [{ type: 'resource', resource: { ...resource, _meta }, _meta }] })).toEqual([
      { type: 'resource', resource },
    ]);
  });
  it("toResult throws an error with the server's texts and all contents", () => {
    const failed = { isError: true, content: [text('no such file'), text('try another')] };
    expect(() => toResult('read', failed)).toThrow(
      expect.objectContaining({
        name: 'McpToolError',
        code: 'mcp_tool',
        tool: 'read',
        message: 'no such file\ntry another',
        content: failed.content,
      }),
    );
  });
  it('toResult throws an error with the texts of embedded resources', () => {
    const content = [
      text('It failed:'),
      { type: 'resource' as const, resource: { uri: 'file:///log', text: 'disk full' } },
      { type: 'resource' as const, resource: { uri: 'file:///dump', blob: 'aGk=' } },
    ];
    expect(() => toResult('read', { isError: true, content })).toThrow(
      expect.objectContaining({ message: 'It failed:\ndisk full', content }),
    );
  });
  it('toResult throws an error with the structured content, also in the message unless a text repeats it', () => {
    const structuredContent = { status: 429, retryAfter: 30 };
    const messageOf = (...content: readonly ReturnType<typeof text>[]) => {
      try {
        return toResult('read', { isError: true, content: [...content], structuredContent });
      } catch (error) {
        expect(error).toMatchObject({ code: 'mcp_tool', content, structuredContent });
        return error instanceof Error ? error.message : error;
      }
    };
    expect(messageOf()).toBe('{"status":429,"retryAfter":30}');
    expect(messageOf(text(' '))).toBe('{"status":429,"retryAfter":30}');
    expect(messageOf(text('Too many requests.'))).toBe('Too many requests.\n{"status":429,"retryAfter":30}');
    expect(messageOf(text('{ "retryAfter": 30, "status": 429 }'))).toBe('{ "retryAfter": 30, "status": 429 }');
  });
  it('toResult throws an error with a message of its own if the server sends no text', () => {
    expect(() => toResult('read', { isError: true, content: [] })).toThrow(
      'The tool "read" failed, and its MCP server does not say why.',
    );
    expect(() => toResult('read', { isError: true, content: [image] })).toThrow(
      'does not say why in words. See content.',
    );
    expect(() => toResult('read', { isError: true, content: [text(' ')] })).toThrow('does not say why in words');
    for (const structuredContent of [{}, null]) {
      expect(() => toResult('read', { isError: true, content: [], structuredContent })).toThrow('does not say why.');
    }
  });
});

const repeated = (data: JsonValue, ...texts: readonly string[]) => texts.map(createRepetitionTest(data, texts));

describe('createRepetitionTest', () => {
  it('createRepetitionTest recognizes its JSON, in any layout and order of keys', () => {
    expect(repeated({ a: [1, { b: null, c: '' }] }, '{\n  "a": [1, { "c": "", "b": null }]\n}')).toEqual([true]);
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(4), (data, indent) =>
        createRepetitionTest(data as JsonValue, ['', ''])(JSON.stringify(data, null, indent)),
      ),
    );
  });
  it('createRepetitionTest recognizes the value that is wrapped in a single field', () => {
    expect(repeated({ result: 'hello' }, 'hello')).toEqual([true]);
    expect(repeated({ result: 5 }, '5')).toEqual([true]);
    expect(repeated({ result: [1, 2] }, '[1,2]')).toEqual([true]);
    expect(repeated({ result: 'hello', more: 1 }, 'hello')).toEqual([false]);
    expect(repeated({ content: 'hello' }, 'hello')).toEqual([true]);
    expect(repeated({ content: 'hello' }, 'hello you')).toEqual([false]);
  });
  it('createRepetitionTest recognizes the items of an array, a text for each, in order', () => {
    expect(repeated({ result: ['a', { b: 1 }, [2, 3]] }, 'a', '{ "b": 1 }', '2', '3')).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(repeated({ result: ['a', 'b'] }, 'b', 'a')).toEqual([false, false]);
    expect(repeated({ result: ['a', 'b'] }, 'b')).toEqual([false]);
  });
  it('createRepetitionTest rejects another value, a missing or an additional key, and other texts', () => {
    for (const text of ['{"a":2}', '{}', '{"a":1,"b":2}', '{"b":1}', '[1]', 'null', 'a is 1', '{"a":1', ''])
      expect(repeated({ a: 1 }, text)).toEqual([false]);
    expect(repeated([1, 2], '[1]', '[1,2,3]', '{"0":1,"1":2}')).toEqual([false, false, false]);
    expect(repeated({ a: {} }, '{"__proto__":{}}')).toEqual([false]);
    expect(repeated(JSON.parse('{"__proto__":{}}') as JsonValue, '{"a":{}}')).toEqual([false]);
  });
});
