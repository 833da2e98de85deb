import { readFileSync } from 'node:fs';

/** The pieces of code within the text of a document, without its blocks of code. */
export const inlineCodeOf = (document: string): readonly string[] =>
  [
    ...readFileSync(document, 'utf8')
      .replace(/^ *```[^]*?^ *```$/gm, '')
      .matchAll(/`([^`\n]+)`/g),
  ].map(([, code = '']) => code);
