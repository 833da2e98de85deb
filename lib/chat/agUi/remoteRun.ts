import type { RunResult, StreamEvent, TurnEvent } from '../../core/event.js';
import { mergeMetadata, MetadataCollector } from '../../core/metadata.js';
import { answerOf } from '../../core/message.js';
import type { Message, Metadata, Part, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { addUsage, type Usage } from '../../core/usage.js';

/** Collects the messages, the turns and the result of a run from what an AG-UI server has sent of it. */
export class RemoteRun {
  private readonly text = new StringBuilder();
  private readonly thinking = new StringBuilder();
  private readonly messages: Message[] = [];
  private usage: Usage = {};
  private metadata: Metadata | undefined;
  private turns = 0;
  private turn = new RemoteTurn();

  /** Servers other than Rivulet do not mark turns: content after results begins the next one. */
  get hasResults(): boolean {
    return this.turn.results.size > 0;
  }

  get isOpen(): boolean {
    return this.turns === 0 || this.turn.parts.length + this.turn.results.size + this.turn.prompts.length > 0;
  }

  addText(text: string): void {
    const { parts } = this.turn;
    const last = parts.at(-1);
    if (last?.type === 'text') parts[parts.length - 1] = { type: 'text', text: last.text + text };
    else parts.push({ type: 'text', text });
    this.turn.text.add(text);
  }

  addThinking(text: string): void {
    this.turn.thinking.add(text);
  }

  addPart(part: Part): void {
    this.turn.parts.push(part);
  }

  addResult(result: ToolResultPart): void {
    this.turn.results.set(result.id, result);
  }

  addPrompt(prompt: Message): void {
    this.turn.prompts.push(prompt);
  }

  addMetadata(metadata: Metadata): void {
    this.turn.metadata.add(metadata);
  }

  retract(): void {
    this.turn = new RemoteTurn();
  }

  /** Ends the open turn of a run that waits: it has no `turn` event, but counts, as in the result of an agent. */
  endWaiting(): readonly StreamEvent[] {
    this.turns += 1;
    const { metadata } = this.turn.metadata;
    if (metadata) this.metadata = mergeMetadata(this.metadata, metadata);
    return this.endMessages(this.turn.modelMessages());
  }

  endTurn(summary: Omit<TurnEvent, 'type' | 'turn'>): readonly StreamEvent[] {
    const messages = this.endMessages(this.turn.allMessages());
    this.turns += 1;
    this.usage = addUsage(this.usage, summary.usage);
    if (summary.metadata) this.metadata = mergeMetadata(this.metadata, summary.metadata);
    this.turn = new RemoteTurn();
    const turn: TurnEvent = { ...summary, type: 'turn', turn: this.turns };
    return [...messages, turn];
  }

  /** `usage` covers the complete run, if the server reports it. */
  result(end: Pick<RunResult, 'finishReason'> & Partial<RunResult>): RunResult {
    const { text, thinking, messages, usage, metadata, turns } = this;
    return {
      text: text.toString(),
      answer: answerOf(messages),
      thinking: thinking.toString(),
      output: undefined,
      messages: [...messages, ...this.turn.resultMessages()], // those of a turn that waits
      usage,
      turns,
      ...(metadata ? { metadata } : {}),
      ...end,
    };
  }

  private endMessages(messages: readonly Message[]): readonly StreamEvent[] {
    this.text.add(this.turn.text.toString());
    this.thinking.add(this.turn.thinking.toString());
    this.messages.push(...messages);
    return messages.map((message) => ({ type: 'message', message }));
  }
}

class RemoteTurn {
  readonly metadata = new MetadataCollector();
  readonly text = new StringBuilder();
  readonly thinking = new StringBuilder();
  readonly parts: Part[] = [];
  readonly results = new Map<string, ToolResultPart>();
  readonly prompts: Message[] = [];

  modelMessages(): readonly Message[] {
    return this.parts.length > 0 ? [{ role: 'model', parts: this.parts }] : [];
  }

  /** The results are in the order of their calls. */
  resultMessages(): readonly Message[] {
    const positions = new Map(this.parts.map((part, position) => [(part as ToolCallPart).id, position]));
    const position = ({ id }: ToolResultPart) => positions.get(id) ?? -1;
    const results = [...this.results.values()].sort((a, b) => position(a) - position(b));
    return results.length > 0 ? [{ role: 'user', parts: results }] : [];
  }

  allMessages(): readonly Message[] {
    return [...this.modelMessages(), ...this.resultMessages(), ...this.prompts];
  }
}
