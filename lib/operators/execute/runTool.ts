import { Observable, type Subscriber } from 'rxjs';
import { CallScope, scopeOf } from '../../core/callScope.js';
import type { JsonValue } from '../../core/json/json.js';
import { progress, type Progress } from '../../core/progress.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import type { Usage } from '../../core/usage.js';
import { createToolContext, ToolExecution, type ExecutionObserver } from './toolExecution.js';

/** Marked progress, or, last, the result. */
export type ToolValue = Progress<JsonValue> | JsonValue;

/** At the deadline, a held value is emitted as progress, and a TimeoutError follows. */
export function runTool(
  tool: Tool,
  args: unknown,
  context: Parameters<NonNullable<Tool['execute']>>[1],
  deadline = Infinity,
): Observable<ToolValue> {
  const { signal: _, progress: _progress, usage, ...given } = context as ToolContext;
  const occurrence = (scopeOf(given) ?? new CallScope()).begin(tool, args);
  const run = new Observable<ToolValue>((out) => {
    const scope = occurrence.scope();
    const execution = new ToolExecution(new ToolValues(out, usage));
    const { clocks } = given.outer ?? {};
    out.add(() => clocks?.delete(execution));
    out.add(execution);
    clocks?.add(execution);
    execution.limit(deadline);
    execution.start(() => tool.execute?.(args, createToolContext(execution, { ...given, scope })));
  });
  return run.pipe(occurrence.follow());
}

class ToolValues implements ExecutionObserver {
  constructor(
    private readonly out: Subscriber<ToolValue>,
    readonly usage: (usage: Usage) => void,
  ) {}

  progress(value: JsonValue): void {
    this.out.next(progress(value));
  }

  result(value: JsonValue): void {
    this.out.next(value);
    this.out.complete();
  }

  error(thrown: unknown): void {
    this.out.error(thrown);
  }
}
