import { describe, expect, it } from '@jest/globals';
import type { StreamEvent } from '../../../lib/core/event.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { PromptInbox } from '../../../lib/service/runs/promptInbox.js';
import { observe } from '../../support/observe.js';

const prompt = (inbox: PromptInbox, position: string, ...input: readonly Message[]) =>
  inbox.add({ position, message: { type: 'prompt', input } });
const turn = { type: 'turn' } as StreamEvent;

describe('PromptInbox', () => {
  it.each<readonly [string, (inbox: PromptInbox, input: readonly Message[]) => void, string]>([
    ['no prompt that waits', (inbox) => inbox.note(turn), '4'],
    ['a prompt that has joined before the end of its turn', (inbox, [a]) => inbox.note(joined(a)), '4'],
    [
      'both prompts that have joined',
      (inbox, [a, b]) => [joined(a), joined(b), turn].forEach((e) => inbox.note(e)),
      '6',
    ],
    ['the first prompt, while the second waits', (inbox, [a]) => [joined(a), turn].forEach((e) => inbox.note(e)), '5'],
    [
      'a cancelled call after prompts that have joined',
      (inbox, [a, b]) => {
        inbox.add({ position: '7', message: { type: 'cancel', id: 'c' } });
        [joined(a), joined(b), turn].forEach((e) => inbox.note(e));
      },
      '7',
    ],
  ])('has taken %s', (_, happens, taken) => {
    const inbox = new PromptInbox('4');
    const input = [userMessage('a'), userMessage('b')];
    input.forEach((message, index) => prompt(inbox, String(index + 5), message));
    happens(inbox, input);
    expect(inbox.taken).toBe(taken);
  });

  it('gives a late subscriber all prompts, and counts their bytes', () => {
    const inbox = new PromptInbox();
    const input = [userMessage('a'), userMessage('b')];
    prompt(inbox, '1', ...input);
    expect(observe(inbox.prompts).values).toEqual(input);
    expect(inbox.bytes).toBe(JSON.stringify(input).length);
  });
});

const joined = (message: Message | undefined) => ({ type: 'message', message }) as StreamEvent;
