/** Characters that reverse the order of a line. */
export const bidiControls = /[\u202a-\u202e\u2066-\u2069]/g;

/** Characters that control a terminal, except tabs and line breaks, and `bidiControls`: one expression is smaller. */
const controlCharacters =
  // eslint-disable-next-line no-control-regex -- that is its purpose
  /\x1b\[[\d;?]*[ -/]*[@-~]|[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]/gu;

/** Every text of others that is written to a terminal, or becomes the message of an error, passes here. */
export const plainText = (text: string): string => text.replace(controlCharacters, '');

/** Text that looks like other text (https://trojansource.codes). */
const hiddenCharacters = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** JSON, or the source text of a string, in which nothing is invisible: JSON escapes the other characters. */
export const escapeHidden = (text: string): string =>
  text.replace(hiddenCharacters, (hidden) => `\\u${hidden.charCodeAt(0).toString(16).padStart(4, '0')}`);
