import type { MarkedExtension } from 'marked';
import type { RenderMarkdown } from './markdownWriter.js';

/** `marked` and `marked-terminal` are optional: undefined if they are not installed. */
export async function loadMarkdown(): Promise<RenderMarkdown | undefined> {
  try {
    const [{ Marked }, { markedTerminal }] = await Promise.all([import('marked'), import('marked-terminal')]);
    return (block, columns) => {
      const extension = markedTerminal({ width: columns, reflowText: true, showSectionPrefix: false, tab: 2 });
      return new Marked(extension as MarkedExtension).parse(block, { async: false }).trimEnd();
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
