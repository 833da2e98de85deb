import { NEVER } from 'rxjs';
import type { ConversationRunOptions } from '../../lib/chat/conversationAgent.js';

/** The options of a run that continues nothing, and that nobody stops. */
export const runOptions = (id: string) =>
  ({
    id,
    earlier: [],
    history: [],
    stop: NEVER,
    cancel: NEVER,
    fragments: true,
    context: undefined,
  }) satisfies ConversationRunOptions & { readonly history: readonly unknown[] };
