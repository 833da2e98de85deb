import type { RunEvent, RunState, TurnEvent } from '../core/event.js';
import { toolCallsOf, unfinishedResult } from '../core/message.js';
import type { Message, Part, ToolCallPart, ToolResultPart } from '../core/message.js';
import { MetadataCollector } from '../core/metadata.js';
import { StringBuilder } from '../core/stringBuilder.js';

/** A stopped turn can be completed from these events. */
export class OpenTurn {
  private content = new OpenContent();

  constructor(private readonly state: RunState) {}

  observe(event: RunEvent): void {
    const { content } = this;
    switch (event.type) {
      case 'text':
        content.text.add(event.text);
        break;
      case 'toolCall':
        content.addPart(event);
        break;
      case 'file':
        content.addPart(event.file);
        break;
      case 'source':
        content.addPart(event.source);
        break;
      case 'toolStart':
      case 'nested': // an inner run that is resumed has no start
        content.started.add(event.id);
        break;
      case 'toolResult':
        content.results.set(event.id, event);
        break;
      case 'metadata':
        content.metadata.add(event.metadata);
        break;
      case 'message':
        content.addMessage(event.message);
        break;
      case 'retract':
        this.content = new OpenContent();
        break;
      default:
    }
  }

  stop(): readonly RunEvent[] {
    const { content, state } = this;
    const events: RunEvent[] = [];
    const emitMessage = (message: Message) => {
      if (message.parts.length > 0) events.push({ type: 'message', message });
    };
    content.closeText();
    emitMessage({ role: 'model', parts: content.parts });
    const calls = [...content.calls, ...toolCallsOf(content)];
    const results = calls.map((call) => content.resultOf(call));
    events.push(...results.filter(({ id }) => !content.results.has(id)));
    emitMessage({ role: 'user', parts: results });
    const { metadata } = content.metadata;
    events.push(
      stoppedTurn({ type: 'turn', turn: state.turn + 1, finishReason: 'stopped', ...(metadata && { metadata }) }),
    );
    return events;
  }
}

export function stoppedTurn({ output: _, rawReason: __, ...turn }: TurnEvent): TurnEvent {
  return { ...turn, finishReason: 'stopped', next: null };
}

class OpenContent {
  /** Parts that are in no message yet. */
  parts: Part[] = [];
  text = new StringBuilder();
  /** Calls that no message answers yet. */
  calls: readonly ToolCallPart[] = [];
  readonly started = new Set<string>();
  readonly results = new Map<string, ToolResultPart>();
  readonly metadata = new MetadataCollector();

  addPart(part: Part): void {
    this.closeText();
    this.parts.push(part);
  }

  closeText(): void {
    const text = this.text.toString();
    if (text !== '') this.parts.push({ type: 'text', text });
    this.text = new StringBuilder();
  }

  addMessage(message: Message): void {
    if (message.role !== 'model') {
      this.calls = [];
      return;
    }
    this.calls = toolCallsOf(message);
    this.parts = [];
    this.text = new StringBuilder();
  }

  resultOf(call: ToolCallPart): ToolResultPart {
    return (
      this.results.get(call.id) ?? unfinishedResult(call, this.started.has(call.id) ? 'cancelled' : 'not_executed')
    );
  }
}
