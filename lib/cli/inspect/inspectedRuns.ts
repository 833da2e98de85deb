import { Subject, type Observable } from 'rxjs';
import { asKnownEvent } from '../../core/eventGuards.js';
import { finiteNumber, isRecord, nonEmptyString, tryParseJson } from '../../core/json/json.js';
import { messageText } from '../../core/message.js';
import { shortJson } from '../../observe/draw/drawnLane.js';
import { wireOfRun } from '../../observe/draw/wire.js';
import { RECORDING_VERSION, runKey } from '../../observe/recording/entries.js';
import type { RecordingEntry, RunEntry, StartEntry } from '../../observe/recording/entries.js';
import { readRecording } from '../../observe/recording/readRecording.js';
import { isEntry } from '../../observe/recording/validEntry.js';

/** Times are those of the process that recorded it. */
export interface RunSummary {
  readonly id: number;
  readonly name?: string;
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly duration: number;
  /** Its finish reason, `failed`, `unsubscribed`, `cut off`; `running` as long as it has not ended. */
  readonly state: string;
  readonly turns: number;
  readonly calls: number;
  readonly entries: number;
}

export interface InspectorLimits {
  readonly runs: number;
  readonly length: number;
}

interface Source {
  header: string | undefined;
  readonly exchanges: string[];
  readonly runs: Map<string, InspectedRun>;
}

interface InspectedRun {
  summary: RunSummary;
  readonly source: Source;
  readonly key: string;
  readonly lines: string[];
  length: number;
}

/** Sources, and exchanges of a source, that are kept without a run. */
const MOST_WAITING = 100;

/** Ours has some hundred characters. */
const MOST_HEADER = 1000;

const defaultLimits: InspectorLimits = { runs: 500, length: 2 ** 28 };

export class InspectedRuns {
  private readonly sources = new Map<string, Source>();
  private readonly runs = new Map<number, InspectedRun>();
  private readonly changed = new Subject<void>();
  private lastId = 0;
  private length = 0;

  constructor(private readonly limits: InspectorLimits = defaultLimits) {}

  get changes(): Observable<void> {
    return this.changed;
  }

  /** Ignores other lines and entries of earlier runs. Nothing follows a file: a run without an end was cut off. */
  add(name: string, text: string, isFile = false): void {
    const source: Source = this.sources.get(name) ?? { header: undefined, exchanges: [], runs: new Map() };
    this.sources.set(name, source);
    for (const line of text.split('\n')) {
      const entry = line.trim() === '' ? undefined : tryParseJson(line);
      if (isRecord(entry) && isEntry(entry)) this.addEntry(source, line, entry);
    }
    if (isFile)
      for (const run of source.runs.values())
        if (run.summary.state === 'running') run.summary = { ...run.summary, state: 'cut off' };
    this.trim();
    this.changed.next();
  }

  list(): readonly RunSummary[] {
    return [...this.runs.values()].map(({ summary }) => summary).reverse();
  }

  textOf(id: number): string | undefined {
    const run = this.runs.get(id);
    if (!run) return undefined;
    const { header } = run.source;
    const first = header ?? JSON.stringify({ type: 'recording', version: RECORDING_VERSION, at: 0, content: true });
    return [first, ...run.lines, ...exchangesOf(run, first)].map((line) => `${line}\n`).join('');
  }

  private addEntry(source: Source, line: string, entry: RecordingEntry): void {
    switch (entry.type) {
      case 'recording':
        if (line.length <= MOST_HEADER) source.header = line;
        break;
      case 'exchange':
        this.addExchange(source, line);
        break;
      case 'start':
        this.startRun(source, line, entry);
        break;
      default: {
        const run = source.runs.get(runKey(entry));
        if (run) this.addLine(run, line, entry);
      }
    }
  }

  private addExchange(source: Source, line: string): void {
    source.exchanges.push(line);
    this.length += line.length;
    // Without runs, nothing else removes them.
    const excess = source.runs.size === 0 ? source.exchanges.length - MOST_WAITING : 0;
    for (const removed of source.exchanges.splice(0, Math.max(0, excess))) this.length -= removed.length;
  }

  private startRun(source: Source, line: string, entry: StartEntry): void {
    const id = ++this.lastId;
    const input = Array.isArray(entry.input) ? entry.input.map(messageText).join(' ').trim() : '';
    const name = shown(entry.name);
    const summary: RunSummary = {
      id,
      ...(name === undefined ? {} : { name }),
      title: shown(input) ?? name ?? (entry.kind === 'model' ? 'Model' : 'Run'),
      at: finiteNumber(entry.at) ?? 0,
      duration: 0,
      state: 'running',
      turns: 0,
      calls: 0,
      entries: 1,
    };
    const key = runKey(entry);
    const run: InspectedRun = { summary, source, key, lines: [line], length: line.length };
    source.runs.set(key, run);
    this.runs.set(id, run);
    this.length += line.length;
  }

  private addLine(run: InspectedRun, line: string, entry: Exclude<RunEntry, StartEntry>): void {
    run.lines.push(line);
    run.length += line.length;
    this.length += line.length;
    const { summary } = run;
    const last = entry.type === 'deltas' ? (finiteNumber(entry.after.at(-1)) ?? 0) : 0;
    const duration = Math.max(summary.duration, (finiteNumber(entry.at) ?? 0) + last - summary.at);
    run.summary = { ...summary, duration, entries: summary.entries + 1, ...progressOf(summary, entry) };
  }

  private trim(): void {
    const idle = [...this.sources].filter(([, { runs }]) => runs.size === 0);
    for (const [name, source] of idle.slice(0, Math.max(0, idle.length - MOST_WAITING))) {
      this.removeExchanges(source);
      this.sources.delete(name);
    }
    if (this.length > this.limits.length)
      for (const source of this.sources.values()) if (source.runs.size === 0) this.removeExchanges(source);
    const { runs, limits } = this;
    const isFull = () => runs.size > 1 && (runs.size > limits.runs || this.length > limits.length);
    for (const isRemoved of [({ summary }: InspectedRun) => summary.state !== 'running', () => true])
      for (const run of runs.values()) if (isFull() && isRemoved(run)) this.remove(run);
  }

  private remove({ summary, source, key, length }: InspectedRun): void {
    this.runs.delete(summary.id);
    this.length -= length;
    source.runs.delete(key);
    if (source.runs.size === 0) this.removeExchanges(source);
  }

  private removeExchanges(source: Source): void {
    for (const line of source.exchanges.splice(0)) this.length -= line.length;
  }
}

/** The list has every run, and each page receives it at each change. */
const shown = (text: unknown): string | undefined =>
  nonEmptyString(text) === undefined ? undefined : shortJson(text, 200);

function exchangesOf({ source, lines, key }: InspectedRun, header: string): readonly string[] {
  const { exchanges, runs } = source;
  if (exchanges.length === 0) return [];
  try {
    const others = [...runs.values()].filter((run) => run.key !== key).flatMap((run) => run.lines);
    const recording = readRecording([header, ...lines, ...others, ...exchanges]);
    const [run] = recording.runs;
    return run ? [...wireOfRun(recording, run).values()].flat().map((entry) => JSON.stringify(entry)) : [];
  } catch {
    return []; // the lines of a run say what is wrong when they are read
  }
}

function progressOf(summary: RunSummary, entry: Exclude<RunEntry, StartEntry>): Partial<RunSummary> {
  switch (entry.type) {
    case 'end': {
      const isDone = entry.outcome === 'completed' && summary.state !== 'running';
      return { state: isDone ? summary.state : (shown(entry.outcome) ?? 'ended') };
    }
    case 'event':
    case 'both': {
      const event = asKnownEvent(entry.value);
      if (event.type === 'turn') return { turns: event.turn };
      if (event.type === 'toolCall') return { calls: summary.calls + 1 };
      return event.type === 'result' ? { state: shown(event.result.finishReason) ?? 'ended' } : {};
    }
    default:
      return {};
  }
}
