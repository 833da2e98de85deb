import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { otherContent } from './otherContent.js';
import { replay } from './replay.js';

/** `openai` does not import them. */
export const compatible = { otherContent, replay, contextLengthPatterns };
