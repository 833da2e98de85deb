import { describe, expect, it } from '@jest/globals';
import { resultOf } from '../../../lib/bridges/mcp/result.js';

const text = (said: string) => ({ type: 'text' as const, text: said });
const image = { type: 'image' as const, data: 'aGk=', mimeType: 'image/png' };

describe('what an MCP server answered', () => {
  it('is one text, where it is texts', () => {
    expect(resultOf('t', { content: [text('one'), text('two')] })).toBe('one\ntwo');
    expect(resultOf('t', { content: [text('')] })).toBe('');
  });
  it('is null, where it is nothing', () => {
    expect(resultOf('t', { content: [] })).toBeNull();
  });
  it('is the structured content, whatever JSON it is, which the texts only repeat', () => {
    expect(resultOf('t', { content: [text('{"a":1}')], structuredContent: { a: 1 } })).toEqual({ a: 1 });
    expect(resultOf('t', { content: [], structuredContent: { a: 1 } })).toEqual({ a: 1 });
    expect(resultOf('t', { content: [text('null')], structuredContent: null })).toBeNull();
  });
  it('is the structured content and the texts that say something else', () => {
    const structuredContent = { rows: 2 };
    const repeat = text(JSON.stringify(structuredContent));
    const both = { structuredContent, content: 'Only the first two of 500.\nAsk for more.' };
    expect(
      resultOf('t', { content: [text('Only the first two of 500.'), text('Ask for more.')], structuredContent }),
    ).toEqual(both);
    expect(
      resultOf('t', {
        content: [text('Only the first two of 500.'), repeat, text('Ask for more.')],
        structuredContent,
      }),
    ).toEqual(both);
    expect(resultOf('t', { content: [repeat, text(' ')], structuredContent })).toEqual(structuredContent);
  });
  it('is the structured content alone, where an SDK wrapped in it what the text says', () => {
    expect(resultOf('t', { content: [text('hello')], structuredContent: { result: 'hello' } })).toEqual({
      result: 'hello',
    });
    expect(resultOf('t', { content: [text('a'), text('b')], structuredContent: { result: ['a', 'b'] } })).toEqual({
      result: ['a', 'b'],
    });
  });
  it('is all contents, where there is more than text', () => {
    expect(resultOf('t', { content: [text('see'), image] })).toEqual([text('see'), image]);
    expect(resultOf('t', { content: [image], structuredContent: { a: 1 } })).toEqual({
      structuredContent: { a: 1 },
      content: [image],
    });
    expect(resultOf('t', { content: [text('{"a":1}'), text('see'), image], structuredContent: { a: 1 } })).toEqual({
      structuredContent: { a: 1 },
      content: [text('see'), image],
    });
  });
  it('keeps what is not meant for a model from it', () => {
    const _meta = { 'example.com/secret': 1 };
    expect(resultOf('t', { content: [{ ...image, _meta }] })).toEqual([image]);
    const resource = { uri: 'file:///a', text: 'A' };
    expect(resultOf('t', { content: [{ type: 'resource', resource: { ...resource, _meta }, _meta }] })).toEqual([
      { type: 'resource', resource },
    ]);
  });
  it("is an error with the server's words, and all that it sent", () => {
    const failed = { isError: true, content: [text('no such file'), text('try another')] };
    expect(() => resultOf('read', failed)).toThrow(
      expect.objectContaining({
        name: 'McpToolError',
        code: 'mcp_tool',
        tool: 'read',
        message: 'no such file\ntry another',
        content: failed.content,
      }),
    );
  });
  it('is an error with the texts of embedded resources, which are words as well', () => {
    const content = [
      text('It failed:'),
      { type: 'resource' as const, resource: { uri: 'file:///log', text: 'disk full' } },
      { type: 'resource' as const, resource: { uri: 'file:///dump', blob: 'aGk=' } },
    ];
    expect(() => resultOf('read', { isError: true, content })).toThrow(
      expect.objectContaining({ message: 'It failed:\ndisk full', content }),
    );
  });
  it('is an error with the structured content, which its message tells unless a text does', () => {
    const structuredContent = { status: 429, retryAfter: 30 };
    const messageOf = (...content: readonly ReturnType<typeof text>[]) => {
      try {
        return resultOf('read', { isError: true, content: [...content], structuredContent });
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
  it('is an error also where the server has no words for it', () => {
    expect(() => resultOf('read', { isError: true, content: [] })).toThrow(
      'The tool "read" failed, and its MCP server does not say why.',
    );
    expect(() => resultOf('read', { isError: true, content: [image] })).toThrow(
      'does not say why in words. See content.',
    );
    expect(() => resultOf('read', { isError: true, content: [text(' ')] })).toThrow('does not say why in words');
    for (const structuredContent of [{}, null]) {
      expect(() => resultOf('read', { isError: true, content: [], structuredContent })).toThrow('does not say why.');
    }
  });
});
