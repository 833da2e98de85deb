import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { roomScore, survivorList, withScore } from './report.js';
import type { MutationReport } from './report.js';

const source = 'const a = 1;\nif (a === 1) return true;\n';
const at = (line: number, from: number, to: number) => ({
  start: { line, column: from },
  end: { line, column: to },
});
const survivor = { status: 'Survived', replacement: 'true', location: at(2, 5, 12) };
const report: MutationReport = {
  files: {
    'lib/tools/one.ts': { source, mutants: [survivor, { ...survivor, status: 'Killed' }] },
    'lib/tools/two.ts': { source, mutants: [{ ...survivor, status: 'Timeout' }] },
  },
};

describe('the report of mutants', () => {
  it('counts a mutant that times out as killed', () => {
    expect(roomScore(report)).toEqual({ killed: 2, survived: 1, uncovered: 0, percent: (100 * 2) / 3 });
  });

  it('replaces the row of a room, or adds it', () => {
    const table = '| room | score |\n| --- | --- |\n';
    const once = withScore(table, 'tools', roomScore(report));
    expect(once).toContain('| `tools` | all | 66.7 % | 2 | 1 | 0 |');
    expect(withScore(once, 'tools', { killed: 1, survived: 0, uncovered: 0, percent: 100 }, 9)).toMatch(
      /\n\| `tools` \| 9 pieces \| 100.0 % \| 1 \| 0 \| 0 \| [-\d]+ \|\n$/,
    );
  });

  it('lists the survivors of files that exist, each once', () => {
    const lists = join(import.meta.dirname, 'survivors');
    for (const list of readdirSync(lists)) {
      const files = [...readFileSync(join(lists, list), 'utf8').matchAll(/^## (\S+): /gm)].map(([, file = '']) => file);
      const missing = files.filter((file, index) => {
        return !existsSync(join('lib', list.replace('.md', ''), file)) || files.indexOf(file) !== index;
      });
      expect({ list, missing }).toEqual({ list, missing: [] });
    }
  });

  it('has a score of each room of the library', () => {
    const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
    const rooms = readdirSync('lib', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const scored = [...readme.matchAll(/^\| `(\w+)` +\|/gm)].map(([, room]) => room);
    expect(scored.sort()).toEqual(rooms.map(({ name }) => name).sort());
  });

  it('keeps the explanation of a survivor whose line has moved', () => {
    const list = survivorList('tools', report, '');
    expect(list).toBe(
      '# Survivors of `tools`\n\n## one.ts: 50.0 %\n\n' +
        '- `` a === 1 `` → `` true `` in `` if (a === 1) return true; ``\n  Not explained.\n',
    );
    const explained = list.replace('Not explained.', 'The caller checks it.');
    const moved: MutationReport = {
      files: { 'lib/tools/one.ts': { source: `\n${source}`, mutants: [{ ...survivor, location: at(3, 5, 12) }] } },
    };
    expect(survivorList('tools', moved, explained)).toContain('  The caller checks it.\n');
    const formatted = explained.replaceAll('`` ', '`').replaceAll(' ``', '`');
    expect(survivorList('tools', moved, formatted)).toContain('  The caller checks it.\n');
  });

  it('keeps the explanation in a list that was formatted, and of a survivor that a test reaches by now', () => {
    const unreached: MutationReport = {
      files: { 'lib/tools/one.ts': { source, mutants: [{ ...survivor, status: 'NoCoverage' }] } },
    };
    const list = survivorList('tools', unreached, '');
    expect(list).toContain('`` if (a === 1) return true; `` (no test reaches it)\n');
    const formatted = list.replace(/`` (.*?) ``/g, '`$1`').replace('Not explained.', 'The caller checks it.');
    expect(formatted).toContain('`a === 1` → `true`');
    expect(survivorList('tools', report, formatted)).toContain('  The caller checks it.\n');
  });
});
