/** Databases keep whole milliseconds. `Infinity` is for ever. */
export const storedTime = (time: number): number => Math.ceil(Math.min(time, Number.MAX_SAFE_INTEGER));
