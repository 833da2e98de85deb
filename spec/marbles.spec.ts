import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { drawDiagram, drawFolder, firstSentence, namesIn } from '../marbles/drawing.js';
import { problemsOf, readings } from './support/marbleGuard.js';
import type { House } from './support/marbleGuard.js';

const filesIn = (folder: string, ending: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file));
const textsOf = (folder: string, ending: string) =>
  Object.fromEntries(namesIn(folder, ending).map((name) => [name, readFileSync(join(folder, name + ending), 'utf8')]));

describe('marbles/', () => {
  it('holds a diagram of every operator, run by a spec, titled, described, and drawn as it runs', () => {
    const house: House = {
      diagrams: textsOf('marbles', '.txt'),
      operators: textsOf('lib/operators', '.ts'),
      sources: filesIn('lib', '.ts').map((file) => readFileSync(file, 'utf8')),
      specs: filesIn('spec', '.spec.ts')
        .filter((file) => file !== join('spec', 'marbles.spec.ts'))
        .map((file) => readFileSync(file, 'utf8')),
    };
    expect(problemsOf(house)).toEqual([]);
  });

  it('holds the drawings that its texts give', () => {
    expect(drawFolder('marbles', true)).toEqual([]);
  });
});

const text = '% Passes all on. Nothing else.\n\n-a-(bc|)\n\n> same()\n\n-a-(bc|)\n';
const same = 'export function same<T>(): MonoTypeOperatorFunction<T> {}';
const sound: House = {
  diagrams: { same: text },
  operators: { same },
  sources: [same],
  specs: ["it('is the same', () => diagram('same', ({ source }) => source));"],
};

describe('the guard of marbles/', () => {
  const faults: readonly (readonly [fault: string, house: Partial<House>, says: string])[] = [
    ['a diagram that no spec runs', { specs: ["diagram('same.late', build)"] }, 'same.txt is run by no spec'],
    [
      'an operator without a diagram',
      { operators: { other: 'export function other(): OperatorFunction<1, 2> {}' } },
      'lib/operators/other.ts has no diagram',
    ],
    ['a diagram of something that is not there', { sources: [] }, 'which nothing in lib/ exports'],
    [
      'a box that names something else',
      { diagrams: { same: text.replace('> same', '> sameOld') } },
      'begin it with "same"',
    ],
    ['a diagram without a sentence', { diagrams: { same: text.replace(/%.*/, '%') } }, 'begin with a sentence'],
    ['a text that cannot be read', { diagrams: { same: text.replaceAll('-a', '- a') } }, 'Line 3'],
  ];

  it('lets a sound house pass', () => {
    expect(problemsOf(sound)).toEqual([]);
    expect(
      problemsOf({ ...sound, diagrams: { 'same.twice': text }, specs: ["diagram<Streams>(\n  'same.twice', build)"] }),
    ).toEqual([]);
  });

  it('asks no diagram of a file that exports no operator of its name', () => {
    const operators = {
      ...sound.operators,
      helper: 'export function helper(): number {}',
      part: 'export function part() {\n  x();\n}\nfunction y(): OperatorFunction<1, 2> {',
    };
    expect(problemsOf({ ...sound, operators })).toEqual([]);
  });

  it.each(faults)('reports %s', (_, fault, says) => {
    expect(problemsOf({ ...sound, ...fault })).toEqual([expect.stringContaining(says)]);
  });

  it('reads where Swirly places each event', () => {
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

  it('writes a drawing beside each text, and then finds nothing to mend', () => {
    expect(drawFolder(folder, true)).toEqual(['same.svg is missing: npm run marbles']);
    expect(drawFolder(folder, false)).toEqual([]);
    expect(drawFolder(folder, true)).toEqual([]);
  });

  it('finds a drawing that is older than its text, and one without a text', () => {
    drawFolder(folder, false);
    writeFileSync(join(folder, 'same.txt'), text.replaceAll('-a', '--a'));
    writeFileSync(join(folder, 'gone.svg'), '<svg/>');
    expect(drawFolder(folder, true)).toEqual([
      'gone.svg has no gone.txt: remove it.',
      'same.svg differs from a fresh drawing of same.txt: npm run marbles',
    ]);
  });

  it('says which text cannot be drawn, and draws the others', () => {
    writeFileSync(join(folder, 'bad.txt'), '-a b|');
    expect(drawFolder(folder, false)).toEqual([expect.stringContaining('bad.txt: Line 1')]);
    expect(namesIn(folder, '.svg')).toEqual(['same']);
  });

  it('stands on white and carries its first sentence, for dark pages and for readers who do not see it', () => {
    const svg = drawDiagram(text.replace('all on', 'a < b & c on'));
    expect(svg).toContain('<title>Passes a &lt; b &amp; c on.</title>');
    expect(svg).toMatch(/<rect x="0" y="0" [^>]*fill="white"/);
  });

  it('shows where a line is unsubscribed, as a dashed line in that frame', () => {
    const svg = drawDiagram(`${text.replaceAll('(bc|)', 'b--')}subs = ^----!\n`);
    expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
    expect(drawDiagram(text)).not.toContain('stroke-dasharray');
  });

  it('is wider where events stand in neighbouring frames, which would cover each other', () => {
    const widthOf = (svg: string) => Number(/width="(\d+)/.exec(svg)?.[1]);
    expect(widthOf(drawDiagram(text.replace('-a-(bc|)', '-a(bc|)')))).toBeGreaterThan(widthOf(drawDiagram(text)));
  });

  it('takes the first sentence of prose over several lines', () => {
    expect(firstSentence('The second turn\nwaits for 1.5 s. Then it starts.')).toBe('The second turn waits for 1.5 s.');
  });
});
