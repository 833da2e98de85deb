import type { Occurrence } from './callScope.js';
import type { InnerTask, ResumedRun } from './checkpoint.js';
import { hash } from './hash.js';
import { canonicalJson } from './json/canonical.js';
import { isSameJson } from './json/equal.js';
import type { JsonValue } from './json/json.js';
import type { OuterRun } from './nested.js';

/** Where an inner run stands among those of its call. */
export interface InnerPlace {
  readonly task: InnerTask;
  /** The run that is resumed here. */
  readonly resumed: ResumedRun | undefined;
}

type Known = InnerPlace & Pick<Occurrence, 'tool' | 'args' | 'path'>;

/**
 * The places of all that a tool begins inside of a call: it runs agents, asks, or runs tools that do. What begins again
 * has the same place, in memory and in another process: it is found by its tool and its arguments, in any order. If the
 * arguments have changed meanwhile, it is found by the order.
 */
export class InnerPlaces {
  private readonly known: Known[] = [];
  /** What an earlier process has begun, and nothing has continued yet. */
  private readonly left: Set<InnerPlace>;

  constructor(resumed: readonly ResumedRun[] = [], begun: readonly InnerTask[] = []) {
    const stored = resumed.flatMap((run) => (run.checkpoint.task ? [{ task: run.checkpoint.task, resumed: run }] : []));
    this.left = new Set([...stored, ...begun.map((task) => ({ task, resumed: undefined }))]);
  }

  /** All that has begun. */
  get tasks(): readonly InnerTask[] {
    return [...this.known, ...this.left].map(({ task }) => task);
  }

  of(kind: InnerTask['kind'], name: string, { tool, args, path }: Occurrence): InnerPlace {
    const isSame = (one: Known) => one.tool === tool && one.path === path && isSameJson(one.args, args);
    const same = this.known.find(isSame);
    if (same) return same;
    const task = { kind, name, arguments: contentOf(args, path), order: this.known.length };
    const earlier = this.take(task);
    const order = earlier?.task.order ?? this.freeOrder();
    const place = { tool, args, path, task: { ...task, order }, resumed: earlier?.resumed };
    this.known.push(place);
    return place;
  }
  private take({ kind, name, arguments: args, order }: InnerTask): InnerPlace | undefined {
    const named = [...this.left].filter(({ task }) => task.name === name);
    const isSame = ({ task }: InnerPlace) => task.kind === kind && task.arguments === args;
    const found = named.find(isSame) ?? named.find(({ task }) => task.order === order);
    if (found) this.left.delete(found);
    return found?.task.kind === kind ? found : undefined; // of another kind: the tool has changed, and begins again
  }

  private freeOrder(): number {
    const used = new Set(this.tasks.map(({ order }) => order));
    let order = 0;
    while (used.has(order)) order++;
    return order;
  }
}

export const placesOf = (outer: OuterRun): InnerPlaces =>
  (outer.places ??= new InnerPlaces(outer.resumed, outer.begun));

/** Validated arguments may be anything. If they are no JSON, the name and the order are all that is known. */
function contentOf(args: unknown, path: string): string {
  try {
    return hash(canonicalJson([path, args as JsonValue]));
  } catch {
    return path;
  }
}
