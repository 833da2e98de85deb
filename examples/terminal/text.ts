/** Without what commands a terminal: a model, or a file that a tool read, may hold escape sequences. Tabs and line feeds stay. */
export function harmless(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters, and those that turn the direction of writing
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}

/** A text as one line of at most so many columns. */
export function oneLine(text: string, columns: number): string {
  const line = harmless(text.replace(/\s+/g, ' ').trim());
  let width = 0;
  let fits = '';
  for (const character of line) {
    width += widthOf(character);
    if (width > columns) return `${fits}…`;
    if (width < columns) fits += character;
  }
  return line;
}

/** What may be two columns wide counts as two: counted too short, a line would wrap, and a wrapped line cannot be rewritten in place. */
const widthOf = (character: string) => ((character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2);

/** A JSON value within a line: a text as it is, anything else as JSON. */
export const inline = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
