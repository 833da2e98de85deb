/**
 * How much of a text's end may be the beginning of a tag: it is held back until more has come.
 *
 * @param text The text so far.
 * @param tags What is looked for. Each begins with `<` and has no other.
 */
export function heldBack(text: string, ...tags: readonly string[]): number {
  const at = text.lastIndexOf('<');
  return at !== -1 && tags.some((tag) => tag.startsWith(text.slice(at))) ? text.length - at : 0;
}
