/** What a program of the documents says that it prints. */
export interface ExpectedOutput {
  /** What follows a `console.log(...);` as a comment: a part of the output. */
  readonly parts: readonly string[];
  /** The comment lines at the end of the program, if it has any: the complete output. */
  readonly all: string | undefined;
}

/** Reads what a program says that it prints. */
export function expectedOutput(code: string): ExpectedOutput {
  const inLine = code.matchAll(/console\.log\(.*\).*; \/\/ (.+)$/gm);
  const overLines = code.matchAll(/console\.log\([^;]*; \/\/ (.+)$/gm);
  const parts = [...inLine, ...overLines].map(([, part = '']) => part.replaceAll('\\n', '\n'));
  const all = /(?:^\/\/ .*\n)+(?![^])/m
    .exec(code)?.[0]
    .replace(/^\/\/ /gm, '')
    .trimEnd();
  return { parts, all };
}

/** Returns what is wrong with the output of a program; undefined if nothing is. */
export function wrongOutput({ parts, all }: ExpectedOutput, printed: string): string | undefined {
  const missing = parts.find((part) => !printed.includes(part));
  if (missing !== undefined) return `does not print ${JSON.stringify(missing)}: ${printed}`;
  if (all !== undefined && printed.trimEnd() !== all) return `prints something else: ${printed}`;
  return printed === '' ? 'prints nothing' : undefined;
}
