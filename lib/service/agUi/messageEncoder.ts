import { argumentsDelta, type ToolCallFragment } from '../../core/chunk.js';
import { isSameJson } from '../../core/json/equal.js';
import { toolErrorTexts, type ToolCallPart, type ToolResultPart } from '../../core/message.js';
import { droppedMark } from '../../transport/agUi/marks.js';
import { argumentsText, parseArguments, resultContent, resultMetadata } from '../../transport/agUi/messages.js';
import type { AgUiEvent, AgUiMessage } from '../../transport/agUi/protocol.js';
import { Transcript } from './transcript.js';

interface ArrivingCall {
  id?: string | undefined;
  name?: string | undefined;
  held: string;
  isStarted: boolean;
}

/** Snapshots of a turn, each of all messages. What is wrong after them is corrected at its end. */
const MAX_CORRECTIONS = 16;

export class MessageEncoder {
  private sent: AgUiEvent[] = [];
  private messageCount = 0;
  private text: string | undefined;
  private reasoning: string | undefined;
  private parent: string | undefined;
  private arriving = new Map<number | string, ArrivingCall>();
  private readonly indexes = new Map<string | undefined, number | string>();
  /** A call that was sent wrong, and those after it, until they end. */
  private readonly uncorrected: string[] = [];
  private corrections = 0;
  /** A client assumes that it has to answer such calls. */
  private readonly unanswered = new Set<string>();
  private readonly transcript: Transcript;
  readonly answered: ReadonlySet<string>;

  constructor(
    private readonly runId: string,
    messages: readonly AgUiMessage[],
  ) {
    this.transcript = new Transcript(messages);
    this.answered = new Set(messages.flatMap((message) => (message.role === 'tool' ? message.toolCallId : [])));
  }

  addText(delta: string): void {
    if (delta === '') return;
    this.correctCalls(); // they are before it
    this.closeReasoning();
    if (this.text === undefined) {
      this.text = this.parent = this.newId();
      this.send({ type: 'TEXT_MESSAGE_START', messageId: this.text, role: 'assistant' });
    }
    this.send({ type: 'TEXT_MESSAGE_CONTENT', messageId: this.text, delta });
  }

  addThinking(delta: string): void {
    if (delta === '') return;
    this.correctCalls();
    this.closeText();
    this.parent = undefined; // later calls are shown after the reasoning
    if (this.reasoning === undefined) {
      const messageId = this.newId();
      this.reasoning = messageId;
      this.send({ type: 'REASONING_START', messageId });
      this.send({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' });
    }
    this.send({ type: 'REASONING_MESSAGE_CONTENT', messageId: this.reasoning, delta });
  }

  /** A call starts with its first arguments: until then, a server may send its name in pieces. */
  addFragment(fragment: ToolCallFragment): void {
    const { index = 0, id, name } = fragment;
    const call = this.arriving.get(index) ?? { held: '', isStarted: false };
    this.arriving.set(index, call);
    if (!call.isStarted) {
      call.id = id ?? call.id;
      this.indexes.set(call.id, index);
      call.name = name ?? call.name;
    }
    call.held += argumentsDelta(fragment);
    if (call.id === undefined || call.name === undefined || call.held === '') return;
    if (!call.isStarted) this.startCall(call.id, call.name);
    call.isStarted = true;
    this.sendArguments(call.id, call.held);
    call.held = '';
  }

  addCall({ id, name, arguments: args }: ToolCallPart): void {
    const index = this.indexes.get(id) ?? '';
    const found = this.arriving.get(index);
    const arriving = found?.id === id ? found : undefined;
    if (arriving) this.arriving.delete(index);
    if (!arriving?.isStarted) this.startCall(id, name);
    const complete = argumentsText(args);
    const streamed = this.transcript.argumentsOf(id);
    if (streamed === '') this.sendArguments(id, complete);
    const isSame = streamed === '' || streamed === complete || isSameJson(parseArguments(streamed), args);
    const wasRenamed = arriving?.isStarted === true && arriving.name !== name;
    const isWrong = !isSame || wasRenamed;
    if (isWrong) this.transcript.setCall(id, name, complete);
    // A client orders calls by their ends.
    if (isWrong || this.uncorrected.length > 0) this.uncorrected.push(id);
    else this.send({ type: 'TOOL_CALL_END', toolCallId: id });
  }

  /** Corrects all calls of which a server has repeated or wrapped the arguments with one snapshot, and ends them. */
  correctCalls(): void {
    if (this.uncorrected.length > 0 && ++this.corrections <= MAX_CORRECTIONS) this.sendSnapshot();
    for (const toolCallId of this.uncorrected.splice(0)) this.send({ type: 'TOOL_CALL_END', toolCallId });
  }

  addResult(part: ToolResultPart): void {
    this.unanswered.delete(part.id);
    if (this.answered.has(part.id)) return;
    const messageId = this.newId();
    const content = resultContent(part);
    this.send({ type: 'TOOL_CALL_RESULT', messageId, toolCallId: part.id, content, ...resultMetadata(part) });
  }

  addPrompt(delta: string): void {
    const messageId = this.newId();
    this.send({ type: 'TEXT_MESSAGE_START', messageId, role: 'user' });
    this.send({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta });
    this.send({ type: 'TEXT_MESSAGE_END', messageId });
  }

  /** Calls that will get no result: a client would assume that it has to answer them. */
  answerOpenCalls(waiting: ReadonlySet<string>): void {
    const error = toolErrorTexts.not_executed;
    for (const id of this.unanswered)
      if (!waiting.has(id)) this.addResult({ type: 'toolResult', id, name: '', error, code: 'not_executed' });
  }

  endTurn(): void {
    this.closeAll();
    if (this.corrections > MAX_CORRECTIONS) this.sendSnapshot();
    this.corrections = 0;
    this.transcript.commit();
  }

  /** The snapshot follows `notice`. */
  retract(notice: AgUiEvent): void {
    this.closeAll();
    this.answerOpenCalls(new Set());
    this.send(notice);
    this.transcript.retract();
    this.sendSnapshot();
  }

  closeAll(): void {
    this.correctCalls();
    this.closeText();
    this.closeReasoning();
    this.parent = undefined;
    for (const { id, isStarted } of this.arriving.values()) if (id !== undefined && isStarted) this.dropCall(id);
    this.arriving = new Map();
  }

  sendSnapshot(): void {
    this.send({ type: 'MESSAGES_SNAPSHOT', messages: this.transcript.snapshot() });
  }

  send(event: AgUiEvent): void {
    this.transcript.apply(event);
    this.sent.push(event);
  }

  takeSent(): readonly AgUiEvent[] {
    const { sent } = this;
    this.sent = [];
    return sent;
  }

  private startCall(id: string, name: string): void {
    this.closeReasoning();
    this.closeText(); // text after the call is another message
    this.parent ??= this.newId();
    this.unanswered.add(id);
    this.send({ type: 'TOOL_CALL_START', toolCallId: id, toolCallName: name, parentMessageId: this.parent });
  }

  /** A call that was cut off is answered, so that no client executes it. */
  private dropCall(toolCallId: string): void {
    this.unanswered.delete(toolCallId);
    this.send({ type: 'TOOL_CALL_END', toolCallId, metadata: droppedMark });
    const content = toolErrorTexts.not_executed;
    this.send({ type: 'TOOL_CALL_RESULT', messageId: this.newId(), toolCallId, content, metadata: droppedMark });
  }

  private sendArguments(toolCallId: string, delta: string): void {
    if (delta !== '') this.send({ type: 'TOOL_CALL_ARGS', toolCallId, delta });
  }

  private closeText(): void {
    if (this.text !== undefined) this.send({ type: 'TEXT_MESSAGE_END', messageId: this.text });
    this.text = undefined;
  }

  private closeReasoning(): void {
    const messageId = this.reasoning;
    if (messageId === undefined) return;
    this.reasoning = undefined;
    this.send({ type: 'REASONING_MESSAGE_END', messageId });
    this.send({ type: 'REASONING_END', messageId });
  }

  private newId(): string {
    return `${this.runId}-${++this.messageCount}`;
  }
}
