import type { AgUiEvent } from '../../../lib/agUi.js';

/** What each event opens or closes: a kind of thing, and its id. */
const rules: Readonly<Record<string, readonly [does: 'open' | 'need' | 'close', kind: string, field: string]>> = {
  TEXT_MESSAGE_START: ['open', 'text', 'messageId'],
  TEXT_MESSAGE_CONTENT: ['need', 'text', 'messageId'],
  TEXT_MESSAGE_END: ['close', 'text', 'messageId'],
  REASONING_START: ['open', 'span', 'messageId'],
  REASONING_END: ['close', 'span', 'messageId'],
  REASONING_MESSAGE_START: ['open', 'reasoning', 'messageId'],
  REASONING_MESSAGE_CONTENT: ['need', 'reasoning', 'messageId'],
  REASONING_MESSAGE_END: ['close', 'reasoning', 'messageId'],
  TOOL_CALL_START: ['open', 'call', 'toolCallId'],
  TOOL_CALL_ARGS: ['need', 'call', 'toolCallId'],
  TOOL_CALL_END: ['close', 'call', 'toolCallId'],
};

/** The rules of AG-UI 1.0 for the order of events. Returns what breaks them; undefined if nothing does. */
export function sequenceProblem(events: readonly AgUiEvent[]): string | undefined {
  const open = new Set<string>();
  const unanswered = new Set<string>();
  for (const [index, event] of events.entries()) {
    const fail = (problem: string) => `${index}: ${JSON.stringify(event)}: ${problem}`;
    if ((index === 0) !== (event.type === 'RUN_STARTED')) return fail('a run starts once, first');
    if (/^RUN_(FINISHED|ERROR)$/.test(events[index - 1]?.type ?? '')) return fail('nothing follows the end');
    if (event.type === 'TOOL_CALL_START') unanswered.add(event.toolCallId);
    if (event.type === 'TOOL_CALL_RESULT') unanswered.delete(event.toolCallId);
    if (event.type === 'RUN_FINISHED') {
      if (open.size > 0) return fail(`still open: ${[...open].join()}`);
      const { outcome } = event;
      const waiting =
        outcome?.type === 'interrupt'
          ? outcome.interrupts.map(({ toolCallId }) => toolCallId)
          : outcome?.type === 'success'
            ? outcome.pendingToolCallIds
            : [];
      if (outcome?.type === 'interrupt' && events[index - 1]?.type !== 'MESSAGES_SNAPSHOT')
        return fail('an interrupt without a snapshot');
      const forgotten = [...unanswered].filter((id) => !waiting?.includes(id));
      if (forgotten.length > 0) return fail(`nobody answers ${forgotten.join()}`);
    }
    const [does, kind = '', field = ''] = rules[event.type] ?? [];
    const key = `${kind} ${String((event as unknown as Record<string, unknown>)[field])}`;
    if (does === 'open' && open.has(key)) return fail('it is open already');
    if ((does === 'need' || does === 'close') && !open.has(key)) return fail('it is not open');
    if (does === 'open') open.add(key);
    if (does === 'close') open.delete(key);
  }
  return undefined;
}
