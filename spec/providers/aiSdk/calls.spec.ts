import { describe, expect, it } from '@jest/globals';
import { acme, finish, messageOf, question, season, signed } from './acme.js';

describe('createCallDecoder', () => {
  it('createCallDecoder completes each call once, however its input arrives: in fragments, at once, as plain text, truncated', async () => {
    const { model } = acme([
      { type: 'tool-input-start', id: 'c1', toolName: 'season' },
      { type: 'tool-input-start', id: 'c2', toolName: 'season', inputEncoding: 'text' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"a":' },
      { type: 'tool-input-delta', id: 'c2', delta: 'free text' },
      { type: 'tool-input-delta', id: 'c1', delta: '1}' },
      { type: 'tool-input-end', id: 'c1' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: '{"a":1}', ...signed('x') },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'season', input: '{"text":"free text"}' },
      { type: 'tool-call', toolCallId: 'c3', toolName: 'season', input: '' },
      { type: 'tool-call', toolCallId: 'c4', toolName: 'season', input: '{"cut' },
      finish('tool-calls'),
    ]);
    const { parts } = await messageOf(model, { ...question, tools: [season] });
    expect(parts).toEqual([
      {
        type: 'toolCall',
        id: 'c1',
        name: 'season',
        arguments: { a: 1 },
        providerData: { 'acme.chat': { metadata: { acme: { signature: 'x' } } } },
      },
      { type: 'toolCall', id: 'c2', name: 'season', arguments: { text: 'free text' } },
      { type: 'toolCall', id: 'c3', name: 'season', arguments: {} },
      { type: 'toolCall', id: 'c4', name: 'season', arguments: { _raw: '{"cut', _error: 'invalid_json' } },
    ]);
  });
});
