/** Characters that control a terminal, except tabs and line breaks. */
const controlCharacters =
  // eslint-disable-next-line no-control-regex -- that is its purpose
  /\x1b\[[\d;?]*[ -/]*[@-~]|[^\P{Cc}\t\n]/gu;

/** Characters that reverse the order of a line. */
export const bidiControls = /[\u202a-\u202e\u2066-\u2069]/g;

/** Every text of others that is written to a terminal, or becomes the message of an error, passes here. */
export const plainText = (text: string): string => text.replace(controlCharacters, '').replace(bidiControls, '');
