import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, tap, toArray } from 'rxjs';
import { remoteAgent } from '../../../../lib/chat/remoteAgent.js';
import type { StreamEvent } from '../../../../lib/core/event.js';
import { isMessage, isResult, isText } from '../../../../lib/core/eventGuards.js';
import { hasToolResults, messageText, userMessage } from '../../../../lib/core/message.js';
import type { Message } from '../../../../lib/core/message.js';
import { runOptions } from '../../../support/runOptions.js';
import { createStage } from '../../../checks/durable/stage.js';

const isPrompt = (message: Message) => message.role === 'user' && !hasToolResults(message);

describe('a prompt to a durable run', () => {
  it('joins it once, in the turn in which it arrived, also if the worker is killed afterwards', async () => {
    const stage = await createStage({ delay: 40 });
    const id = crypto.randomUUID();
    const [first, second] = stage.fronts.members;
    const patch = () =>
      fetch(second?.name ?? '', {
        method: 'PATCH',
        headers: { 'content-type': 'application/json', 'x-run-id': id },
        body: JSON.stringify({ input: 'Also this.' }),
      });
    const statuses: unknown[] = [];
    const kills: unknown[] = [];
    const disturb = (event: StreamEvent) => {
      if (isText(event) && event.text.includes('Ask') && statuses.length === 0) {
        statuses.push(undefined);
        void patch().then(({ status }) => (statuses[0] = status));
      }
      if (isMessage(event) && isPrompt(event.message) && kills.length === 0) {
        kills.push(undefined);
        void stage.killExecutor().then(async (killed) => {
          kills[0] = killed !== undefined;
          await killed?.restarted;
        });
      }
    };
    const agent = remoteAgent(first?.name ?? '');
    const events = await lastValueFrom(agent.stream('word', runOptions(id)).pipe(tap(disturb), toArray()));
    const result = events.find(isResult)?.result;
    const messages = result?.messages ?? [];
    const prompts = messages.filter(isPrompt);
    const { rows } = await stage.pool.query<{ key: string }>("select key from noted where kind = 'charge'");
    await stage.close();
    expect(statuses).toEqual([204]);
    expect(kills).toEqual([true]);
    expect(result?.finishReason).toBe('waiting');
    expect(prompts).toEqual([userMessage('Also this.')]);
    expect(rows).toHaveLength(1);
    const before = messages.slice(0, messages.findIndex(isPrompt)).map((message) => messageText(message));
    expect(before).toEqual(expect.arrayContaining(['Two calls. ', 'Ask an agent. ']));
    expect(messages.filter(({ role }) => role === 'model').map((message) => messageText(message))).toEqual([
      'Two calls. ',
      'Ask an agent. ',
      'Now pay. ',
    ]);
  }, 60_000);
});
