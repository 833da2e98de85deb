import { ProtocolError, RivuletError } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { objectOrEmpty } from '../../core/json/json.js';
import { userMessage } from '../../core/message.js';
import type { WaitingCall } from '../../core/approval.js';
import { innermost } from '../../core/nested.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { restoreEvent } from '../../transport/agUi/customEvents.js';
import { isDropped } from '../../transport/agUi/marks.js';
import { fromToolMessage } from '../../transport/agUi/messages.js';
import type { AgUiChunk, AgUiEvent, AgUiMessage, CustomEvent } from '../../transport/agUi/protocol.js';
import type { RunFinishedEvent } from '../../transport/agUi/protocol.js';
import { RemoteCalls } from './remoteCalls.js';
import { readEnd, readFinishReason, remoteError, toUsage } from './remoteEnd.js';
import { RemoteRun } from './remoteRun.js';

const texts = ['messageId', 'delta', 'toolCallId', 'toolCallName'] as const;

/** Whether the fields of a text or a call that a view shows are texts, as far as they are there. */
const hasTexts = (event: StreamEvent & Partial<Readonly<Record<(typeof texts)[number], unknown>>>): boolean =>
  !/^(TEXT|REASONING|TOOL)_/.test(event.type) || texts.every((field) => typeof (event[field] ?? '') === 'string');

export const notAnEvent = (data: string) =>
  new ProtocolError(
    'the AG-UI server',
    'frame',
    'The AG-UI server sent something that is not an event. Check the URL.',
    data.slice(0, 200),
  );

export class AgUiDecoder {
  hasFinished = false;
  private emitted: StreamEvent[] = [];
  private readonly run = new RemoteRun();
  /** Whether the server marks turn ends. */
  private marksTurns = false;
  private readonly calls: RemoteCalls;
  /** The texts of other roles than the model's, by the id of their message. */
  private readonly otherTexts = new Map<string, { readonly text: StringBuilder; readonly isPrompt: boolean }>();
  private chunkText = '';
  private chunkCall: string | undefined;
  /** The calls that the server announced as waiting. */
  private readonly waiting = new Map<string, WaitingCall>();

  constructor(messages: readonly AgUiMessage[]) {
    this.calls = new RemoteCalls(messages);
  }

  /** Throws a ProtocolError if an event does not have the form of its type. */
  decode(event: StreamEvent): readonly StreamEvent[] {
    if (!hasTexts(event)) throw notAnEvent(JSON.stringify(event));
    try {
      this.read(event as AgUiEvent | AgUiChunk);
    } catch (thrown) {
      throw thrown instanceof RivuletError ? thrown : notAnEvent(JSON.stringify(event));
    }
    const { emitted } = this;
    this.emitted = [];
    return emitted;
  }

  private read(event: AgUiEvent | AgUiChunk): void {
    if (/^(TEXT|REASONING|TOOL|RUN)_/.test(event.type) && event.type !== 'TOOL_CALL_CHUNK') this.endChunkCall();
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
        this.startText(event.messageId, event.role);
        break;
      case 'TEXT_MESSAGE_CONTENT':
        this.addText(event.messageId, event.delta);
        break;
      case 'TEXT_MESSAGE_END':
        this.endText(event.messageId);
        break;
      case 'TEXT_MESSAGE_CHUNK':
        if (event.messageId !== undefined && event.messageId !== this.chunkText) {
          this.chunkText = event.messageId;
          this.startText(event.messageId, event.role);
        }
        this.addText(this.chunkText, event.delta);
        break;
      case 'REASONING_MESSAGE_CONTENT':
      case 'REASONING_MESSAGE_CHUNK':
        this.addThinking(event.delta);
        break;
      case 'TOOL_CALL_START':
        this.startCall(event.toolCallId, event.toolCallName);
        break;
      case 'TOOL_CALL_ARGS':
        this.addArguments(event.toolCallId, event.delta);
        break;
      case 'TOOL_CALL_END':
        this.endCall(event.toolCallId, isDropped(event));
        break;
      case 'TOOL_CALL_CHUNK':
        this.addCallChunk(event);
        break;
      case 'TOOL_CALL_RESULT':
        if (!isDropped(event)) this.addResult(event);
        break;
      case 'CUSTOM':
        this.addCustom(event);
        break;
      case 'RUN_FINISHED':
        this.finish(event);
        break;
      case 'RUN_ERROR':
        throw remoteError(event);
      case 'REASONING_START':
      case 'REASONING_END':
      case 'REASONING_MESSAGE_START':
      case 'REASONING_MESSAGE_END':
        break;
      case 'MESSAGES_SNAPSHOT':
        this.calls.correct(event.messages);
        this.emit(event);
        break;
      case 'RUN_STARTED':
        this.marksTurns = objectOrEmpty(event.metadata?.['rivulet'])['turns'] === true;
        this.emit(event);
        break;
      default:
        this.emit(event); // the state, steps and activities, and events of later versions of AG-UI
    }
  }

  /** The texts of the model need no start. */
  private startText(id: string, role = 'assistant'): void {
    if (role !== 'assistant') this.otherTexts.set(id, { text: new StringBuilder(), isPrompt: role === 'user' });
  }

  private addText(id: string, delta: string | undefined): void {
    if (!delta) return;
    const other = this.otherTexts.get(id);
    if (other) {
      other.text.add(delta);
      return;
    }
    this.startContent();
    this.run.addText(delta);
    this.emit({ type: 'text', text: delta });
  }

  private endText(id: string): void {
    const other = this.otherTexts.get(id);
    this.otherTexts.delete(id);
    if (other?.isPrompt) this.run.addPrompt(userMessage(other.text.toString()));
  }

  private addThinking(delta: string | undefined): void {
    if (!delta) return;
    this.startContent();
    this.run.addThinking(delta);
    this.emit({ type: 'thinking', text: delta });
  }

  private startCall(id: string, name: string): void {
    this.startContent();
    this.calls.start(id, name);
    this.emit({ type: 'toolCallFragment', index: id, id, name });
  }

  private addArguments(id: string, delta: string | undefined): void {
    const call = delta ? this.calls.appendArguments(id, delta) : undefined;
    if (call) this.emit({ type: 'toolCallFragment', index: id, id, name: call.name, arguments: delta });
  }

  private endCall(id: string, isDropped = false): void {
    const call = this.calls.end(id);
    if (!call || isDropped) return;
    this.run.addPart(call);
    this.emit(call);
  }

  private addResult(event: Extract<AgUiEvent, { readonly type: 'TOOL_CALL_RESULT' }>): void {
    const result = fromToolMessage(event, this.calls.get(event.toolCallId)?.name ?? '');
    this.run.addResult(result);
    this.emit(result);
  }

  private addCallChunk({ toolCallId, toolCallName, delta }: Extract<AgUiChunk, { type: 'TOOL_CALL_CHUNK' }>): void {
    const id = toolCallId ?? this.chunkCall;
    if (id === undefined) return;
    if (id !== this.chunkCall) {
      this.endChunkCall();
      this.chunkCall = id;
      this.startCall(id, toolCallName ?? '');
    }
    this.addArguments(id, delta);
  }

  private endChunkCall(): void {
    if (this.chunkCall !== undefined) this.endCall(this.chunkCall);
    this.chunkCall = undefined;
  }

  private addCustom(event: CustomEvent): void {
    const ownEvent = restoreEvent(event);
    if (!ownEvent) {
      this.emit(event);
      return;
    }
    const restored = asKnownEvent(ownEvent);
    switch (restored.type) {
      case 'turn':
        for (const each of this.run.endTurn({ ...restored, finishReason: readFinishReason(restored.finishReason) }))
          this.emit(each);
        return;
      case 'toolStart':
        // The encoder omits arguments that are those of the call.
        this.emit({ ...this.calls.get(restored.id), ...restored });
        return;
      case 'retract':
        this.run.retract();
        break;
      case 'file':
        this.run.addPart(restored.file);
        break;
      case 'source':
        this.run.addPart(restored.source);
        break;
      case 'metadata':
        this.run.addMetadata(restored.metadata);
        break;
      case 'toolWaiting':
      case 'nested': {
        const inner = innermost(restored);
        if (inner.type === 'toolWaiting') this.waiting.set(inner.id, inner);
        break;
      }
      default:
    }
    this.emit(restored);
  }

  /** Ends the turn of a server without turn marks: content after results belongs to the next turn. */
  private startContent(): void {
    if (this.marksTurns || !this.run.hasResults) return;
    for (const event of this.run.endTurn({ finishReason: 'toolCalls' })) this.emit(event);
  }

  private finish(event: RunFinishedEvent): void {
    const { result: output, usage } = event;
    const { finishReason, rawReason, waiting } = readEnd(event, (id) => this.waiting.get(id) ?? this.calls.get(id));
    const end = { finishReason, ...(rawReason === undefined ? {} : { rawReason }) };
    const total = usage ? { usage: toUsage(usage) } : {};
    for (const call of waiting) if (!this.waiting.has(call.id)) this.emit({ ...call, type: 'toolWaiting' });
    if (waiting.length > 0) for (const each of this.run.endWaiting()) this.emit(each);
    else if (this.run.isOpen) for (const each of this.run.endTurn({ ...end, ...total })) this.emit(each);
    this.emit(event);
    const result = this.run.result({ output, ...end, ...total, ...(waiting.length > 0 ? { waiting } : {}) });
    this.emit({ type: 'result', result });
    this.hasFinished = true;
  }

  private emit(event: StreamEvent | { readonly type: string; readonly [field: string]: unknown }): void {
    this.emitted.push(event);
  }
}
