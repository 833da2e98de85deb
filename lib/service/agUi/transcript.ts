import { StringBuilder } from '../../core/stringBuilder.js';
import type { AgUiEvent, AgUiMessage } from '../../transport/agUi/protocol.js';

interface Added {
  readonly message: AgUiMessage;
  /** The turn that added the message; 0 for a message of the request. */
  readonly turn: number;
}

interface Entry extends Added {
  readonly text?: StringBuilder;
  readonly calls: Map<string, { readonly name: string; readonly text: StringBuilder }>;
  /** The messages with results that follow it. */
  results: Added[];
}

/** AG-UI corrects messages with a snapshot of all of them, and `retract` needs one. */
export class Transcript {
  private entries: Entry[] = [];
  private byId = new Map<string, Entry>();
  private byCall = new Map<string, Entry>();
  private turn = 0;

  constructor(messages: readonly AgUiMessage[]) {
    for (const message of messages)
      if (message.role === 'tool') this.addAfter(this.entries.at(-1), message);
      // The client keeps its activities without the snapshot.
      else if (message.role !== 'activity') this.add({ message, turn: 0, calls: new Map(), results: [] });
    this.turn = 1;
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
        this.byId.get(event.messageId)?.text?.add(event.delta);
        break;
      case 'TOOL_CALL_START': {
        const parent = event.parentMessageId ?? event.toolCallId;
        const entry = this.byId.get(parent) ?? this.append({ id: parent, role: 'assistant' });
        entry.calls.set(event.toolCallId, { name: event.toolCallName, text: new StringBuilder() });
        this.byCall.set(event.toolCallId, entry);
        break;
      }
      case 'TOOL_CALL_ARGS':
        this.byCall.get(event.toolCallId)?.calls.get(event.toolCallId)?.text.add(event.delta);
        break;
      case 'TOOL_CALL_RESULT':
        this.addResult(event);
        break;
      default:
    }
  }

  argumentsOf(callId: string): string {
    return this.byCall.get(callId)?.calls.get(callId)?.text.toString() ?? '';
  }

  setCall(callId: string, name: string, args: string): void {
    const text = new StringBuilder();
    text.add(args);
    this.byCall.get(callId)?.calls.set(callId, { name, text });
  }

  commit(): void {
    this.turn += 1;
  }

  /** A client keeps reasoning if a snapshot contains none: the only reasoning stays, without text. */
  retract(): void {
    const isReasoning = ({ message }: Entry) => message.role === 'reasoning';
    const kept = this.entries.filter(({ turn }) => turn !== this.turn);
    const voided = this.entries.filter((entry) => entry.turn === this.turn && isReasoning(entry));
    if (!kept.some(isReasoning))
      kept.push(...voided.map((entry) => ({ ...entry, text: new StringBuilder(), results: [] })));
    this.entries = [];
    this.byId = new Map();
    this.byCall = new Map();
    for (const entry of kept) {
      entry.results = entry.results.filter(({ turn }) => turn !== this.turn);
      this.add(entry);
    }
  }

  snapshot(): readonly AgUiMessage[] {
    return this.entries.flatMap(({ message, text, calls, results }) => {
      const following = results.map((result) => result.message);
      if (message.role === 'assistant' && calls.size > 0) {
        const toolCalls = [...calls].map(([id, { name, text: args }]) => ({
          id,
          type: 'function' as const,
          function: { name, arguments: args.toString() },
        }));
        return [{ ...message, ...(text ? { content: text.toString() } : {}), toolCalls }, ...following];
      }
      return [text ? ({ ...message, content: text.toString() } as AgUiMessage) : message, ...following];
    });
  }

  private append(message: AgUiMessage): Entry {
    const text = 'content' in message ? { text: new StringBuilder() } : {};
    const entry: Entry = { message, turn: this.turn, calls: new Map(), results: [], ...text };
    this.add(entry);
    return entry;
  }

  /** Inserts the result after its call and after the results that follow the call. */
  private addResult(event: Extract<AgUiEvent, { readonly type: 'TOOL_CALL_RESULT' }>): void {
    const { messageId: id, toolCallId, content, metadata } = event;
    const message: AgUiMessage = { id, role: 'tool', toolCallId, content, ...(metadata ? { metadata } : {}) };
    this.addAfter(this.byCall.get(toolCallId) ?? this.entries.at(-1), message);
  }

  private addAfter(entry: Entry | undefined, message: AgUiMessage): void {
    if (entry) entry.results.push({ message, turn: this.turn });
    else this.add({ message, turn: this.turn, calls: new Map(), results: [] });
  }

  private add(entry: Entry): void {
    const { message, calls } = entry;
    this.entries.push(entry);
    this.byId.set(message.id, entry);
    if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) this.byCall.set(id, entry);
    for (const id of calls.keys()) this.byCall.set(id, entry);
  }
}
