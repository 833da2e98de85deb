import type { RunEvent, TurnEvent } from '../core/event.js';
import { mergeMetadata } from '../core/metadata.js';

/**
 * Collects text that is not emitted as text. It is reported once, as metadata `suppressedText`, before the `turn`
 * event.
 */
export class SuppressedText {
  private text = '';

  append(text: string): void {
    this.text += text;
  }

  /** Discards the text of a retracted attempt. */
  retract(): void {
    this.text = '';
  }

  /**
   * The last events of the turn: the suppressed text, if there is any, and the `turn` event, whose metadata contains
   * it.
   */
  lastEvents(turn: TurnEvent): readonly RunEvent[] {
    if (this.text === '') return [turn];
    const metadata = { suppressedText: this.text };
    return [
      { type: 'metadata', metadata },
      { ...turn, metadata: mergeMetadata(turn.metadata, metadata) },
    ];
  }
}
