/**
 * Removes control characters, except tabs and line feeds, and characters that change the direction of writing: the text
 * of a model, a tool, a file or an error may contain escape sequences, or read differently from what it is.
 */
export function stripControlCharacters(text: string): string {
  return text.replace(/(?![\t\n])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, '');
}

/** A text about which a person decides. What shows as nothing or as a blank, or reorders the text, is its code. */
export const showHidden = (text: string): string =>
  text.replace(
    /[^\P{C}\t\n]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu,
    (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`,
  );

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
