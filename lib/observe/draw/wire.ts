import { addToList } from '../../core/lists.js';
import type { Message } from '../../core/message.js';
import type { ExchangeEntry } from '../recording/entries.js';
import type { RecordedRun, RunRecording } from '../recording/readRecording.js';

export type WireOfRun = ReadonlyMap<number, readonly ExchangeEntry[]>;

interface OpenRequest {
  readonly run: RecordedRun;
  readonly request: number;
  readonly from: number;
  readonly to: number;
  readonly prompt: readonly string[];
}

/** Open requests that are compared, the newest. */
const MAX_OPEN = 100;

/** The characters at both ends of a prompt that are searched for. A search for more costs the product of lengths. */
const MAX_PROMPT = 250;

/** Of several open requests, an exchange belongs to the one whose prompt it sent; else to none. */
export function wireOfRun({ runs, wire }: RunRecording, run: RecordedRun): WireOfRun {
  const requests = runs.flatMap(openRequests).sort((a, b) => a.from - b.from);
  const found = new Map<number, ExchangeEntry[]>();
  let open: readonly OpenRequest[] = [];
  let started = 0;
  for (const entry of wire) {
    const known = started;
    while ((requests[started]?.from ?? Infinity) <= entry.at) started++;
    open = [...open, ...requests.slice(known, started)].filter(({ to }) => entry.at <= to).slice(-MAX_OPEN);
    const owner = ownerOf(entry, open);
    if (owner?.run === run) addToList(found, owner.request, entry);
  }
  return found;
}

function openRequests(run: RecordedRun): readonly OpenRequest[] {
  // A recording that was cut off has no ends: its requests were open as long as it was written.
  const last = run.end?.at ?? run.steps.at(-1)?.at ?? run.start.at;
  const prompts: (readonly string[])[] = []; // the last one up to each message
  return run.requests.map(({ entry: { request, at, earlier, messages }, end }) => {
    prompts.splice(earlier);
    for (const message of messages) prompts.push(promptOf(message) ?? prompts.at(-1) ?? []);
    return { run, request, from: at, to: end?.at ?? last, prompt: prompts.at(-1) ?? [] };
  });
}

function ownerOf({ exchange }: ExchangeEntry, open: readonly OpenRequest[]): OpenRequest | undefined {
  if (open.length < 2) return open[0];
  const body = typeof exchange.body === 'string' ? exchange.body : JSON.stringify(exchange.body);
  const sent = open.filter(({ prompt }) => prompt.every((text) => body.includes(text)));
  return sent.length === 1 ? sent[0] : undefined;
}

function promptOf({ parts }: Message): readonly string[] | undefined {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : ''));
  const text = JSON.stringify(texts.findLast((each) => each !== '') ?? '').slice(1, -1);
  return text === '' ? undefined : [text.slice(0, MAX_PROMPT), text.slice(-MAX_PROMPT)];
}
