/** A value of a tool's Observable, or a yield of its generator, that is marked as progress. */
export interface Progress<P = unknown> {
  readonly [progressValue]: P;
}

/** Registered, so that the ESM and the CommonJS build recognize each other's values. */
const progressValue: unique symbol = Symbol.for('rivulet.progress');

/**
 * Marks a value of a tool's Observable, or a yield of its generator, as progress: it is emitted at once and is never
 * the result.
 *
 * <span class="informal">"Still searching", rather than "here is the result".</span>
 *
 * ```ts
 * const search = tool({
 *   name: 'search',
 *   description: 'Searches the archive.',
 *   parameters: z.object({ query: z.string() }),
 *   execute: ({ query }) => concat(of(progress({ percent: 0 })), find(query)),
 * });
 * ```
 *
 * @param value The `value` of the `toolProgress` event. It is copied as JSON.
 * @returns The marked value.
 */
export function progress<P>(value: P): Progress<P> {
  return { [progressValue]: value };
}

export function isMarkedProgress(value: unknown): value is Progress {
  return typeof value === 'object' && value !== null && progressValue in value;
}

export function valueOfProgress<P>(marked: Progress<P>): P {
  return marked[progressValue];
}
