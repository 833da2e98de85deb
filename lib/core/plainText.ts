/** Characters that reverse the order of a line. */
export const bidiControls = /[\u202a-\u202e\u2066-\u2069]/g;

/** Characters that control a terminal, except tabs and line breaks, and `bidiControls`: one expression is smaller. */
const controlCharacters =
  // eslint-disable-next-line no-control-regex -- that is its purpose
  /\x1b\[[\d;?]*[ -/]*[@-~]|[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]/gu;

/** Every text of others that is written to a terminal, or becomes the message of an error, passes here. */
export const plainText = (text: string): string => text.replace(controlCharacters, '');

/** What shows as nothing, or as a blank, or makes text look like other text (https://trojansource.codes). */
const hiddenCharacters =
  /[^\P{C}\n]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{16fe4}\u2800\u{13441}\u{13442}\u{1d159}]/gu;

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** JSON, or the source text of a string, in which nothing is invisible. A pair of surrogates becomes two escapes. */
export const escapeHidden = (text: string): string =>
  text.replace(hiddenCharacters, (hidden) => hidden.replace(/[^]/g, escapeUnit));
