import { ConfigurationError } from '../core/errors.js';
import type { StreamEvent } from '../core/event.js';
import { finiteNumber, isRecord, tryParseJson } from '../core/json/json.js';
import type { JsonObject } from '../core/json/json.js';
import type { Message } from '../core/message.js';
import type { ToolDefinition } from '../core/tool.js';
import { RECORDING_VERSION } from './entries.js';
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

/** A recording that was read: its runs, and the HTTP exchanges in the order of their requests. */
export interface RunRecording {
  readonly version: number;
  readonly runs: readonly RecordedRun[];
  readonly exchanges: readonly RecordedExchange[];
  /** The times of the exchanges, and of their frames. */
  readonly wire: readonly ExchangeEntry[];
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

/** A request, with its complete messages and tools. */
export interface RecordedRequest {
  readonly entry: RequestEntry;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly settings: JsonObject;
  /** Absent if the recording was cut off. */
  readonly end?: RequestEndEntry;
}

/** An entry of a run, with its position in the recording, which orders what happened at the same time. */
export interface RecordedStep {
  readonly at: number;
  readonly position: number;
  readonly entry: Exclude<RunEntry, DeltasEntry | StartEntry>;
}

/** A run that is being read. */
interface OpenRun {
  readonly start: StartEntry;
  readonly hasContent: boolean;
  agent?: AgentEntry;
  readonly requests: OpenRequest[];
  readonly steps: RecordedStep[];
  end?: EndEntry;
}

type OpenRequest = { -readonly [Field in keyof RecordedRequest]: RecordedRequest[Field] };

/**
 * Reads a recording of `record`, `recordRun` or `recordFetch`.
 *
 * It reads recordings of this version and of earlier ones, including the JSON document of `recorder.recording()`, which
 * has exchanges only. Entries of types that it does not know are ignored, and so is an incomplete last line: what was
 * recorded before a crash is complete.
 *
 * ```ts
 * const { runs } = readRecording(await readFile('runs.jsonl', 'utf8'));
 * ```
 *
 * @param text The lines, as one text or one by one.
 * @returns The runs and the exchanges.
 * @throws ConfigurationError `recording` if a line is not JSON, if the text is not a recording, or if a newer version
 * wrote it.
 */
export function readRecording(text: string | Iterable<string>): RunRecording {
  const lines = typeof text === 'string' ? text.split('\n') : [...text];
  const old = typeof text === 'string' ? exchangesOnly(text) : undefined;
  if (old) return old;
  const reader = new RecordingReader();
  const last = lines.findLastIndex((line) => line.trim() !== '');
  lines.forEach((line, index) => {
    if (line.trim() === '') return;
    const entry = tryParseJson(line);
    if (isRecord(entry)) reader.read(entry as unknown as RecordingEntry, index + 1);
    else if (index < last || index === 0) throw notARecording(`Line ${index + 1} is not a JSON object.`);
  });
  return reader.recording();
}

/** The document that `recorder.recording()` returns: the format before there were lines. */
function exchangesOnly(text: string): RunRecording | undefined {
  const document = text.includes('"exchanges"') ? tryParseJson(text) : undefined;
  if (!isRecord(document) || !Array.isArray(document['exchanges'])) return undefined;
  const exchanges = document['exchanges'] as unknown as readonly RecordedExchange[];
  const wire = exchanges.map((exchange): ExchangeEntry => ({
    type: 'exchange',
    at: 0,
    exchange,
    after: exchange.frames.map(() => 0),
  }));
  return { version: 0, runs: [], exchanges, wire };
}

const notARecording = (problem: string) =>
  new ConfigurationError(
    'recording',
    problem,
    'Pass the lines that record, recordRun or recordFetch has written: the first one is {"type":"recording",...}.',
  );

/** Collects entries into runs. */
class RecordingReader {
  private version: number | undefined;
  private hasContent = true;
  private position = 0;
  private readonly runs: OpenRun[] = [];
  private readonly byNumber = new Map<number, OpenRun>();
  private readonly wire: ExchangeEntry[] = [];

  read(entry: RecordingEntry, line: number): void {
    if (entry.type === 'recording') {
      this.version = supportedVersion(entry.version);
      this.hasContent = (entry.content as boolean | undefined) ?? true;
      return;
    }
    if (this.version === undefined) throw notARecording(`Line ${line} is not the header of a recording.`);
    switch (entry.type) {
      case 'exchange':
        this.wire.push(entry);
        break;
      case 'start': {
        const run: OpenRun = { start: entry, hasContent: this.hasContent, requests: [], steps: [] };
        this.runs.push(run);
        this.byNumber.set(entry.run, run);
        break;
      }
      default: {
        const run = this.byNumber.get(entry.run);
        if (run) this.readStep(run, entry);
      }
    }
  }

  recording(): RunRecording {
    if (this.version === undefined) throw notARecording('The recording is empty.');
    const wire = [...this.wire].sort((a, b) => a.at - b.at);
    return { version: this.version, runs: this.runs, exchanges: wire.map(({ exchange }) => exchange), wire };
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
        run.requests.push(completeRequest(entry, run.requests.at(-1)));
        break;
      case 'requestEnd': {
        const request = run.requests.find((each) => each.entry.request === entry.request);
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
    run.steps.push({ at, position: this.position++, entry });
  }
}

function supportedVersion(version: unknown): number {
  const known = finiteNumber(version);
  if (known !== undefined && known <= RECORDING_VERSION) return known;
  throw new ConfigurationError(
    'recording',
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

function completeRequest(entry: RequestEntry, previous: RecordedRequest | undefined): RecordedRequest {
  const messages = [...(previous?.messages.slice(0, entry.earlier) ?? []), ...entry.messages];
  return { entry, messages, tools: entry.tools ?? previous?.tools ?? [], settings: entry.settings ?? {} };
}
