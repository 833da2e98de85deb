import { addToList } from '../../core/lists.js';
import type { ExchangeEntry } from '../recording/entries.js';
import type { RecordedRequest, RecordedRun, RunRecording } from '../recording/readRecording.js';

export type WireOfRun = ReadonlyMap<number, readonly ExchangeEntry[]>;

interface OpenRequest {
  readonly run: RecordedRun;
  readonly request: RecordedRequest;
  readonly from: number;
  readonly to: number;
}

/** Of several open requests, an exchange belongs to the one whose prompt it sent; else to none. */
export function wireOfRun({ runs, wire }: RunRecording, run: RecordedRun): WireOfRun {
  const open = runs.flatMap(openRequests);
  const found = new Map<number, ExchangeEntry[]>();
  for (const entry of wire) {
    const request = requestOf(entry, open);
    if (request?.run !== run) continue;
    addToList(found, request.request.entry.request, entry);
  }
  return found;
}

function openRequests(run: RecordedRun): readonly OpenRequest[] {
  // A recording that was cut off has no ends: its requests were open as long as it was written.
  const last = run.end?.at ?? run.steps.at(-1)?.at ?? run.start.at;
  return run.requests.map((request) => ({ run, request, from: request.entry.at, to: request.end?.at ?? last }));
}

function requestOf({ at, exchange }: ExchangeEntry, requests: readonly OpenRequest[]): OpenRequest | undefined {
  const open = requests.filter(({ from, to }) => from <= at && at <= to);
  if (open.length < 2) return open[0];
  const body = typeof exchange.body === 'string' ? exchange.body : JSON.stringify(exchange.body);
  const sent = open.filter(({ request }) => body.includes(promptOf(request)));
  return sent.length === 1 ? sent[0] : undefined;
}

function promptOf({ messages }: RecordedRequest): string {
  const texts = messages.flatMap(({ parts }) => parts).map((part) => (part.type === 'text' ? part.text : ''));
  return JSON.stringify(texts.findLast((text) => text !== '') ?? '').slice(1, -1);
}
