/** A property, because wrappers copy those. */
const late: unique symbol = Symbol.for('rivulet.late');

/** Marks a tool whose calls begin when the response is complete, also with `eager`: it may be cut before. */
export const markLate = <T extends object>(tool: T): T => ({ ...tool, [late]: true });

export const isLate = (tool: (object & { readonly [late]?: true }) | undefined): boolean => tool?.[late] ?? false;
