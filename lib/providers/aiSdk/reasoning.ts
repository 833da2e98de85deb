import { GrowingText } from '../../core/growingText.js';
import type { SdkPart } from './openStream.js';
import { hasMetadata, metadataField } from './own.js';
import type { Echoed } from './own.js';

/** The reasoning of one answer. */
export interface Reasoning {
  add(part: Extract<SdkPart, { readonly type: 'reasoning-start' | 'reasoning-delta' | 'reasoning-end' }>): void;
  /** Something else follows: what was reasoned so far stands before it. */
  readonly settle: () => void;
}

interface Block {
  text: GrowingText;
  metadata: unknown;
  /** Whether it has text or metadata that are not kept yet. */
  news: boolean;
}

/**
 * Reads reasoning, block by block.
 *
 * Some models end a block only with the answer, behind the calls that it led to (`@ai-sdk/google`). A block stands where it began, so it is kept once
 * something else follows; what it goes on with is a part of its own.
 *
 * @param think Takes the deltas.
 * @param keep Takes what goes back.
 */
export function createReasoning(think: (text: string) => void, keep: (part: Echoed) => void): Reasoning {
  const blocks = new Map<string, Block>();
  const settleBlock = (block: Block) => {
    if (!block.news) return;
    keep({ type: 'reasoning', text: block.text.toString(), ...metadataField('providerOptions', block.metadata) });
    block.text = new GrowingText();
    block.news = false;
  };
  return {
    add(part) {
      const block = blocks.get(part.id) ?? { text: new GrowingText(), metadata: undefined, news: false };
      blocks.set(part.id, block);
      block.metadata = part.providerMetadata ?? block.metadata;
      block.news ||= hasMetadata(part.providerMetadata);
      if (part.type === 'reasoning-delta' && part.delta !== '') {
        block.text.add(part.delta);
        block.news = true;
        think(part.delta);
      }
      if (part.type !== 'reasoning-end') return;
      settleBlock(block);
      blocks.delete(part.id);
    },
    settle: () => blocks.forEach(settleBlock),
  };
}
