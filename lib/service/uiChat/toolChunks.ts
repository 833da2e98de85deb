import { argumentsDelta, type ToolCallFragment } from '../../core/chunk.js';
import type { ToolCallEvent, ToolResultEvent, ToolStartEvent, ToolWaitingEvent } from '../../core/event.js';
import { tryParseJson, type JsonValue } from '../../core/json/json.js';
import type { ServerTool } from '../../core/metadata.js';
import type { UiMessageChunk } from './chunks.js';
import { outputText, resultChunk } from './uiParts.js';

/** A call whose arguments are still arriving. It is sent once its id and its name are known. */
interface ArrivingCall {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly isStarted: boolean;
}

interface OpenCall {
  readonly name: string;
  readonly input: JsonValue;
  /** Whether the browser has the complete input. */
  readonly isAvailable: boolean;
  /** Whether the browser asks for an approval. */
  readonly isAsking?: boolean;
  /** Whether the output is the answer of a person. */
  readonly isQuestion?: boolean;
  /** The turn in which the browser has received it. */
  readonly turn: number;
  /** The id of the call whose run has made this one. Absent for a call of the run itself. */
  readonly outer?: string | undefined;
}

interface ServerCall {
  readonly turn: number;
  readonly hasInput: boolean;
  readonly hasEnded: boolean;
}

export interface ToolChunkOutput {
  add(chunk: UiMessageChunk): void;
  change(chunk: UiMessageChunk): void;
}

export class ToolChunks {
  private readonly arriving = new Map<number | string, ArrivingCall>();
  private readonly indexes = new Map<string, number | string>();
  private readonly open = new Map<string, OpenCall>();
  private readonly server = new Map<string, ServerCall>();
  private turn = 0;

  constructor(
    private readonly clientTools: ReadonlySet<string>,
    private readonly out: ToolChunkOutput,
  ) {}

  addFragment(fragment: ToolCallFragment): void {
    const { index = 0, id = '', name = '' } = fragment;
    const before = this.arriving.get(index) ?? { id: '', name: '', text: '', isStarted: false };
    const delta = argumentsDelta(fragment);
    // The name may still grow: each fragment has all of it so far.
    const call = { id: before.id || id, name: name || before.name, text: before.text + delta };
    const isStarted = call.id !== '' && call.name !== '';
    this.arriving.set(index, { ...call, isStarted });
    this.indexes.set(call.id, index);
    if (!isStarted) return;
    if (!before.isStarted) this.out.add({ type: 'tool-input-start', toolCallId: call.id, toolName: call.name });
    const inputTextDelta = before.isStarted ? delta : call.text;
    if (inputTextDelta !== '') this.out.change({ type: 'tool-input-delta', toolCallId: call.id, inputTextDelta });
  }

  /**
   * `useChat` executes a client tool as soon as it has the input, even an invalid one. So that input is sent only when
   * the call waits.
   */
  addCall({ id, name, arguments: input }: ToolCallEvent, outer?: string): void {
    const arriving = this.takeArriving(id);
    this.open.set(id, { name, input, isAvailable: false, turn: this.turn, outer });
    if (!this.clientTools.has(name)) this.makeAvailable(id);
    else if (!arriving?.isStarted) this.out.add({ type: 'tool-input-start', toolCallId: id, toolName: name });
  }

  addWaiting({ id, name, question }: ToolWaitingEvent): void {
    const call = this.open.get(id);
    if (call && question) this.open.set(id, { ...call, isQuestion: true });
    if (question || this.clientTools.has(name)) {
      this.makeAvailable(id);
      return;
    }
    if (call) this.open.set(id, { ...call, isAsking: true });
    this.out.change({ type: 'tool-approval-request', approvalId: id, toolCallId: id });
  }

  /** Shows the approval of a call that waited and that the server itself approved. */
  addStart({ id }: ToolStartEvent): void {
    const call = this.open.get(id);
    if (call?.isAsking) this.out.change({ type: 'tool-approval-response', approvalId: id, approved: true });
  }

  addResult(result: ToolResultEvent): void {
    const { id: toolCallId, name: toolName, error } = result;
    const call = this.open.get(toolCallId);
    this.open.delete(toolCallId);
    if (error !== undefined && call && !call.isAvailable)
      this.out.change({ type: 'tool-input-error', toolCallId, toolName, input: call.input, errorText: error });
    else this.out.change(resultChunk(result, call?.isQuestion ?? this.clientTools.has(toolName)));
  }

  addServerTool({ id: toolCallId, name: toolName, status, input, output }: ServerTool): void {
    this.takeArriving(toolCallId); // the provider runs it
    const before = this.server.get(toolCallId);
    const { turn = this.turn, hasInput = false, hasEnded = false } = before ?? {};
    const ends = status !== 'running' && !hasEnded;
    const sendsInput = !hasInput && (input !== undefined || ends);
    this.server.set(toolCallId, { turn, hasInput: hasInput || sendsInput, hasEnded: hasEnded || ends });
    const call = { toolCallId, providerExecuted: true };
    if (sendsInput) this.out.add({ type: 'tool-input-available', ...call, toolName, input: input ?? {} });
    else if (!before) this.out.add({ type: 'tool-input-start', ...call, toolName });
    if (!ends) return;
    if (status === 'failed') this.out.change({ type: 'tool-output-error', ...call, errorText: outputText(output) });
    else this.out.change({ type: 'tool-output-available', ...call, output: output ?? null });
  }

  /** Closes the calls of a turn that have no outcome. Those in the background, and the provider's own, may continue. */
  closeTurn(errorText: string): void {
    this.close(this.foregroundCalls(), errorText);
  }

  closeAll(errorText: string): void {
    this.close([...this.open], errorText);
    for (const [toolCallId, { hasEnded }] of this.server)
      if (!hasEnded) this.out.change({ type: 'tool-output-error', toolCallId, errorText, providerExecuted: true });
    this.server.clear();
  }

  private close(calls: readonly (readonly [string, OpenCall])[], errorText: string): void {
    for (const { id: toolCallId, name: toolName, text, isStarted } of this.arriving.values())
      if (isStarted)
        this.out.change({ type: 'tool-input-error', toolCallId, toolName, input: tryParseJson(text) ?? {}, errorText });
    for (const [toolCallId, { name: toolName, input, isAvailable }] of calls) {
      this.open.delete(toolCallId);
      this.out.change(
        isAvailable
          ? { type: 'tool-output-error', toolCallId, errorText }
          : { type: 'tool-input-error', toolCallId, toolName, input, errorText },
      );
    }
    this.arriving.clear();
    this.turn++;
  }

  /** Removes the calls of the turn, as the browser did. Those in the background are to be added again. */
  reset(): void {
    this.arriving.clear();
    for (const [id] of this.foregroundCalls()) this.open.delete(id);
    for (const [id, { turn }] of this.server) if (turn === this.turn) this.server.delete(id);
  }

  /** Adds the calls in the background that the browser has removed with the turn. */
  addAgain(): void {
    for (const [id, call] of this.open) {
      if (call.turn !== this.turn) continue;
      this.open.set(id, { ...call, isAvailable: false });
      this.makeAvailable(id);
      if (call.isAsking) this.out.change({ type: 'tool-approval-request', approvalId: id, toolCallId: id });
    }
  }

  /** The open calls without those of a run that goes on in the background: the call of that run has a result. */
  private foregroundCalls() {
    return [...this.open].filter(([, { outer }]) => outer === undefined || this.open.has(outer));
  }

  /** Leaves calls open: they wait for the browser. */
  leaveOpen(ids: readonly string[]): void {
    for (const id of ids) this.open.delete(id);
  }

  /** Marks all requests for approval as answered: the browser has answered them before this run. */
  endQuestions(): void {
    for (const [id, { isAsking: _, ...call }] of this.open) this.open.set(id, call);
  }

  isOpen(id: string): boolean {
    return this.open.has(id);
  }

  private takeArriving(id: string): ArrivingCall | undefined {
    const index = this.indexes.get(id) ?? '';
    const call = this.arriving.get(index);
    if (call?.id !== id) return undefined;
    this.arriving.delete(index);
    return call;
  }

  private makeAvailable(toolCallId: string): void {
    const call = this.open.get(toolCallId);
    if (!call || call.isAvailable) return;
    this.open.set(toolCallId, { ...call, isAvailable: true });
    this.out.add({ type: 'tool-input-available', toolCallId, toolName: call.name, input: call.input });
  }
}
