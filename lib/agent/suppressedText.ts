import type { RunEvent, TurnEvent } from '../core/event.js';
import { mergeMetadata } from '../core/metadata.js';

/** Reported once, before the `turn` event. */
export class SuppressedText {
  text = '';

  lastEvents(turn: TurnEvent): readonly RunEvent[] {
    if (this.text === '') return [turn];
    const metadata = { suppressedText: this.text };
    return [
      { type: 'metadata', metadata },
      { ...turn, metadata: mergeMetadata(turn.metadata, metadata) },
    ];
  }
}
