import { describe, expect, it } from '@jest/globals';
import {
  base64,
  filePart,
  hasToolResults,
  messageText,
  modelMessage,
  systemMessage,
  toolCallsOf,
  userMessage,
} from '../../lib/core/message.js';

describe('messages', () => {
  it('messages are created from a text or from parts', () => {
    expect(userMessage('Hi')).toEqual({ role: 'user', parts: [{ type: 'text', text: 'Hi' }] });
    expect(systemMessage('Be brief.').role).toBe('system');
    expect(modelMessage([]).parts).toEqual([]);
  });

  it('messageText, toolCallsOf and hasToolResults read a message', () => {
    const call = { type: 'toolCall', id: '1', name: 'f', arguments: {} } as const;
    const message = modelMessage([{ type: 'text', text: 'a' }, call, { type: 'text', text: 'b' }]);
    expect(messageText(message)).toBe('ab');
    expect(toolCallsOf(message)).toEqual([call]);
    expect(hasToolResults(message)).toBe(false);
    expect(hasToolResults(userMessage([{ type: 'toolResult', id: '1', name: 'f', result: null }]))).toBe(true);
    expect(hasToolResults(undefined)).toBe(false);
  });
});

describe('filePart', () => {
  it('filePart encodes bytes and passes URLs on', () => {
    expect(filePart(new Uint8Array([0, 255]), 'image/png', 'a.png')).toEqual({
      type: 'file',
      mediaType: 'image/png',
      data: 'AP8=',
      name: 'a.png',
    });
    expect(filePart(new URL('https://example.org/a.pdf'), 'application/pdf')).toEqual({
      type: 'file',
      mediaType: 'application/pdf',
      url: 'https://example.org/a.pdf',
    });
  });

  it.each([
    ['a file', new File([new Uint8Array([0, 255])], 'a.png', { type: 'image/png' }), 'image/png', { name: 'a.png' }],
    ['a file of an unknown type', new File(['\0\xff'], 'a'), 'application/octet-stream', { name: 'a' }],
    ['content without a name', new Blob([new Uint8Array([0, 255])], { type: 'image/png' }), 'image/png', {}],
  ])('filePart reads %s of a page', async (_, content, mediaType, name) => {
    const data = btoa(String.fromCharCode(...new Uint8Array(await content.arrayBuffer())));
    expect(await filePart(content)).toEqual({ type: 'file', mediaType, data, ...name });
  });

  it('filePart encodes a megabyte as Buffer does', () => {
    const bytes = Uint8Array.from({ length: 1_000_001 }, (_, at) => at % 256);
    expect(base64(bytes) === Buffer.from(bytes).toString('base64')).toBe(true);
  });
});
