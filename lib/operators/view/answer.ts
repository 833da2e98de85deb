import type { Message } from '../../core/message.js';
import type { ServerTool } from '../../core/metadata.js';
import { addMessage, appendMessage, endAnswer, replaceLast, withoutNotices } from './view.js';
import type { PartView, View, ViewStatus } from './view.js';

export type Answer = ReturnType<typeof createAnswer>;

/** The model's message that the run adds or continues. */
export function createAnswer(earlier: View) {
  const { error: _, finishReason: _reason, ...initial } = withoutNotices(earlier); // without the end of the last run
  let view: View = { ...initial, status: 'sending' };
  /** Before the run has a model message, the last message is the user's. */
  let hasMessage = initial.status === 'waiting' && initial.messages.at(-1)?.role === 'model';
  const message = () => (hasMessage ? view.messages.at(-1) : undefined);
  const parts = () => message()?.parts ?? [];
  let turnStart = parts().length;
  /** The state before the turn, in which a prompt may have joined: `retract` returns to it. */
  let before = { messages: initial.messages, hasMessage };

  function patch(fields: Partial<View>): void {
    view = { ...view, ...fields };
  }

  function setParts(changed: readonly PartView[], status: ViewStatus = view.status): void {
    const last = message();
    view = withoutNotices(view);
    view = last ? replaceLast(view, { ...last, parts: changed }) : appendMessage(view, 'model', changed);
    patch({ status });
    hasMessage = true;
  }

  const addPart = (part: PartView, status: ViewStatus = 'streaming'): void => setParts([...parts(), part], status);

  function replacePart(position: number, change: (part: PartView) => PartView, status?: ViewStatus): void {
    const changed = [...parts()];
    const part = changed[position];
    if (!part) return;
    changed[position] = change(part);
    setParts(changed, status);
  }

  /** A delta continues the last part, if that is of its type and of this turn. */
  function addDelta(type: 'text' | 'thinking', text: string): void {
    const last = parts().at(-1);
    const status = type === 'text' ? 'streaming' : 'thinking';
    const isContinued = last?.type === type && parts().length > turnStart;
    if (isContinued) replacePart(parts().length - 1, () => ({ type, text: last.text + text }), status);
    else addPart({ type, text }, status);
  }

  function addServerTool(tool: ServerTool): void {
    const position = parts().findLastIndex((part) => part.type === 'serverTool' && part.tool.id === tool.id);
    if (position < 0) addPart({ type: 'serverTool', tool });
    else
      replacePart(position, (part) =>
        part.type === 'serverTool' ? { ...part, tool: { ...part.tool, ...tool } } : part,
      );
  }

  function addPrompt(prompt: Message): void {
    view = addMessage(view, prompt);
    hasMessage = false;
    turnStart = 0;
  }

  function startTurn(): void {
    turnStart = parts().length;
    before = { messages: view.messages, hasMessage };
  }

  function retractTurn(): void {
    if (view.messages === before.messages) return;
    view = { ...withoutNotices(view), messages: before.messages, status: 'sending' };
    ({ hasMessage } = before);
    turnStart = parts().length;
  }

  function end(fields: Partial<View>, ended?: 'stopped' | 'failed'): void {
    if (hasMessage && ended) view = endAnswer(view, ended);
    view = { ...withoutNotices(view), ...fields };
  }

  return {
    view: () => view,
    change: (map: (view: View) => View) => void (view = map(view)),
    ...{ patch, parts, setParts, addPart, replacePart, addDelta, addServerTool, addPrompt },
    ...{ startTurn, retractTurn, end },
  };
}
