import { isObservable, NEVER } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Input } from '../core/input.js';
import type { ConversationAgent } from './conversationAgent.js';
import { ConversationRunner } from './conversationRunner.js';
import type { Conversation, ConversationOptions } from './conversationTypes.js';

/**
 * Holds a conversation with an agent: the prompts, the answers, and the versions of both.
 *
 * <span class="informal">Everything a chat does between the text field and the agent.</span>
 *
 * Each prompt is an exchange, whose run knows the exchanges before it: what was shown is what the model knows, also of
 * a run that was stopped or failed. `regenerate` and `edit` add a version beside an exchange and show it; nothing is
 * lost, and `select` shows the other one. A failed run does not end the conversation: its view has the error.
 *
 * With `remoteAgent`, the runs are executed by a server, and survive a reload of the page.
 *
 * ```ts
 * const chat = conversation(remoteAgent('/api/chat'));
 * chat.view$.subscribe(({ status, exchanges }) => render(status, exchanges));
 * chat.send('How warm is it in Oslo?');
 * ```
 *
 * @param agent What `createAgent` or `remoteAgent` returns.
 * @param prompts$ The user's prompts. Default: none, use `send`.
 * @param options `whenBusy` (default: `queue`), `saved` (default: a new conversation), `tools` that are executed here
 * (default: none), `context` for a local agent.
 * @returns The conversation.
 */
export function conversation(
  agent: ConversationAgent,
  prompts$: Observable<Input>,
  options?: ConversationOptions,
): Conversation;
export function conversation(agent: ConversationAgent, options?: ConversationOptions): Conversation;
export function conversation(
  agent: ConversationAgent,
  prompts$: Observable<Input> | ConversationOptions = NEVER,
  options: ConversationOptions = {},
): Conversation {
  return isObservable(prompts$)
    ? new ConversationRunner(agent, prompts$, options)
    : new ConversationRunner(agent, NEVER, prompts$);
}
