import { isRecord } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { ServerTool } from '../../core/metadata.js';
import { listOf, messageOf, PartList, type MessageFields } from './partList.js';
import { addParts, endAnswer, isReceiving, partsOf, replaceLast, withoutNotices } from './view.js';
import type { PartView, View, ViewStatus } from './view.js';

export type Answer = ReturnType<typeof createAnswer>;

/** A prefix for the ids of the provider's tools, which may equal those of calls. */
const SERVER = '\n';

class AnswerParts {
  /** By the ids of calls. With searches, 3,000 calls took 15 times as long. */
  private readonly positions = new Map<string, number>();

  constructor(public list: PartList) {
    this.notePositions(0);
  }

  /** Where a call was last: another part may be there. */
  positionOf(id: string): number {
    return this.positions.get(id) ?? -1;
  }

  set(part: PartView, position: number): void {
    this.list = this.list.with(part, position);
    this.notePositions(position, position + 1);
  }

  removeReceiving(from: number): void {
    this.list = this.list.filter(from, (part) => !isReceiving(part));
    this.notePositions(from);
  }

  /** Returns to an earlier list. */
  restore(list: PartList): void {
    this.list = list;
    this.notePositions(0);
  }

  private notePositions(from: number, to = this.list.length): void {
    for (let position = from; position < to; position++) {
      const part = this.list.at(position);
      if (part?.type === 'toolCall') this.positions.set(part.id, position);
      if (part?.type === 'serverTool') this.positions.set(SERVER + part.tool.id, position);
    }
  }
}

/** The model's message that the run adds or continues. */
export function createAnswer(earlier: View) {
  const { error: _, finishReason: _reason, ...initial } = withoutNotices(earlier); // without the end of the last run
  let view: View = { ...initial, status: 'sending' };
  const last = initial.status === 'waiting' ? initial.messages.at(-1) : undefined;
  /** Undefined before the run has a model message: the last message is the user's. */
  let message: MessageFields | undefined = last?.role === 'model' ? last : undefined;
  const parts = new AnswerParts(last && message ? listOf(last) : new PartList());
  let turnStart = parts.list.length;
  /** The state before the turn, in which a prompt may have joined: `retract` returns to it. */
  let before = { messages: initial.messages, message, list: parts.list };

  function patch(fields: Partial<View>): void {
    view = { ...view, ...fields };
  }

  function change(map: (view: View) => View): void {
    const end = view.messages.at(-1);
    view = map(view);
    const changed = view.messages.at(-1);
    if (message && changed && changed !== end) parts.list = listOf(changed);
  }

  function show(status: ViewStatus = view.status): void {
    view = withoutNotices(view);
    if (message) view = replaceLast(view, messageOf(message, parts.list));
    else {
      message = { id: String(view.messages.length + 1), role: 'model' };
      view = { ...view, messages: [...view.messages, messageOf(message, parts.list)] };
    }
    patch({ status });
  }

  function setPart(position: number, part: PartView, status?: ViewStatus): void {
    parts.set(part, position);
    show(status);
  }

  const addPart = (part: PartView, status: ViewStatus = 'streaming'): void => setPart(parts.list.length, part, status);

  function removeReceiving(from: number): void {
    parts.removeReceiving(from);
    show();
  }

  /** A delta continues the last part, if that is of its type and of this turn. */
  function addDelta(type: 'text' | 'thinking', text: string): void {
    const end = parts.list.at(parts.list.length - 1);
    const status = type === 'text' ? 'streaming' : 'thinking';
    const isContinued = end?.type === type && parts.list.length > turnStart;
    if (isContinued) setPart(parts.list.length - 1, { type, text: end.text + text }, status);
    else addPart({ type, text }, status);
  }

  function addPrompt(prompt: Message): void {
    if (prompt.role === 'system') return;
    view = addParts(view, prompt.role, partsOf(prompt));
    message = undefined;
    parts.list = new PartList();
    turnStart = 0;
  }

  function startTurn(): void {
    turnStart = parts.list.length;
    before = { messages: view.messages, message, list: parts.list };
  }

  function retractTurn(): void {
    if (view.messages === before.messages) return;
    view = { ...withoutNotices(view), messages: before.messages, status: 'sending' };
    message = before.message;
    parts.restore(before.list);
    turnStart = parts.list.length;
  }

  function end(fields: Partial<View>, ended?: 'stopped' | 'failed'): void {
    if (message && ended) view = endAnswer(view, ended);
    view = { ...withoutNotices(view), ...fields };
  }

  return {
    view: () => view,
    ...{ parts, change, patch, addPart, setPart, removeReceiving, addDelta, addPrompt },
    ...{ startTurn, retractTurn, end },
  };
}

export function addServerTools({ parts, addPart, setPart }: Answer, tools: readonly unknown[]): void {
  for (const tool of tools.filter(isRecord) as unknown as readonly ServerTool[]) {
    const position = parts.positionOf(SERVER + tool.id);
    const known = parts.list.at(position);
    if (known?.type === 'serverTool' && known.tool.id === tool.id)
      setPart(position, { ...known, tool: { ...known.tool, ...tool } });
    else addPart({ type: 'serverTool', tool });
  }
}
