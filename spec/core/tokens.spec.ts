import { describe, expect, it } from '@jest/globals';
import { filePart, modelMessage, systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { estimateTokens } from '../../lib/core/tokens.js';

describe('estimateTokens', () => {
  it.each<[string, readonly Message[], number]>([
    ['nothing', [], 0],
    ['texts', [systemMessage('1234'), userMessage('12345678')], 3],
    ['a part of a token', [userMessage('1'), userMessage('1')], 1],
    ['a call', [modelMessage([{ type: 'toolCall', id: 'id', name: 'look', arguments: { at: 'cat' } }])], 4],
    ['a result', [userMessage([{ type: 'toolResult', id: 'id', name: 'look', result: ['cat'] }])], 2],
    ['an error', [userMessage([{ type: 'toolResult', id: 'id', name: 'look', error: '12345678' }])], 2],
    ['a source', [modelMessage([{ type: 'source', text: '12345678', url: 'https://example.org' }])], 2],
    ['a file', [userMessage([filePart(new Uint8Array(100_000), 'image/png')])], 1000],
  ])('estimateTokens counts %s', (_, messages, tokens) => expect(estimateTokens(messages)).toBe(tokens));
});
