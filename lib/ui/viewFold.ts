import type { FinishReason, ToolCallFragment } from '../core/chunk.js';
import { RivuletError, errorText } from '../core/errors.js';
import type { RunResult, StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { asArray, isJsonObject, objectOrEmpty } from '../core/json/json.js';
import { createPartialJson } from '../core/json/partialJson.js';
import type { PartialJson } from '../core/json/partialJson.js';
import { hasToolResults } from '../core/message.js';
import type { Message } from '../core/message.js';
import type { ServerTool } from '../core/metadata.js';
import { addUsage } from '../core/usage.js';
import { addMessage, answeredCall, appendMessage, replaceLast, toolCallView, withDelta, withoutRetry } from './view.js';
import type { MessageView, PartView, ToolCallView, View, ViewStatus } from './view.js';

/** The fold: the view, and where the parts of the current turn are. */
export class ViewFold {
  view: View;
  /** The number of parts of the model's message before the current turn: `retract` returns to it. */
  private turnStart = 0;
  /** Where the calls and server tools of the run are in the model's message, by id. */
  private positions = new Map<string, number>();
  /** The calls whose arguments arrive, by their index in the turn. */
  private growing = new Map<number | string, { readonly position: number; readonly json: PartialJson }>();
  /** The ids of the calls that run or wait; a running call is the more important status. */
  private readonly activeCalls = new Map([
    ['running', new Set<string>()],
    ['waiting', new Set<string>()],
  ]);
  /** Whether the run has a model message; before that, the last message is the user's. */
  private hasAnswer = false;
  /** Whether a prompt has joined the run. */
  private isPrompted = false;

  constructor(initial: View) {
    const { error: _, retry: __, finishReason: ___, ...kept } = initial;
    this.view = { ...kept, status: 'sending' };
    if (initial.status === 'waiting' && initial.messages.at(-1)?.role === 'model') this.resume();
  }

  add(event: StreamEvent): void {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
      case 'thinking':
        this.addDelta(known.type, known.text);
        break;
      case 'toolCallFragment':
        this.addFragment(known);
        break;
      case 'toolCall':
        this.addCall(toolCallView(known));
        break;
      case 'toolWaiting':
        this.changeCall(known.id, (call) => ({ ...call, status: 'waiting' }));
        break;
      case 'toolStart':
        this.changeCall(known.id, (call) => ({ ...call, status: 'running' }));
        break;
      case 'toolProgress':
        this.changeCall(known.id, (call) => ({ ...call, progress: known.value }));
        break;
      case 'toolResult':
        this.changeCall(known.id, (call) => answeredCall(call, known));
        break;
      case 'file':
        this.addPart(known.file);
        break;
      case 'source':
        this.addPart(known.source);
        break;
      case 'metadata':
        for (const tool of asArray(objectOrEmpty(known.metadata)['serverTools']) as readonly ServerTool[])
          this.addServerTool(tool);
        break;
      case 'message':
        if (known.message.role === 'user' && !hasToolResults(known.message)) this.addPrompt(known.message);
        break;
      case 'retry':
        this.view = { ...this.view, retry: { attempt: known.attempt, delay: known.delay, error: known.error } };
        break;
      case 'retract':
        this.retract();
        break;
      case 'turn':
        this.view = { ...this.view, usage: addUsage(this.view.usage, known.usage) };
        if (known.finishReason === 'toolCalls' || known.finishReason === 'paused')
          this.view = { ...this.view, status: 'sending' };
        this.startTurn();
        break;
      case 'result':
        this.end(known.result);
        break;
      default:
    }
  }

  fail(thrown: unknown): void {
    const error = thrown instanceof RivuletError ? thrown.toJSON() : { code: 'unknown', message: errorText(thrown) };
    this.markAnswer('failed');
    this.view = { ...withoutRetry(this.view), status: 'failed', error };
  }

  /** Continues the answer of a run that was waiting: its calls are in the last message. */
  private resume(): void {
    this.hasAnswer = true;
    this.answer().parts.forEach((part, position) => {
      if (part.type === 'toolCall') this.positions.set(part.id, position);
    });
    this.startTurn();
  }

  /** Adds the parts of a message that the user sent during the run. What follows is another answer. */
  private addPrompt(prompt: Message): void {
    this.view = addMessage(this.view, prompt);
    this.hasAnswer = false;
    this.isPrompted = true;
    this.positions = new Map();
    this.startTurn();
  }

  private addDelta(type: 'text' | 'thinking', text: string): void {
    const { parts } = this.answer();
    const isFirst = type === 'text' && this.isPrompted && !parts.some((part) => part.type === 'text');
    const shown = isFirst ? text.replace(/^\n/, '') : text; // the prefix that separates two answers in the run's text
    this.setParts(withDelta(parts, this.turnStart, type, shown), type === 'text' ? 'streaming' : 'thinking');
  }

  private addFragment({ index = 0, id = '', name = '', arguments: args }: ToolCallFragment): void {
    let call = this.growing.get(index);
    if (!call) {
      call = { position: this.answer().parts.length, json: createPartialJson() };
      this.growing.set(index, call);
      this.addPart({ type: 'toolCall', id, name, arguments: {}, status: 'receiving' });
    }
    if (typeof args === 'string') call.json.push(args);
    if (!call.json.isDue() && typeof args === 'string') return;
    const snapshot = typeof args === 'string' ? call.json.snapshot() : args;
    this.replacePart(call.position, (part) =>
      part.type === 'toolCall' && part.status === 'receiving'
        ? {
            ...part,
            id: id || part.id,
            name: name || part.name,
            arguments: isJsonObject(snapshot) ? snapshot : part.arguments,
          }
        : part,
    );
  }

  private addCall(call: ToolCallView): void {
    const open = this.takeGrowing(call);
    this.positions.set(call.id, open ?? this.answer().parts.length);
    if (open === undefined) this.addPart(call);
    else this.replacePart(open, () => call);
  }

  /** The position of the growing call that this complete call ends. */
  private takeGrowing({ id, name }: ToolCallView): number | undefined {
    const { parts } = this.answer();
    for (const [index, { position }] of this.growing) {
      const part = parts[position];
      if (part?.type !== 'toolCall' || part.name !== name || (part.id || id) !== id) continue;
      this.growing.delete(index);
      return position;
    }
    return undefined;
  }

  private changeCall(id: string, change: (call: ToolCallView) => ToolCallView): void {
    const position = this.positions.get(id);
    const part = position === undefined ? undefined : this.answer().parts[position];
    if (position === undefined || part?.type !== 'toolCall') return; // a call of another run
    const changed = change(part);
    this.replacePart(position, () => changed);
    for (const [status, calls] of this.activeCalls) {
      if (changed.status === status) calls.add(id);
      else calls.delete(id);
    }
    const active = [...this.activeCalls].find(([, calls]) => calls.size > 0);
    if (active) this.view = { ...this.view, status: active[0] === 'running' ? 'runningTools' : 'waiting' };
  }

  private addServerTool(tool: ServerTool): void {
    const key = `server:${tool.id}`;
    const position = this.positions.get(key);
    if (position !== undefined) {
      this.replacePart(position, (part) =>
        part.type === 'serverTool' ? { ...part, tool: { ...part.tool, ...tool } } : part,
      );
      return;
    }
    this.positions.set(key, this.answer().parts.length);
    this.addPart({ type: 'serverTool', tool });
  }

  private retract(): void {
    const { parts } = this.answer();
    for (const [id, position] of this.positions) if (position >= this.turnStart) this.positions.delete(id);
    this.growing = new Map();
    for (const calls of this.activeCalls.values()) calls.clear();
    if (this.hasAnswer) this.setParts(parts.slice(0, this.turnStart), 'sending');
  }

  private startTurn(): void {
    this.turnStart = this.hasAnswer ? this.answer().parts.length : 0;
    this.growing = new Map();
  }

  private end({ finishReason, output }: RunResult): void {
    if (finishReason === 'stopped') this.markAnswer('stopped');
    const status = endStatuses[finishReason] ?? 'idle';
    this.view = { ...withoutRetry(this.view), status, finishReason, ...(output === undefined ? {} : { output }) };
  }

  /** Marks the answer as incomplete, if there is one. */
  private markAnswer(ended: 'stopped' | 'failed'): void {
    if (this.hasAnswer) this.view = replaceLast(this.view, { ...this.answer(), ended });
  }

  /** The model's message of this run, or an empty one that is not part of the view yet. */
  private answer(): MessageView {
    const last = this.view.messages.at(-1);
    return this.hasAnswer && last ? last : { id: '', role: 'model', parts: [] };
  }

  private addPart(part: PartView): void {
    this.setParts([...this.answer().parts, part], 'streaming');
  }

  private replacePart(position: number, change: (part: PartView) => PartView): void {
    const parts = [...this.answer().parts];
    const part = parts[position];
    if (!part) return;
    parts[position] = change(part);
    this.setParts(parts, this.view.status);
  }

  private setParts(parts: readonly PartView[], status: ViewStatus): void {
    const view = withoutRetry(this.view);
    const changed = this.hasAnswer
      ? replaceLast(view, { ...this.answer(), parts })
      : appendMessage(view, 'model', parts);
    this.hasAnswer = true;
    this.view = { ...changed, status };
  }
}

const endStatuses: Partial<Record<FinishReason, ViewStatus>> = { stopped: 'stopped', waiting: 'waiting' };
