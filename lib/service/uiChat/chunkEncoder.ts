import { withoutPrefix } from '../../core/chunk.js';
import type { RunResult, StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { asArray, objectOrEmpty, type JsonValue } from '../../core/json/json.js';
import { hasToolResults, joinedResult, type Message } from '../../core/message.js';
import type { ServerTool } from '../../core/metadata.js';
import { describeReported } from '../../transport/serverSentEvents.js';
import type { UiMessageChunk } from './chunks.js';
import type { UiMessageStreamOptions } from './options.js';
import { NestedRuns } from './nestedRuns.js';
import { ToolChunks } from './toolChunks.js';
import { fileChunk, promptChunk, resultMetadata, sourceChunk, uiFinishReason } from './uiParts.js';
import { requireSync } from '../../core/options.js';

const notEnded = 'The call did not end.';

/** Closes each text, call and step that it opens, however the run ends. */
export class ChunkEncoder {
  private readonly tools: ToolChunks;
  private readonly nested: NestedRuns;
  /** AI SDK 6 fails on `reset-step`, `tool-approval-response` and `steering-message`. */
  private readonly hasVersion7Chunks: boolean;
  private hasRunEvents = false;
  private hasEnded = false;
  private isStepOpen = false;
  /** When all calls of a step have outputs, `useChat` may send the message again by itself. */
  private stepHasCalls: boolean;
  private block: { readonly type: 'text' | 'reasoning'; readonly id: string } | undefined;
  private blockCount = 0;
  private sourceCount = 0;
  private promptCount = 0;
  private prompts: Message[] = [];

  constructor(
    private readonly options: UiMessageStreamOptions,
    private readonly emit: (chunk: UiMessageChunk) => void,
  ) {
    const clientTools = new Set(options.tools?.filter((tool) => !tool.execute).map(({ name }) => name));
    this.tools = new ToolChunks(clientTools, { add: (chunk) => this.addPart(chunk), change: emit });
    this.nested = new NestedRuns(this.tools);
    this.stepHasCalls = options.continues ?? false; // the last step of such a message has the calls that waited
    this.hasVersion7Chunks = options.version !== 6;
  }

  /** Call `encodeEarlier` before it: those events are not events of this run. */
  start(): void {
    const { messageId } = this.options;
    this.hasRunEvents = false;
    this.emit({ type: 'start', ...(messageId === undefined ? {} : { messageId }) });
  }

  encodeEarlier(events: readonly StreamEvent[]): void {
    for (const event of events) this.encode(event);
    this.closeBlock(); // the first event of this run may be one of a run in the background
    this.tools.endQuestions();
  }

  encode(event: StreamEvent): void {
    this.hasRunEvents = true;
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
        this.addDelta('text', withoutPrefix(known));
        break;
      case 'thinking':
        if (this.options.reasoning ?? true) this.addDelta('reasoning', known.text);
        break;
      case 'file':
        this.addPart(fileChunk(known.file));
        break;
      case 'source':
        if (this.options.sources ?? true) this.addPart(sourceChunk(known.source, ++this.sourceCount));
        break;
      case 'metadata':
        for (const tool of asArray(objectOrEmpty(known.metadata)['serverTools']) as readonly ServerTool[])
          this.tools.addServerTool(tool);
        break;
      case 'toolCallFragment':
        this.tools.addFragment(known);
        break;
      case 'toolCall':
        this.tools.addCall(known);
        break;
      case 'toolWaiting':
        this.tools.addWaiting(known);
        break;
      case 'toolStart':
        if (this.hasVersion7Chunks) this.tools.addStart(known);
        break;
      case 'toolProgress':
        if (this.options.progress ?? true)
          this.emit({ type: 'tool-output-available', toolCallId: known.id, output: known.value, preliminary: true });
        break;
      case 'nested': {
        const output = this.nested.add(known);
        if (output !== undefined && (this.options.progress ?? true))
          this.emit({ type: 'tool-output-available', toolCallId: known.id, output, preliminary: true });
        break;
      }
      case 'toolResult':
        this.tools.addResult(known);
        break;
      case 'retry': {
        const { attempt, delay, error } = known;
        this.emit({ type: 'data-retry', data: { attempt, delay, error }, transient: true });
        break;
      }
      case 'retract':
        this.retract();
        break;
      case 'message':
        this.addMessage(known.message);
        break;
      case 'turn':
        this.tools.closeTurn(notEnded);
        this.closeStep();
        this.sendPrompts();
        break;
      case 'result':
        this.finish(known.result, event);
        return; // `finish` has sent the metadata of the result
      default:
    }
    const messageMetadata = this.metadataOf(event);
    if (messageMetadata) this.emit({ type: 'message-metadata', messageMetadata });
  }

  private addMessage(message: Message): void {
    const joined = joinedResult(message);
    if (joined) this.tools.addResult(joined);
    else if (message.role === 'user' && !hasToolResults(message)) this.prompts.push(message);
  }

  /** A run without a `result` was ended by an operator such as `take`. */
  end(): void {
    if (this.hasEnded) return;
    this.closeAll();
    this.emit({ type: 'finish' });
  }

  /** `useChat` reads nothing after the error, so it is the last chunk. */
  fail(thrown: unknown): void {
    const { errorText, onError } = this.options;
    const describe = errorText && ((error: unknown) => ({ message: requireSync('errorText', errorText(error)) }));
    const { message } = describeReported(thrown, { describeError: describe, onError });
    if (this.hasEnded) return;
    this.closeAll();
    this.emit({ type: 'error', errorText: message as string });
  }

  private metadataOf(event: StreamEvent) {
    const { messageMetadata = resultMetadata } = this.options;
    return requireSync('messageMetadata', messageMetadata(event));
  }

  /** Version 6 has no chunk for prompts: its page shows only the answer. */
  private sendPrompts(): void {
    if (this.hasVersion7Chunks)
      for (const prompt of this.prompts) this.emit(promptChunk(prompt, `prompt-${++this.promptCount}`));
    this.prompts = [];
  }

  private addDelta(type: 'text' | 'reasoning', delta: string): void {
    if (delta === '') return;
    if (this.block?.type !== type) {
      const block = { type, id: `${type}-${++this.blockCount}` } as const;
      this.addPart({ type: `${type}-start`, id: block.id });
      this.block = block;
    }
    this.emit({ type: `${type}-delta`, id: `${type}-${this.blockCount}`, delta });
  }

  private addPart(chunk: UiMessageChunk): void {
    this.closeBlock();
    if (!this.isStepOpen) {
      this.isStepOpen = true;
      this.stepHasCalls = false;
      this.emit({ type: 'start-step' });
    }
    this.stepHasCalls ||= chunk.type === 'tool-input-start' || chunk.type === 'tool-input-available';
    this.emit(chunk);
  }

  private closeBlock(): void {
    if (this.block) this.emit({ type: `${this.block.type}-end`, id: this.block.id });
    this.block = undefined;
  }

  private closeStep(): void {
    this.closeBlock();
    if (this.isStepOpen) this.emit({ type: 'finish-step' });
    this.isStepOpen = false;
  }

  private closeAll(): void {
    this.hasEnded = true;
    // A run that emitted nothing answered no call: the calls of the message before it still wait.
    if (this.hasRunEvents) this.tools.closeAll(notEnded);
    this.closeStep();
  }

  /** Version 6 has no `reset-step`: the parts remain, and the next attempt is another step. */
  private retract(): void {
    if (this.hasVersion7Chunks) {
      this.closeBlock();
      this.tools.reset();
      if (this.isStepOpen) this.emit({ type: 'reset-step' });
      this.tools.addAgain();
    } else {
      this.tools.closeTurn('The attempt was discarded.');
      this.closeStep();
    }
    this.stepHasCalls = false;
  }

  private finish(result: RunResult, event: StreamEvent): void {
    const { finishReason, rawReason, output, waiting = [] } = result;
    const isWaiting = finishReason === 'waiting';
    const views = this.nested.waitingViews(waiting);
    this.tools.leaveOpen([...waiting.map(({ id }) => id), ...views.keys()]);
    // `useChat` continues by itself when all calls have an answer or an output, and a preliminary output is none.
    for (const [toolCallId, view] of views) this.emit({ type: 'tool-output-available', toolCallId, output: view });
    this.closeAll();
    if (output !== undefined) this.emit({ type: 'data-output', id: 'output', data: output as JsonValue });
    if (this.stepHasCalls && !isWaiting) {
      // `useChat` may send again when all calls of the last step have outputs: the empty step has none.
      this.emit({ type: 'start-step' });
      this.emit({ type: 'finish-step' });
    }
    if (finishReason === 'stopped') this.emit({ type: 'abort', reason: rawReason ?? 'stopped' });
    const messageMetadata = this.metadataOf(event);
    const reason = uiFinishReason(finishReason);
    this.emit({ type: 'finish', finishReason: reason, ...(messageMetadata ? { messageMetadata } : {}) });
  }
}
