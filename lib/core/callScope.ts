import { tap, type MonoTypeOperatorFunction } from 'rxjs';
import { hash } from './hash.js';
import { canonicalJson } from './json/canonical.js';
import type { JsonValue } from './json/json.js';
import { isMarkedProgress } from './progress.js';

interface NamedTool {
  readonly name: string;
}

/** A tool with its arguments, executed inside of a call. A wrapper may execute it again (`retryTool`). */
export class Occurrence {
  /** Whether it has failed, or was given up: what begins with the same arguments continues it. */
  isOver = false;

  constructor(
    readonly tool: NamedTool,
    /** The arguments, as text. */
    readonly args: string,
    /** Tells it from others with the same tool and arguments. Empty for the first one. */
    readonly path: string,
  ) {}

  /** What the execution begins. Another tool, or this one with other arguments, may begin the same. */
  scope(): CallScope {
    return new CallScope(`${this.path}/${hash(`${this.tool.name} ${this.args}`)}`);
  }

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
  private readonly occurrences = new Map<NamedTool, Map<string, Occurrence[]>>();

  constructor(private readonly path = '') {}

  begin(tool: NamedTool, args: unknown): Occurrence {
    const text = textOf(args);
    const ofTool = this.occurrences.get(tool) ?? new Map<string, Occurrence[]>();
    this.occurrences.set(tool, ofTool);
    const same = ofTool.get(text) ?? [];
    ofTool.set(text, same);
    const path = same.length === 0 ? this.path : `${this.path}.${same.length}`;
    const known = same.find(({ isOver }) => isOver);
    const occurrence = known ?? new Occurrence(tool, text, path);
    if (!known) same.push(occurrence);
    occurrence.isOver = false;
    return occurrence;
  }
}

interface ScopedContext {
  readonly scope?: CallScope | undefined;
  readonly outer?: { scope?: CallScope } | undefined;
}

/** That of a call of a tool. Undefined outside of a run. */
export function scopeOf({ scope, outer }: ScopedContext): CallScope | undefined {
  return scope ?? (outer && (outer.scope ??= new CallScope()));
}

/** Validated arguments may be of any type. Those that are not JSON are told apart by their order. */
function textOf(args: unknown): string {
  try {
    return canonicalJson(args as JsonValue);
  } catch {
    return '';
  }
}
