import type { Message } from '../../core/message.js';
import type { ServerTool } from '../../core/metadata.js';
import { listOf, messageOf, PartList, type MessageFields } from './partList.js';
import { addParts, endAnswer, isReceiving, partsOf, replaceLast, withoutNotices } from './view.js';
import type { PartView, View, ViewStatus } from './view.js';

export type Answer = ReturnType<typeof createAnswer>;

/** Before the ids of tools of the provider, which may be those of calls. */
const SERVER = '\n';

/** The model's message that the run adds or continues. */
export function createAnswer(earlier: View) {
  const { error: _, finishReason: _reason, ...initial } = withoutNotices(earlier); // without the end of the last run
  let view: View = { ...initial, status: 'sending' };
  const last = initial.status === 'waiting' ? initial.messages.at(-1) : undefined;
  /** Undefined before the run has a model message: the last message is the user's. */
  let message: MessageFields | undefined = last?.role === 'model' ? last : undefined;
  let parts = last && message ? listOf(last) : new PartList();
  const length = (): number => parts.length;
  const partAt = (position: number): PartView | undefined => parts.at(position);
  /** By the ids of calls. With searches, 3,000 calls took 15 times as long. */
  const positions = new Map<string, number>();
  notePositions(0);
  let turnStart = length();
  /** The state before the turn, in which a prompt may have joined: `retract` returns to it. */
  let before = { messages: initial.messages, message, parts };

  function notePositions(from: number, to = length()): void {
    for (let position = from; position < to; position++) {
      const part = partAt(position);
      if (part?.type === 'toolCall') positions.set(part.id, position);
      if (part?.type === 'serverTool') positions.set(SERVER + part.tool.id, position);
    }
  }

  /** Where a call was last: another part may be there. */
  const positionOf = (id: string): number => positions.get(id) ?? -1;

  function patch(fields: Partial<View>): void {
    view = { ...view, ...fields };
  }

  function change(map: (view: View) => View): void {
    const end = view.messages.at(-1);
    view = map(view);
    const changed = view.messages.at(-1);
    if (message && changed && changed !== end) parts = listOf(changed);
  }

  function show(status: ViewStatus = view.status): void {
    view = withoutNotices(view);
    if (message) view = replaceLast(view, messageOf(message, parts));
    else {
      message = { id: String(view.messages.length + 1), role: 'model' };
      view = { ...view, messages: [...view.messages, messageOf(message, parts)] };
    }
    patch({ status });
  }

  function setPart(position: number, part: PartView, status?: ViewStatus): void {
    parts = parts.with(part, position);
    notePositions(position, position + 1);
    show(status);
  }

  const addPart = (part: PartView, status: ViewStatus = 'streaming'): void => setPart(length(), part, status);

  function removeReceiving(from: number): void {
    parts = parts.filter(from, (part) => !isReceiving(part));
    notePositions(from);
    show();
  }

  /** A delta continues the last part, if that is of its type and of this turn. */
  function addDelta(type: 'text' | 'thinking', text: string): void {
    const end = partAt(length() - 1);
    const status = type === 'text' ? 'streaming' : 'thinking';
    const isContinued = end?.type === type && length() > turnStart;
    if (isContinued) setPart(length() - 1, { type, text: end.text + text }, status);
    else addPart({ type, text }, status);
  }

  function addServerTool(tool: ServerTool): void {
    const position = positionOf(SERVER + tool.id);
    const known = partAt(position);
    if (known?.type === 'serverTool' && known.tool.id === tool.id)
      setPart(position, { ...known, tool: { ...known.tool, ...tool } });
    else addPart({ type: 'serverTool', tool });
  }

  function addPrompt(prompt: Message): void {
    if (prompt.role === 'system') return;
    view = addParts(view, prompt.role, partsOf(prompt));
    message = undefined;
    parts = new PartList();
    turnStart = 0;
  }

  function startTurn(): void {
    turnStart = length();
    before = { messages: view.messages, message, parts };
  }

  function retractTurn(): void {
    if (view.messages === before.messages) return;
    view = { ...withoutNotices(view), messages: before.messages, status: 'sending' };
    ({ message, parts } = before);
    turnStart = length();
  }

  function end(fields: Partial<View>, ended?: 'stopped' | 'failed'): void {
    if (message && ended) view = endAnswer(view, ended);
    view = { ...withoutNotices(view), ...fields };
  }

  return {
    view: () => view,
    ...{
      change,
      length,
      partAt,
      patch,
      positionOf,
      addPart,
      setPart,
      removeReceiving,
      addDelta,
      addServerTool,
      addPrompt,
    },
    ...{ startTurn, retractTurn, end },
  };
}
