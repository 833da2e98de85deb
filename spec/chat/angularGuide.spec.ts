import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const guide = readFileSync(join(process.cwd(), 'docs/angular.md'), 'utf8');

/** The lines of a program of the guide, without empty ones and comments. Angular's compiler checks the program. */
function linesOf(file: string): readonly string[] {
  const [, program = ''] = guide.split(`// ${file}\n`);
  return (program.split('\n```')[0] ?? '').split('\n').filter((line) => !/^\s*(\/\/.*)?$/.test(line));
}

describe('the guide of Angular', () => {
  it('has a chat with a list, a login and files in at most 60 lines of at most 160 columns', () => {
    const lines = ['app.config.ts', 'chat.page.ts'].flatMap(linesOf);
    expect(lines.length).toBeGreaterThan(40); // the programs were found
    expect(lines.length).toBeLessThanOrEqual(60);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(160);
    const all = lines.join('\n');
    const shown = ['entries', 'deleted', 'open(', 'rename(', 'delete(', 'restore(', 'isUnread', 'clear(', 'filePart('];
    for (const name of shown) expect(all).toContain(name);
  });
});
