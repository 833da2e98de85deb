import { StringBuilder } from '../../core/stringBuilder.js';
import type { AgUiEvent, AgUiMessage } from '../../transport/agUi/protocol.js';

interface Entry {
  readonly message: AgUiMessage;
  /** The turn that added the message; 0 for a message of the request. */
  readonly turn: number;
  readonly text?: StringBuilder;
  readonly calls: Map<string, { readonly name: string; readonly text: StringBuilder }>;
}

/** AG-UI corrects messages with a snapshot of all of them, and `retract` needs one. */
export class Transcript {
  private entries: Entry[];
  private turn = 1;

  constructor(messages: readonly AgUiMessage[]) {
    this.entries = messages
      .filter(({ role }) => role !== 'activity') // the client keeps its activities without the snapshot
      .map((message) => ({ message, turn: 0, calls: new Map() }));
  }

  apply(event: AgUiEvent): void {
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
        this.append({ id: event.messageId, role: event.role === 'user' ? 'user' : 'assistant', content: '' });
        break;
      case 'REASONING_MESSAGE_START':
        this.append({ id: event.messageId, role: 'reasoning', content: '' });
        break;
      case 'TEXT_MESSAGE_CONTENT':
      case 'REASONING_MESSAGE_CONTENT':
        this.find(event.messageId)?.text?.add(event.delta);
        break;
      case 'TOOL_CALL_START': {
        const parent = event.parentMessageId ?? event.toolCallId;
        const entry = this.find(parent) ?? this.append({ id: parent, role: 'assistant' });
        entry.calls.set(event.toolCallId, { name: event.toolCallName, text: new StringBuilder() });
        break;
      }
      case 'TOOL_CALL_ARGS':
        this.entryWithCall(event.toolCallId)?.calls.get(event.toolCallId)?.text.add(event.delta);
        break;
      case 'TOOL_CALL_RESULT':
        this.addResult(event);
        break;
      default:
    }
  }

  argumentsOf(callId: string): string {
    return this.entryWithCall(callId)?.calls.get(callId)?.text.toString() ?? '';
  }

  setCall(callId: string, name: string, args: string): void {
    const text = new StringBuilder();
    text.add(args);
    this.entryWithCall(callId)?.calls.set(callId, { name, text });
  }

  commit(): void {
    this.turn += 1;
  }

  /** A client keeps reasoning if a snapshot contains none: the only reasoning stays, without text. */
  retract(): void {
    const isReasoning = ({ message }: Entry) => message.role === 'reasoning';
    const kept = this.entries.filter(({ turn }) => turn !== this.turn);
    const voided = this.entries.filter((entry) => entry.turn === this.turn && isReasoning(entry));
    if (!kept.some(isReasoning)) kept.push(...voided.map((entry) => ({ ...entry, text: new StringBuilder() })));
    this.entries = kept;
  }

  snapshot(): readonly AgUiMessage[] {
    return this.entries.map(({ message, text, calls }) => {
      if (message.role === 'assistant' && calls.size > 0) {
        const toolCalls = [...calls].map(([id, { name, text: args }]) => ({
          id,
          type: 'function' as const,
          function: { name, arguments: args.toString() },
        }));
        return { ...message, ...(text ? { content: text.toString() } : {}), toolCalls };
      }
      return text ? ({ ...message, content: text.toString() } as AgUiMessage) : message;
    });
  }

  private append(message: AgUiMessage): Entry {
    const text = 'content' in message ? { text: new StringBuilder() } : {};
    const entry: Entry = { message, turn: this.turn, calls: new Map(), ...text };
    this.entries.push(entry);
    return entry;
  }

  /** Inserts the result after its call and after the results that follow the call. */
  private addResult(event: Extract<AgUiEvent, { readonly type: 'TOOL_CALL_RESULT' }>): void {
    const { messageId: id, toolCallId, content, metadata } = event;
    const message: AgUiMessage = { id, role: 'tool', toolCallId, content, ...(metadata ? { metadata } : {}) };
    const call = this.entries.findLastIndex((entry) => hasCall(entry, toolCallId));
    let index = call < 0 ? this.entries.length : call + 1;
    while (this.entries[index]?.message.role === 'tool') index += 1;
    this.entries.splice(index, 0, { message, turn: this.turn, calls: new Map() });
  }

  private find(id: string): Entry | undefined {
    return this.entries.findLast(({ message }) => message.id === id);
  }

  private entryWithCall(callId: string): Entry | undefined {
    return this.entries.findLast((entry) => hasCall(entry, callId));
  }
}

const hasCall = ({ message, calls }: Entry, id: string): boolean =>
  calls.has(id) || (message.role === 'assistant' && (message.toolCalls?.some((call) => call.id === id) ?? false));
