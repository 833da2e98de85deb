import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { drawDiagram, drawFolder, firstSentence, namesIn } from '../../../marbles/drawing.js';
import { problemsOf, readings } from '../../support/marbleGuard.js';
import type { DiagramProject } from '../../support/marbleGuard.js';

const filesIn = (folder: string, ending: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file));
const textsOf = (folder: string, ending: string) =>
  Object.fromEntries(namesIn(folder, ending).map((name) => [name, readFileSync(join(folder, name + ending), 'utf8')]));

describe('marbles/', () => {
  it('marbles/ has a diagram of every operator, which a spec runs, with a title and a description', () => {
    const project: DiagramProject = {
      diagrams: textsOf('marbles', '.txt'),
      operators: textsOf('lib/operators', '.ts'),
      sources: filesIn('lib', '.ts').map((file) => readFileSync(file, 'utf8')),
      specs: filesIn('spec', '.spec.ts')
        .filter((file) => file !== join('spec', 'marbles.spec.ts'))
        .map((file) => readFileSync(file, 'utf8')),
    };
    expect(problemsOf(project)).toEqual([]);
  });

  it('marbles/ has an up-to-date drawing of every diagram', () => {
    expect(drawFolder('marbles', true)).toEqual([]);
  });
});

const text = '% Passes all on. Nothing else.\n\n-a-(bc|)\n\n> same()\n\n-a-(bc|)\n';
const same = 'export function same<T>(): MonoTypeOperatorFunction<T> {}';
const valid: DiagramProject = {
  diagrams: { same: text },
  operators: { same },
  sources: [same],
  specs: ["it('is the same', () => diagram('same', ({ source }) => source));"],
};

describe('problemsOf', () => {
  const faults: readonly (readonly [fault: string, project: Partial<DiagramProject>, says: string])[] = [
    ['a diagram that no spec runs', { specs: ["diagram('same.late', build)"] }, 'same.txt: no spec runs it'],
    [
      'an operator without a diagram',
      { operators: { other: 'export function other(): OperatorFunction<1, 2> {}' } },
      'lib/operators/other.ts has no diagram',
    ],
    ['a diagram of an unknown operator', { sources: [] }, 'which nothing in lib/ exports'],
    [
      'a box that names something else',
      { diagrams: { same: text.replace('> same', '> sameOld') } },
      'begin it with "same"',
    ],
    ['a diagram without a sentence', { diagrams: { same: text.replace(/%.*/, '%') } }, 'begin with a sentence'],
    ['an invalid text', { diagrams: { same: text.replaceAll('-a', '- a') } }, 'Line 3'],
  ];

  it('problemsOf accepts a valid project', () => {
    expect(problemsOf(valid)).toEqual([]);
    expect(
      problemsOf({ ...valid, diagrams: { 'same.twice': text }, specs: ["diagram<Streams>(\n  'same.twice', build)"] }),
    ).toEqual([]);
  });

  it('problemsOf requires no diagram of a file that exports no operator of the same name', () => {
    const operators = {
      ...valid.operators,
      helper: 'export function helper(): number {}',
      part: 'export function part() {\n  x();\n}\nfunction y(): OperatorFunction<1, 2> {',
    };
    expect(problemsOf({ ...valid, operators })).toEqual([]);
  });

  it.each(faults)('problemsOf reports %s', (_, fault, says) => {
    expect(problemsOf({ ...valid, ...fault })).toEqual([expect.stringContaining(says)]);
  });

  it('readings returns the frames of Swirly and of the loader', () => {
    const events = [
      { frame: 1, kind: 'N' },
      { frame: 3, kind: 'N' },
      { frame: 3, kind: 'N' },
      { frame: 3, kind: 'C' },
    ];
    const both = [
      { start: 0, events },
      { start: 0, events },
    ];
    expect(readings(text)).toEqual({ swirly: both, loader: both });
  });
});

describe('drawing', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'marbles-'));
    writeFileSync(join(folder, 'same.txt'), text);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('drawFolder writes a drawing next to each text, and then finds no problem', () => {
    expect(drawFolder(folder, true)).toEqual(['same.svg is missing: npm run marbles']);
    expect(drawFolder(folder, false)).toEqual([]);
    expect(drawFolder(folder, true)).toEqual([]);
  });

  it('drawFolder reports a drawing that is out of date, and one without a text', () => {
    drawFolder(folder, false);
    writeFileSync(join(folder, 'same.txt'), text.replaceAll('-a', '--a'));
    writeFileSync(join(folder, 'gone.svg'), '<svg/>');
    expect(drawFolder(folder, true)).toEqual([
      'gone.svg has no gone.txt: remove it.',
      'same.svg differs from a fresh drawing of same.txt: npm run marbles',
    ]);
  });

  it('drawFolder names the text that cannot be drawn, and draws the others', () => {
    writeFileSync(join(folder, 'bad.txt'), '-a b|');
    expect(drawFolder(folder, false)).toEqual([expect.stringContaining('bad.txt: Line 1')]);
    expect(namesIn(folder, '.svg')).toEqual(['same']);
  });

  it('drawDiagram draws on white, and sets the first sentence as the title', () => {
    const svg = drawDiagram(text.replace('all on', 'a < b & c on'));
    expect(svg).toContain('<title>Passes a &lt; b &amp; c on.</title>');
    expect(svg).toMatch(/<rect x="0" y="0" [^>]*fill="white"/);
  });

  it('drawDiagram shows an unsubscription as a dashed line in its frame', () => {
    const svg = drawDiagram(`${text.replaceAll('(bc|)', 'b--')}subs = ^----!\n`);
    expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
    expect(drawDiagram(text)).not.toContain('stroke-dasharray');
  });

  it('drawDiagram uses wider frames if events in adjacent frames would overlap', () => {
    const widthOf = (svg: string) => Number(/width="(\d+)/.exec(svg)?.[1]);
    expect(widthOf(drawDiagram(text.replace('-a-(bc|)', '-a(bc|)')))).toBeGreaterThan(widthOf(drawDiagram(text)));
  });

  it('firstSentence returns the first sentence of several lines', () => {
    expect(firstSentence('The second turn\nwaits for 1.5 s. Then it starts.')).toBe('The second turn waits for 1.5 s.');
  });
});
