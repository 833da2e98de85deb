/** A table of names as one text: many names in few lines. A bundler leaves it out where it is marked as pure. */
export const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));
