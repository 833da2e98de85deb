import { tap, type MonoTypeOperatorFunction } from 'rxjs';
import { isSameJson } from './json/equal.js';
import { isMarkedProgress } from './progress.js';
import type { ToolContext } from './tool.js';

/** A tool and its arguments, executed inside of a call. A wrapper may execute it again (`retryTool`). */
export class Occurrence {
  /** Whether it has failed, or was given up: what begins with the same arguments continues it. */
  isOver = false;

  constructor(
    readonly tool: object,
    readonly args: unknown,
    /** Tells it from others with the same tool and arguments. Empty for the first one. */
    readonly path: string,
  ) {}

  follow<T>(): MonoTypeOperatorFunction<T> {
    let hasResult = false; // whoever has taken it may unsubscribe (`first`)
    return tap({
      subscribe: () => (this.isOver = hasResult = false),
      next: (value) => (hasResult ||= !isMarkedProgress(value)),
      error: () => (this.isOver = true),
      unsubscribe: () => (this.isOver = !hasResult),
    });
  }
}

/** One execution of a tool, with the tools that it executes. A tool may execute another one several times. */
export class CallScope {
  private readonly occurrences: Occurrence[] = [];

  constructor(private readonly path = '') {}

  begin(tool: object, args: unknown): Occurrence {
    const same = this.occurrences.filter((one) => one.tool === tool && isSameArgs(one.args, args));
    const known = same.find(({ isOver }) => isOver);
    const occurrence =
      known ?? new Occurrence(tool, args, same.length === 0 ? this.path : `${this.path}.${same.length}`);
    if (!known) this.occurrences.push(occurrence);
    occurrence.isOver = false;
    return occurrence;
  }
}

/** That of a call of a tool. Undefined outside of a run. */
export function scopeOf({ scope, outer }: Pick<ToolContext, 'scope' | 'outer'>): CallScope | undefined {
  return scope ?? (outer && (outer.scope ??= new CallScope()));
}

const isSameArgs = (left: unknown, right: unknown): boolean => left === right || isSameJson(left, right);
