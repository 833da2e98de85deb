/** The parts of Stryker's JSON report that are read. */
export interface MutationReport {
  /** By the path of the file. */
  readonly files: Readonly<Record<string, MutatedFile>>;
}

interface MutatedFile {
  readonly source: string;
  readonly mutants: readonly Mutant[];
}

interface Mutant {
  readonly status: string;
  readonly replacement: string;
  /** Lines and columns, from 1. */
  readonly location: { readonly start: Position; readonly end: Position };
}

interface Position {
  readonly line: number;
  readonly column: number;
}

/** How many mutants were killed, how many survived the tests that reach them, and how many no test reaches. */
export interface Score {
  readonly killed: number;
  readonly survived: number;
  readonly uncovered: number;
  /** The share of killed mutants, in percent. */
  readonly percent: number;
}

const scoreOf = (mutants: readonly Mutant[]): Score => {
  const count = (...wanted: string[]) => mutants.filter(({ status }) => wanted.includes(status)).length;
  const [killed, survived, uncovered] = [count('Killed', 'Timeout'), count('Survived'), count('NoCoverage')];
  return { killed, survived, uncovered, percent: (100 * killed) / Math.max(1, killed + survived + uncovered) };
};

/** The score of a room. */
export const roomScore = ({ files }: MutationReport): Score =>
  scoreOf(Object.values(files).flatMap(({ mutants }) => mutants));

/** Writes the score of a room, or of so many of its pieces, into the table of the README: `| room | score | ...`. */
export function withScore(
  readme: string,
  room: string,
  { killed, survived, uncovered, percent }: Score,
  pieces = Infinity,
): string {
  const date = new Date().toISOString().slice(0, 10);
  const part = pieces === Infinity ? 'all' : `${pieces} pieces`;
  const row = `| \`${room}\` | ${part} | ${percent.toFixed(1)} % | ${killed} | ${survived} | ${uncovered} | ${date} |`;
  const rows = new RegExp(`^\\| \`${room}\` +\\|.*$`, 'm');
  return rows.test(readme) ? readme.replace(rows, row) : readme.replace(/(\|[-| ]+\|\n)/, `$1${row}\n`);
}

/** What stands below a survivor that nobody has explained. */
const unexplained = 'Not explained.';

/**
 * The list of the mutants of a room that survive, as Markdown: for each file, each mutant as a list item, with the
 * explanation below it.
 *
 * @param earlier The list of an earlier run. Its explanations are kept for the mutants that still survive.
 */
export function survivorList(room: string, { files }: MutationReport, earlier: string): string {
  const explanations = explanationsOf(earlier);
  const sections = Object.entries(files).flatMap(([path, file]) => {
    const survivors = file.mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
    if (survivors.length === 0) return [];
    const title = `## ${path.replace(`lib/${room}/`, '')}: ${scoreOf(file.mutants).percent.toFixed(1)} %`;
    const items = survivors.map((mutant) => {
      const item = itemOf(file.source, mutant);
      return `${item}\n  ${explanations.get(keyOf(title.split(':')[0], item)) ?? unexplained}`;
    });
    return [`${title}\n\n${items.join('\n')}\n`];
  });
  return `# Survivors of \`${room}\`\n\n${sections.join('\n')}`;
}

/** The explanations of a list, by their file and their mutant. */
function explanationsOf(list: string): ReadonlyMap<string, string> {
  const explanations = new Map<string, string>();
  let file = '';
  const lines = list.split('\n');
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('## ')) file = line.split(':')[0] ?? '';
    const explanation = lines[index + 1]?.trim() ?? unexplained;
    if (line.startsWith('- ') && explanation !== unexplained) explanations.set(keyOf(file, line), explanation);
  }
  return explanations;
}

/**
 * What a mutant is found by in an earlier list. The formatter has changed the backticks and the spaces of that list, and
 * a test may reach the mutant by now.
 */
const keyOf = (file: string | undefined, item: string): string =>
  `${file}${item.replace(unreached, '')}`.replace(/[`\s]/g, '');

/** A mutant without its line number, so that an explanation is found again when lines move. */
function itemOf(source: string, { location: { start, end }, replacement, status }: Mutant): string {
  const lines = source.split('\n');
  const original = lines.slice(start.line - 1, end.line);
  const last = original.length - 1;
  original[last] = original[last]?.slice(0, end.column - 1) ?? '';
  original[0] = original[0]?.slice(start.column - 1) ?? '';
  const place = lines[start.line - 1] ?? '';
  const reached = status === 'NoCoverage' ? unreached : '';
  return `- ${code(original.join(' '))} → ${code(replacement)} in ${code(place)}${reached}`;
}

/** Follows an item whose code no test runs. */
const unreached = ' (no test reaches it)';

/** The longest excerpt of code in an item, in characters. */
const LONGEST = 100;

function code(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return `\`\` ${line.length > LONGEST ? `${line.slice(0, LONGEST)}...` : line} \`\``;
}
