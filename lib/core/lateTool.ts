/** A property, because wrappers copy those. */
const late: unique symbol = Symbol.for('rivulet.late');

type LateTool = object & { readonly [late]?: (idempotencyKey: string) => Error | undefined };

const noRefusal = () => undefined;

/** Marks a tool whose calls begin when the response is complete, also with `eager`: it may be cut before. */
export const markLate = <T extends LateTool>(tool: T, refusal: LateTool[typeof late] = noRefusal): T => ({
  ...tool,
  [late]: refusal,
});

export const isLate = (tool: LateTool = {}): boolean => tool[late] !== undefined;

/** Why a call does not begin, whatever a person says: nobody is asked about it. Undefined: it may begin. */
export const refusalOf = (tool: LateTool = {}, idempotencyKey: () => string): Error | undefined =>
  tool[late]?.(idempotencyKey());
