import type { Message } from '../../core/message.js';
import type { ServerTool } from '../../core/metadata.js';
import { listOf, messageOf, PartList, type MessageFields } from './partList.js';
import { addParts, endAnswer, partsOf, replaceLast, withoutNotices } from './view.js';
import type { PartView, View, ViewStatus } from './view.js';

export type Answer = ReturnType<typeof createAnswer>;

/** The model's message that the run adds or continues. */
export function createAnswer(earlier: View) {
  const { error: _, finishReason: _reason, ...initial } = withoutNotices(earlier); // without the end of the last run
  let view: View = { ...initial, status: 'sending' };
  const last = initial.status === 'waiting' ? initial.messages.at(-1) : undefined;
  /** Undefined before the run has a model message: the last message is the user's. */
  let message: MessageFields | undefined = last?.role === 'model' ? last : undefined;
  let parts = last && message ? listOf(last) : new PartList();
  let turnStart = parts.length;
  /** The state before the turn, in which a prompt may have joined: `retract` returns to it. */
  let before = { messages: initial.messages, message, parts };
  /** Where the parts with an id are. With searches, 3,000 calls took 15 times as long. */
  const positions = new Map<string, number>();
  notePositions(0);

  function notePositions(from: number): void {
    for (let position = from; position < parts.length; position++) notePosition(position, parts.at(position));
  }

  function notePosition(position: number, part: PartView | undefined): void {
    const key = keyOf(part);
    if (key !== undefined) positions.set(key, position);
  }

  function positionOf(type: 'toolCall' | 'serverTool', id: string): number | undefined {
    const position = positions.get(type + id);
    return position !== undefined && keyOf(parts.at(position)) === type + id ? position : undefined;
  }

  function patch(fields: Partial<View>): void {
    view = { ...view, ...fields };
  }

  function change(map: (view: View) => View): void {
    const end = view.messages.at(-1);
    view = map(view);
    const changed = view.messages.at(-1);
    if (message && changed && changed !== end) parts = listOf(changed);
  }

  function setParts(changed: PartList, status: ViewStatus = view.status): void {
    parts = changed;
    view = withoutNotices(view);
    if (message) view = replaceLast(view, messageOf(message, parts));
    else {
      message = { id: String(view.messages.length + 1), role: 'model' };
      view = { ...view, messages: [...view.messages, messageOf(message, parts)] };
    }
    patch({ status });
  }

  function addPart(part: PartView, status: ViewStatus = 'streaming'): void {
    setPart(parts.length, part, status);
  }

  function setPart(position: number, part: PartView, status?: ViewStatus): void {
    setParts(parts.with(position, part), status);
    notePosition(position, part);
  }

  /** Removes the parts of the turn to which this applies. */
  function removeParts(from: number, isRemoved: (part: PartView) => boolean): void {
    let left = parts.take(from);
    for (let position = from; position < parts.length; position++) {
      const part = parts.at(position);
      if (part && !isRemoved(part)) left = left.with(left.length, part);
    }
    setParts(left);
    notePositions(from);
  }

  /** A delta continues the last part, if that is of its type and of this turn. */
  function addDelta(type: 'text' | 'thinking', text: string): void {
    const end = parts.at(parts.length - 1);
    const status = type === 'text' ? 'streaming' : 'thinking';
    const isContinued = end?.type === type && parts.length > turnStart;
    if (isContinued) setPart(parts.length - 1, { type, text: end.text + text }, status);
    else addPart({ type, text }, status);
  }

  function addServerTool(tool: ServerTool): void {
    const position = positionOf('serverTool', tool.id) ?? parts.length;
    const known = parts.at(position);
    if (known?.type === 'serverTool') setPart(position, { ...known, tool: { ...known.tool, ...tool } });
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
    turnStart = parts.length;
    before = { messages: view.messages, message, parts };
  }

  function retractTurn(): void {
    if (view.messages === before.messages) return;
    view = { ...withoutNotices(view), messages: before.messages, status: 'sending' };
    ({ message, parts } = before);
    turnStart = parts.length;
  }

  function end(fields: Partial<View>, ended?: 'stopped' | 'failed'): void {
    if (message && ended) view = endAnswer(view, ended);
    view = { ...withoutNotices(view), ...fields };
  }

  return {
    view: () => view,
    change,
    length: () => parts.length,
    partAt: (position: number | undefined) => (position === undefined ? undefined : parts.at(position)),
    ...{ patch, positionOf, addPart, setPart, removeParts, addDelta, addServerTool, addPrompt },
    ...{ startTurn, retractTurn, end },
  };
}

function keyOf(part: PartView | undefined): string | undefined {
  if (part?.type === 'toolCall') return part.type + part.id;
  return part?.type === 'serverTool' ? part.type + part.tool.id : undefined;
}
