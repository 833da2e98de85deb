import { describe, expect, it } from '@jest/globals';
import { fromAgUiMessages, toAgUiMessages } from '../../../lib/agUi.js';
import type { AgUiMessage } from '../../../lib/agUi.js';
import { repairHistory } from '../../../lib/core/history.js';
import { filePart, modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';

const image = filePart(new Uint8Array([1, 2, 3]), 'image/png');
const call = (id: string, args = '{}') => ({
  id,
  type: 'function' as const,
  function: { name: 'add', arguments: args },
});

describe('toAgUiMessages and fromAgUiMessages', () => {
  it('fromAgUiMessages restores what toAgUiMessages has converted', () => {
    const history: readonly Message[] = [
      systemMessage('Be brief.'),
      userMessage([{ type: 'text', text: 'What is this?' }, image]),
      modelMessage([
        { type: 'text', text: 'Let me see.' },
        { type: 'toolCall', id: 'c1', name: 'look', arguments: { x: 1 } },
        { type: 'toolCall', id: 'c2', name: 'look', arguments: { _raw: '{"x":', _error: 'invalid_json' } },
        { type: 'toolCall', id: 'c3', name: 'look', arguments: {} },
      ]),
      userMessage([
        { type: 'toolResult', id: 'c1', name: 'look', result: { found: ['a', 1, null] } },
        { type: 'toolResult', id: 'c2', name: 'look', error: 'The arguments are not JSON.' },
        { type: 'toolResult', id: 'c3', name: 'look', result: 'nothing' },
      ]),
      modelMessage('A picture.'),
    ];
    const messages = toAgUiMessages(history, (index) => `m${index}`);
    expect(messages.map(({ id, role }) => `${id} ${role}`)).toEqual([
      'm0 system',
      'm1 user',
      'm2 assistant',
      'm3 tool',
      'm4 tool',
      'm5 tool',
      'm6 assistant',
    ]);
    expect(fromAgUiMessages(JSON.parse(JSON.stringify(messages)) as AgUiMessage[])).toEqual(history);
  });

  it('fromAgUiMessages puts results after their calls, wherever the client has them', () => {
    const messages: AgUiMessage[] = [
      { id: '1', role: 'assistant', toolCalls: [call('c1'), call('c2')] },
      { id: '2', role: 'user', content: 'Wait.' },
      { id: '3', role: 'assistant', content: 'Yes?' },
      { id: '4', role: 'tool', toolCallId: 'c2', content: 'two' },
      { id: '5', role: 'tool', toolCallId: 'c1', content: 'one' },
      { id: '6', role: 'tool', toolCallId: 'c1', content: 'one again' },
      { id: '7', role: 'tool', toolCallId: 'of nothing', content: 'lost' },
    ];
    const history = fromAgUiMessages(messages);
    expect(history[1]).toEqual(
      userMessage([
        { type: 'toolResult', id: 'c1', name: 'add', result: 'one' },
        { type: 'toolResult', id: 'c2', name: 'add', result: 'two' },
      ]),
    );
    expect(() => repairHistory(history)).not.toThrow();
  });

  it('fromAgUiMessages ignores reasoning, activities and roles that it does not know', () => {
    const messages = [
      { id: '1', role: 'reasoning', content: 'Hm.' },
      { id: '2', role: 'activity', activityType: 'PLAN', content: {} },
      { id: '3', role: 'later', content: 'x' },
      { id: '4', role: 'assistant', content: '' },
    ] as AgUiMessage[];
    expect(fromAgUiMessages(messages)).toEqual([]);
  });

  it('fromAgUiMessages keeps files by their data or URL, and names those that only the client can read', () => {
    const source = (type: string, value: string, mimeType?: string) => ({ type, value, mimeType });
    const messages = [
      {
        id: '1',
        role: 'user',
        content: [
          { type: 'document', source: source('url', 'https://example.com/a.pdf') },
          { type: 'audio', source: source('data', 'AQID', 'audio/wav') },
          { type: 'image', source: source('file', 'file-1') },
        ],
      },
    ] as AgUiMessage[];
    expect(fromAgUiMessages(messages)[0]?.parts).toEqual([
      { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
      { type: 'file', mediaType: 'audio/wav', data: 'AQID' },
      { type: 'text', text: '[image: file-1]' },
    ]);
  });

  it('fromAgUiMessages recognizes a failure by the error, or by the metadata of its event', () => {
    const messages: AgUiMessage[] = [
      { id: '1', role: 'assistant', toolCalls: [call('c1'), call('c2'), call('c3', '[1]')] },
      { id: '2', role: 'tool', toolCallId: 'c1', content: '', error: 'Too late.' },
      { id: '3', role: 'tool', toolCallId: 'c2', content: 'No.', metadata: { rivulet: { failed: true } } },
    ];
    const [called, answered] = fromAgUiMessages(messages);
    expect(answered?.parts.map((part) => part.type === 'toolResult' && part.error)).toEqual(['Too late.', 'No.']);
    expect(called?.parts[2]).toMatchObject({ arguments: { _raw: '[1]', _error: 'invalid_json' } });
  });
});
