/** The parts of Stryker's JSON report that are read. */
export interface MutationReport {
  readonly files: Readonly<Record<string, { readonly mutants: readonly { readonly status: string }[] }>>;
}

/** Writes the score of a room into the table of the README: a row is `| room | score | ...`. */
export function withScore(readme: string, room: string, { files }: MutationReport): string {
  const statuses = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status));
  const count = (...wanted: string[]) => statuses.filter((status) => wanted.includes(status)).length;
  const [killed, survived, uncovered] = [count('Killed', 'Timeout'), count('Survived'), count('NoCoverage')];
  const score = ((100 * killed) / Math.max(1, killed + survived + uncovered)).toFixed(1);
  const date = new Date().toISOString().slice(0, 10);
  const row = `| \`${room}\` | ${score} % | ${killed} | ${survived} | ${uncovered} | ${date} |`;
  const rows = new RegExp(`^\\| \`${room}\` \\|.*$`, 'm');
  return rows.test(readme) ? readme.replace(rows, row) : readme.replace(/(\|[-| ]+\|\n)/, `$1${row}\n`);
}
