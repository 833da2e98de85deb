import { recordingError } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { asArray, finiteNumber, isRecord, objectOrEmpty, tryParseJson, type JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';
import { RECORDING_VERSION, runKey } from './entries.js';
import type {
  AgentEntry,
  DeltasEntry,
  EndEntry,
  ExchangeEntry,
  RecordingEntry,
  RequestEndEntry,
  RequestEntry,
  RunEntry,
  StartEntry,
  ValueEntry,
} from './entries.js';
import type { RecordedExchange } from './recordedExchange.js';
import { isEntry } from './validEntry.js';

/** A recording that was read: its runs, and the HTTP exchanges in the order of their requests. */
export interface RunRecording {
  readonly version: number;
  readonly runs: readonly RecordedRun[];
  readonly exchanges: readonly RecordedExchange[];
  /** The times of the exchanges, and of their frames. */
  readonly wire: readonly ExchangeEntry[];
  /** How many lines were not readable: what a crash cut off, and entries without the fields of their type. */
  readonly skipped: number;
}

/** One run, or everything that a recorded model was asked. */
export interface RecordedRun {
  readonly start: StartEntry;
  /** Whether texts, arguments and results were recorded. Without them, they are masked by dots. */
  readonly hasContent: boolean;
  readonly agent?: AgentEntry;
  /** In the order in which they were sent. */
  readonly requests: readonly RecordedRequest[];
  /** What happened, in order. Deltas are separate values again. */
  readonly steps: readonly RecordedStep[];
  /** Absent if the recording was cut off. */
  readonly end?: EndEntry;
}

export interface RecordedRequest {
  readonly entry: RequestEntry;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly settings: JsonObject;
  readonly end?: RequestEndEntry;
}

/** The position in the recording orders what happened at the same time. */
export interface RecordedStep {
  readonly at: number;
  readonly position: number;
  readonly entry: Exclude<RunEntry, DeltasEntry | StartEntry>;
}

type Open<T> = { -readonly [Field in keyof T]: T[Field] };

type OpenRequest = Open<RecordedRequest>;

interface OpenRun extends Open<RecordedRun> {
  readonly requests: OpenRequest[];
  readonly numbered: Map<number, OpenRequest>;
  readonly steps: RecordedStep[];
}

/**
 * Reads a recording of `record`, `recordRun` or `recordFetch`.
 *
 * It reads recordings of this version and of earlier ones, including the JSON document of `recorder.recording()`, which
 * has exchanges only. Entries of types that it does not know are ignored. Lines that are not readable are skipped and
 * counted (`skipped`): a crash leaves an incomplete line, to which the next process may append its own.
 *
 * ```ts
 * const { runs } = readRecording(await readFile('runs.jsonl', 'utf8'));
 * ```
 *
 * @param text The lines, as one text or one by one.
 * @returns The runs and the exchanges.
 * @throws ConfigurationError `recording` if no line is the header of a recording, or if a newer version wrote it.
 */
export function readRecording(text: string | Iterable<string>): RunRecording {
  const lines = typeof text === 'string' ? text.split('\n') : [...text];
  const old = typeof text === 'string' ? exchangesOnly(text) : undefined;
  if (old) return old;
  const reader = new RecordingReader();
  lines.forEach((line, index) => {
    if (line.trim() !== '') reader.readLine(line, index + 1);
  });
  return reader.recording();
}

/** A new process writes it first. Within the text of an entry, its quotes would be escaped. */
const headerStart = '{"type":"recording"';

/** What `recorder.recording()` returns: the format before there were lines. */
function exchangesOnly(text: string): RunRecording | undefined {
  const document = text.includes('"exchanges"') ? tryParseJson(text) : undefined;
  if (!isRecord(document) || !Array.isArray(document['exchanges'])) return undefined;
  const all: readonly unknown[] = document['exchanges'];
  const wire = all
    .map((exchange) => ({ type: 'exchange', at: 0, exchange, after: timesOf(exchange) }))
    .filter((entry): entry is ExchangeEntry => isEntry(entry));
  const exchanges = wire.map(({ exchange }) => exchange);
  return { version: 0, runs: [], exchanges, wire, skipped: all.length - exchanges.length };
}

const timesOf = (exchange: unknown): readonly number[] => asArray(objectOrEmpty(exchange)['frames']).map(() => 0);

const notARecording = (problem: string) =>
  recordingError(
    problem,
    'Pass the lines that record, recordRun or recordFetch has written: the first one is {"type":"recording",...}.',
  );

class RecordingReader {
  private version: number | undefined;
  private readonly hasContent = new Map<string | undefined, boolean>();
  private skipped = 0;
  private problem = 'The recording is empty.';
  private readonly runs: OpenRun[] = [];
  private readonly open = new Map<string, OpenRun>();
  private readonly wire: ExchangeEntry[] = [];

  readLine(line: string, number: number): void {
    const json = tryParseJson(line);
    const header = json === undefined ? line.lastIndexOf(headerStart) : -1;
    if (header > 0) {
      this.skip(`Line ${number} is not a JSON object.`); // a process has appended its header to what a crash cut off
      this.readLine(line.slice(header), number);
    } else if (!isRecord(json)) this.skip(`Line ${number} is not a JSON object.`);
    else if (json['type'] !== 'recording' && this.version === undefined)
      this.skip(`Line ${number} is not the header of a recording.`);
    else if (!isEntry(json)) this.skip(`Line ${number} has not the fields of its type.`);
    else this.read(json);
  }

  /** The first problem is that of a text without a header, which is not a recording. */
  private skip(problem: string): void {
    if (this.skipped === 0) this.problem = problem;
    this.skipped += 1;
  }

  private read(entry: RecordingEntry): void {
    switch (entry.type) {
      case 'recording':
        this.version = supportedVersion(entry.version);
        this.hasContent.set(entry.recorder, entry.content);
        break;
      case 'exchange':
        this.wire.push(entry);
        break;
      case 'start': {
        const hasContent = this.hasContent.get(entry.recorder) ?? true;
        const run: OpenRun = { start: entry, hasContent, requests: [], numbered: new Map(), steps: [] };
        this.runs.push(run);
        this.open.set(runKey(entry), run);
        break;
      }
      default: {
        const run = this.open.get(runKey(entry));
        if (run) this.readStep(run, entry);
      }
    }
  }

  recording(): RunRecording {
    const { version, runs, skipped } = this;
    if (version === undefined) throw notARecording(this.problem);
    const wire = [...this.wire].sort((a, b) => a.at - b.at);
    return { version, runs, exchanges: wire.map(({ exchange }) => exchange), wire, skipped };
  }

  private readStep(run: OpenRun, entry: Exclude<RunEntry, StartEntry>): void {
    switch (entry.type) {
      case 'deltas':
        for (const [at, value] of expand(entry)) this.add(run, value, at);
        return;
      case 'agent':
        run.agent = entry;
        break;
      case 'request':
        if (run.numbered.has(entry.request)) return; // otherwise, each would emit the chunks of all
        run.numbered.set(entry.request, addRequest(run.requests, entry));
        break;
      case 'requestEnd': {
        const request = run.numbered.get(entry.request);
        if (request) request.end = entry;
        break;
      }
      case 'end':
        run.end = entry;
        break;
      default:
    }
    this.add(run, entry, entry.at);
  }

  private add(run: OpenRun, entry: RecordedStep['entry'], at: number): void {
    run.steps.push({ at, position: run.steps.length, entry });
  }
}

function supportedVersion(version: unknown): number {
  const known = finiteNumber(version);
  if (known !== undefined && known <= RECORDING_VERSION) return known;
  throw recordingError(
    `The recording has version ${String(version)}, and this release reads up to version ${RECORDING_VERSION}.`,
    'Read it with the release of rivulet that wrote it, or with a newer one.',
  );
}

function* expand({ of, field, texts, after, ...delta }: DeltasEntry): Iterable<[at: number, entry: ValueEntry]> {
  for (const [index, text] of texts.entries()) {
    const at = delta.at + (after[index] ?? 0);
    const value: StreamEvent = { ...delta.value, [field]: text };
    yield [at, { ...delta, type: of, at, value }];
  }
}

/** Each request repeats the messages before it: they are copied when they are read. */
function addRequest(requests: OpenRequest[], entry: RequestEntry): OpenRequest {
  const count = requests.length + 1;
  const request: OpenRequest = {
    entry,
    get messages() {
      const messages: Message[] = [];
      for (const each of requests.slice(0, count)) {
        messages.splice(each.entry.earlier);
        for (const message of each.entry.messages) messages.push(message);
      }
      return messages;
    },
    tools: entry.tools ?? requests.at(-1)?.tools ?? [],
    settings: entry.settings ?? {},
  };
  requests.push(request);
  return request;
}
