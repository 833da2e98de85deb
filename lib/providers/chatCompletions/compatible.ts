import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { otherContent } from './otherContent.js';
import { replay } from './replay.js';

/** The import of `openai` does not include these parts. */
export const compatible = { otherContent, replay, contextLengthPatterns };
