import type { JsonObject } from '../../core/json/json.js';

export interface Span {
  readonly kind:
    | 'wait'
    | 'answer'
    | 'silence'
    | 'retry'
    | 'rateLimit'
    | 'queued'
    | 'approval'
    | 'running'
    | 'void'
    | 'turn';
  readonly from: number;
  readonly to: number;
  readonly label: string;
}

export interface Mark {
  readonly kind: 'subscribe' | 'unsubscribe' | 'stop' | 'prompt' | 'progress' | 'result' | 'error' | 'retract';
  readonly at: number;
  readonly label: string;
}

export interface Tick {
  readonly kind: 'text' | 'thinking' | 'call';
  readonly at: number;
  readonly size: number;
  isVoid: boolean;
}

export type Outcome = 'open' | 'completed' | 'failed' | 'stopped' | 'void';

/** A run, a turn, a request, a tool call or an agent that ran as a tool. */
export class Lane {
  readonly spans: Span[] = [];
  readonly marks: Mark[] = [];
  readonly ticks: Tick[] = [];
  readonly children: Lane[] = [];
  note = '';
  end: number | undefined;
  outcome: Outcome = 'open';

  constructor(
    readonly kind: 'run' | 'turn' | 'request' | 'tool',
    readonly name: string,
    readonly start: number,
    readonly request?: number,
  ) {}

  add(child: Lane): Lane {
    this.children.push(child);
    return child;
  }

  close(at: number, outcome: Outcome): void {
    if (this.end !== undefined) return;
    this.end = at;
    this.outcome = outcome;
  }
}

export interface DrawnItem {
  readonly at: number;
  readonly lane: Lane;
  /** `event`; `chunk` if only the model emitted it; `entry` for another entry, whose type is in `type`. */
  readonly kind: string;
  readonly type: string;
  readonly value: unknown;
}

export interface Drawing {
  readonly title: string;
  readonly root: Lane;
  readonly duration: number;
  readonly items: readonly DrawnItem[];
  readonly facts: readonly Fact[];
}

export interface Fact {
  readonly name: string;
  readonly value: string;
}

export function formatTime(milliseconds: number): string {
  const rounded = Math.round(milliseconds);
  if (rounded < 1000) return `${rounded} ms`;
  if (rounded < 60_000) return `${Number((rounded / 1000).toFixed(rounded < 10_000 ? 2 : 1))} s`;
  const seconds = Math.round(rounded / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function shortJson(value: unknown, length = 60): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) as string | undefined);
  const line = (text ?? '').replaceAll(/\s+/g, ' ');
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

export function shortArguments(args: JsonObject): string {
  const values = Object.values(args);
  if (values.length === 0) return '';
  return shortJson(values.length === 1 ? values[0] : args);
}
