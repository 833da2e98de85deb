import { describe, expect, it } from '@jest/globals';
import { EMPTY, map } from 'rxjs';
import { createAgent } from '../../lib/agent.js';
import { messageText } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { conversation } from '../../lib/ui/conversation.js';
import type { ConversationAgent } from '../../lib/ui/conversationAgent.js';
import { observe } from '../support/observe.js';

const ask = tool({ name: 'ask', description: 'Asks the user.', parameters: { type: 'object', properties: {} } });

/** A conversation whose runs can be joined, as those of a server, and what is saved whenever a view is emitted. */
function start() {
  const script = [['Let me ask. ', toolCall('ask', {}, 'c1')], ['It ', 'is ', 'blue.'], 'Bye'];
  const agent = createAgent({ model: scriptedModel(script), tools: [ask] });
  const remote: ConversationAgent = {
    stream: (input, options) => agent.stream(input, options),
    resume: (checkpoint, options) => (checkpoint ? agent.resume(checkpoint, options) : EMPTY),
    join: () => EMPTY,
  };
  const chat = conversation(remote);
  const saves = observe(chat.view$.pipe(map(({ status }) => ({ status, saved: chat.save() })))).values;
  return { chat, saves };
}

describe('conversation: what is saved', () => {
  it('save, called for each view, changes only when a run is sent, begins, waits and ends', () => {
    const { chat, saves } = start();
    chat.send('Which colour?');
    chat.answer('c1', 'blue');
    const distinct = saves.filter(({ saved }, at) => JSON.stringify(saved) !== JSON.stringify(saves[at - 1]?.saved));
    expect(distinct.map(({ status }) => status)).toEqual([
      'idle',
      'sending',
      'streaming',
      'waiting',
      'waiting',
      'sending',
      'sending',
      'idle',
    ]);
  });

  it('a run that was saved when it was sent is sent again with its id, and one that has begun is joined', () => {
    const { chat, saves } = start();
    chat.send('Which colour?');
    const savedAt = (at: string) => saves.find(({ status }) => status === at)?.saved;
    for (const [status, expected] of [
      ['sending', 'sent'],
      ['streaming', 'joined'],
    ] as const) {
      const seen: string[] = [];
      const agent: ConversationAgent = {
        stream: (_, { id }) => (seen.push('sent', id), EMPTY),
        resume: () => EMPTY,
        join: (id) => (seen.push('joined', id), EMPTY),
      };
      const later = conversation(agent, { saved: savedAt(status) });
      expect(later.view.status).toBe('sending');
      observe(later.view$);
      expect(seen).toEqual([expected, savedAt(status)?.exchanges[0]?.run]);
    }
  });

  it('the answer is saved when the last view is emitted', () => {
    const { chat, saves } = start();
    chat.send('Which colour?');
    chat.answer('c1', 'blue');
    const [exchange] = saves.at(-1)?.saved.exchanges ?? [];
    expect(exchange?.base).toBeUndefined();
    expect(exchange?.messages.map(messageText)).toEqual(['Let me ask. ', '', 'It is blue.']);
  });
});
