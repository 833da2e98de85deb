import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** docs/decisions/007-lines-of-the-library.md says why. */
const LIMIT = 52_500;

/** How many lines of a file have code: those of its tokens, without comments and blank lines. */
function codeLines(file: string): number {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const lines = new Set<number>();
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    for (const child of children) visit(child);
    if (children.length > 0 || node.getWidth(source) === 0) return;
    for (let line = lineOf(node.getStart(source)); line <= lineOf(node.end); line++) lines.add(line);
  };
  visit(source);
  return lines.size;
}

describe('the size of the library', () => {
  it(`lib has at most ${LIMIT} lines of code`, () => {
    const files = readdirSync('lib', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(100);
    const lines = files.reduce((sum, name) => sum + codeLines(join('lib', name)), 0);
    expect(lines).toBeLessThanOrEqual(LIMIT);
  });
});
