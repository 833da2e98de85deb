import { describe, expect, it } from '@jest/globals';
import { uiChatHandler } from '../../../lib/service/uiChat/index.js';
import type { UiMessage, UiMessageChunk } from '../../../lib/service/uiChat/index.js';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import type { RunStore } from '../../../lib/service/ports/runStore.js';
import { nestedAgents, removes } from '../../support/nestedAgents.js';
import { readUiMessage } from './readUiMessage.js';

const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };

/** Posts the messages of a chat to another process, and returns its answer. */
async function post(store: RunStore, messages: readonly unknown[], before?: UiMessage) {
  const response = await uiChatHandler(nestedAgents([removes]), { store })(
    new Request('http://localhost/api/chat', {
      method: 'POST',
      body: JSON.stringify({ id: 'chat', messages, trigger: 'submit-message' }),
      headers: { 'content-type': 'application/json' },
    }),
  );
  const lines = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: {'));
  return readUiMessage(
    lines.map((line) => JSON.parse(line.slice(6)) as UiMessageChunk),
    before,
  );
}

const callsIn = ({ parts }: { readonly parts: readonly object[] }) => parts.filter((part) => 'toolCallId' in part);

describe('the sub-agents of a chat of `useChat`', () => {
  it('ask for an approval, and go on in another process', async () => {
    const store = memoryStore();
    const first = await post(store, [user]);
    expect(callsIn(first)).toMatchObject([
      {
        type: 'tool-ask',
        toolCallId: 'a',
        state: 'output-available',
        output: { status: 'waiting', messages: [{ parts: [{ text: 'I ask. ' }, { id: 'a/a', status: 'waiting' }] }] },
      },
      { type: 'tool-remove', toolCallId: 'a/a/a', state: 'approval-requested', input: { path: '/a' } },
    ]);
    const answered = {
      ...first,
      parts: first.parts.map((part) =>
        'approval' in part ? { ...part, state: 'approval-responded', approval: { id: 'a/a/a', approved: true } } : part,
      ),
    } as UiMessage;
    const last = await post(store, [user, answered], answered);
    expect(callsIn(last)).toMatchObject([
      { toolCallId: 'a', state: 'output-available', output: 'It says so.' },
      { toolCallId: 'a/a/a', state: 'output-available', output: 'removed /a' },
    ]);
    expect(last.parts.at(-1)).toMatchObject({ type: 'text', text: 'All done.' });
  });
});
