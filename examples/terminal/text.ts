/**
 * Removes control characters, except tabs and line feeds: the text of a model or of a file may contain escape
 * sequences.
 */
export function stripControlCharacters(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters, and those that change the direction of writing
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}

/** A text as one line of at most `columns` columns. */
export function oneLine(text: string, columns: number): string {
  const line = stripControlCharacters(text.replace(/\s+/g, ' ').trim());
  let width = 0;
  let fitting = '';
  for (const character of line) {
    width += widthOf(character);
    if (width > columns) return `${fitting}…`;
    if (width < columns) fitting += character;
  }
  return line;
}

/** A character that may be two columns wide counts as two: a line that wraps cannot be rewritten in place. */
const widthOf = (character: string) => ((character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2);

/** A JSON value inside a line: a string as it is, anything else as JSON. */
export const toInlineText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
