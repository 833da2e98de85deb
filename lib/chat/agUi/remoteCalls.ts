import type { ToolCallPart } from '../../core/message.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { collectCalls, parseArguments } from '../../transport/agUi/messages.js';
import type { AgUiMessage } from '../../transport/agUi/protocol.js';

export class RemoteCalls {
  private readonly calls = new Map<string, ToolCallPart>();
  private readonly texts = new Map<string, StringBuilder>();

  constructor(messages: readonly AgUiMessage[]) {
    for (const { id, function: fn } of collectCalls(messages)) this.set(id, fn.name, fn.arguments);
  }

  get(id: string): ToolCallPart | undefined {
    return this.calls.get(id);
  }

  start(id: string, name: string): void {
    this.set(id, name, '');
    this.texts.set(id, new StringBuilder());
  }

  appendArguments(id: string, delta: string): ToolCallPart | undefined {
    const text = this.texts.get(id);
    text?.add(delta);
    return text && this.calls.get(id);
  }

  correct(messages: readonly AgUiMessage[]): void {
    for (const { id, function: fn } of collectCalls(messages)) {
      if (!this.texts.has(id)) continue;
      const text = new StringBuilder();
      text.add(fn.arguments);
      this.texts.set(id, text);
      this.set(id, fn.name, '');
    }
  }

  end(id: string): ToolCallPart | undefined {
    const text = this.texts.get(id);
    this.texts.delete(id);
    return text && this.set(id, this.calls.get(id)?.name ?? '', text.toString());
  }

  private set(id: string, name: string, args: string): ToolCallPart {
    const call: ToolCallPart = { type: 'toolCall', id, name, arguments: parseArguments(args) };
    this.calls.set(id, call);
    return call;
  }
}
