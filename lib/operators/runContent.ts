import type { EmittedContent } from '../core/checkpoint.js';
import { withoutPrefix, type TextChunk } from '../core/chunk.js';
import { omitUndefined } from '../core/json/json.js';
import { messageText, type Message, type Metadata } from '../core/message.js';
import { mergeMetadata, MetadataCollector, metadataOfRetracted } from '../core/metadata.js';
import { StringBuilder } from '../core/stringBuilder.js';
import { addUsage, type Usage } from '../core/usage.js';

export class RunContent {
  turn: TurnContent;
  private readonly text = new StringBuilder();
  private readonly thinking = new StringBuilder();
  private readonly messages: Message[] = [];
  private readonly metadata: MetadataCollector;
  /** Whether, at the end of the last turn, tool results or a prompt followed the last text. */
  private needsSeparator: boolean;

  constructor({
    text = '',
    thinking = '',
    messages = [],
    metadata,
    needsSeparator = false,
  }: Partial<EmittedContent> = {}) {
    if (text !== '') this.text.add(text);
    if (thinking !== '') this.thinking.add(thinking);
    for (const message of messages) this.messages.push(message); // a spread overflows the stack if there are very many
    this.metadata = new MetadataCollector(metadata);
    this.needsSeparator = needsSeparator;
    this.turn = new TurnContent(needsSeparator);
  }

  /** The cost and the usage of a retracted attempt remain. */
  retract(usage: Usage | undefined): void {
    const { metadata, usage: earlier } = this.turn;
    this.turn = new TurnContent(this.needsSeparator, metadataOfRetracted(metadata.metadata), addUsage(earlier, usage));
  }

  endTurn(): void {
    const { turn } = this;
    this.text.add(turn.allText());
    this.thinking.add(turn.thinkingText());
    for (const message of turn.messages) this.messages.push(message);
    if (turn.metadata.metadata) this.metadata.add(turn.metadata.metadata);
    this.needsSeparator = turn.needsSeparator;
    this.turn = new TurnContent(this.needsSeparator);
  }

  copy(): EmittedContent {
    const { turn } = this;
    const earlier = this.metadata.metadata;
    const added = turn.metadata.metadata ?? {};
    return {
      text: this.text.toString() + turn.allText(),
      thinking: this.thinking.toString() + turn.thinkingText(),
      messages: [...this.messages, ...turn.messages],
      ...omitUndefined({ metadata: (earlier ?? turn.metadata.metadata) ? mergeMetadata(earlier, added) : undefined }),
      needsSeparator: turn.needsSeparator,
    };
  }
}

class TurnContent {
  readonly messages: Message[] = [];
  readonly metadata: MetadataCollector;
  private text = '';
  private streamed: StringBuilder | undefined;
  private thinking: StringBuilder | undefined;

  /** `usage` is what the turn has used so far: its response, if it has ended, retracted attempts and tools. */
  constructor(
    public needsSeparator: boolean,
    metadata?: Metadata,
    public usage?: Usage,
  ) {
    this.metadata = new MetadataCollector(metadata);
  }

  addText(chunk: TextChunk): void {
    if (chunk.text === '') return;
    this.needsSeparator = false;
    this.streamed ??= new StringBuilder();
    this.text += chunk.prefix ?? ''; // a message does not contain it
    this.streamed.add(withoutPrefix(chunk));
  }

  addThinking(text: string): void {
    this.thinking ??= new StringBuilder();
    this.thinking.add(text);
  }

  addMessage(message: Message): void {
    this.messages.push(message);
    if (this.streamed) this.endText(this.streamed.toString(), messageText(message));
    if (message.role === 'user') this.needsSeparator = true;
  }

  allText(): string {
    return this.text + this.partialText();
  }

  partialText(): string {
    return this.streamed?.toString() ?? '';
  }

  thinkingText(): string {
    return this.thinking?.toString() ?? '';
  }

  /** If it ends with the text of the message, that string is kept instead of a second copy. */
  private endText(streamed: string, ofMessage: string): void {
    const shared = streamed.endsWith(ofMessage) ? ofMessage : '';
    this.text += streamed.slice(0, streamed.length - shared.length) + shared;
    this.streamed = undefined;
  }
}
