import type { Occurrence } from './callScope.js';
import type { InnerTask, ResumedRun } from './checkpoint.js';
import { hash } from './hash.js';

/** Where an inner run stands among those of its call. */
export interface InnerPlace {
  readonly task: InnerTask;
  /** The run that is resumed here. */
  readonly resumed: ResumedRun | undefined;
}

/**
 * The places of all that a tool begins inside of a call: it runs agents, asks, or runs tools that do. What begins again
 * has the same place, in memory and in another process: it is found by its tool and its arguments, in any order. If the
 * arguments have changed meanwhile, it is found by the order.
 */
export class InnerPlaces {
  /** By the tool, and its arguments. */
  private readonly known = new Map<object, Map<string, InnerPlace>>();
  private readonly begun: InnerTask[] = [];
  /** What an earlier process has begun, and nothing has continued yet. */
  private readonly left: Set<InnerPlace>;

  constructor(resumed: readonly ResumedRun[] = [], begun: readonly InnerTask[] = []) {
    const stored = resumed.flatMap((run) => (run.checkpoint.task ? [{ task: run.checkpoint.task, resumed: run }] : []));
    this.left = new Set([...stored, ...begun.map((task) => ({ task, resumed: undefined }))]);
  }

  /** All that has begun. */
  get tasks(): readonly InnerTask[] {
    return [...this.begun, ...[...this.left].map(({ task }) => task)];
  }

  of(kind: InnerTask['kind'], name: string, { tool, args, path }: Occurrence): InnerPlace {
    const ofTool = this.known.get(tool) ?? new Map<string, InnerPlace>();
    this.known.set(tool, ofTool);
    const content = `${path} ${args}`;
    const same = ofTool.get(content);
    if (same) return same;
    const begun = { kind, name, arguments: hash(content), order: this.begun.length };
    const earlier = this.take(begun);
    const task = { ...begun, order: earlier?.task.order ?? this.freeOrder() };
    const place = { task, resumed: earlier?.resumed };
    ofTool.set(content, place);
    this.begun.push(task);
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

interface PlacedCall {
  readonly resumed: readonly ResumedRun[] | undefined;
  readonly begun: readonly InnerTask[] | undefined;
  places?: InnerPlaces;
}

export const placesOf = (outer: PlacedCall): InnerPlaces =>
  (outer.places ??= new InnerPlaces(outer.resumed, outer.begun));
