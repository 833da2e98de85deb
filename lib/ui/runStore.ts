import { concat, defaultIfEmpty, defer, from, ignoreElements, take, throwError } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { Checkpoint } from '../core/checkpoint.js';
import { eventOfPart } from '../core/event.js';
import type { RunEvent, RunResult } from '../core/event.js';
import type { JsonObject } from '../core/json/json.js';
import type { Message } from '../core/message.js';
import { prefixAfterTools } from '../operators/prefixAfterTools.js';
import type { EarlierRun } from './conversationAgent.js';
import { RunNotFoundError } from './createRuns.js';
import { settled } from './settled.js';

/** What a service keeps of a run, for its later runs and for pages that come back. Plain JSON. */
export interface RunRecord {
  readonly input: readonly Message[];
  /** The runs before it, oldest first. Absent for a run that goes on with another one. */
  readonly history?: readonly EarlierRun[] | undefined;
  /** Of a run that goes on with another one: how many of its messages that one had, so that its page shows them. */
  readonly shown?: number | undefined;
  /** Absent while the run goes on, and for a run that was abandoned. */
  readonly result?: RunResult | undefined;
  /** Where a run goes on if its process ends. Only with the option `checkpoints`. */
  readonly checkpoint?: Checkpoint | undefined;
  /** Of a failed run: what its reader had seen, and the description of the error. */
  readonly failure?: { readonly messages: readonly Message[]; readonly error: JsonObject } | undefined;
}

/** Where a service keeps its runs, by their ids. A `Map` fits; a database returns Promises or Observables. */
export interface RunStore {
  get(id: string): RunRecord | undefined | ObservableInput<RunRecord | undefined>;
  set(id: string, record: RunRecord): unknown;
}

/** A run that failed earlier. */
export class RecordedFailure extends Error {
  constructor(readonly error: JsonObject) {
    super('The run failed.');
  }
}

/** Reads a record; undefined if there is none. */
export const readRecord = (store: RunStore, id: string): Observable<RunRecord | undefined> =>
  defer(() => settled(store.get(id))).pipe(take(1), defaultIfEmpty(undefined));

/** Writes a record, and completes when it is written. */
export const writeRecord = (store: RunStore, id: string, record: RunRecord): Observable<never> =>
  defer(() => settled(store.set(id, record))).pipe(ignoreElements());

/** What the next run knows of a run. */
export const messagesOfRecord = ({ input, result, failure }: RunRecord): readonly Message[] => [
  ...input,
  ...((result ?? failure)?.messages ?? []),
];

/** The events of a run that has ended, for a reader that comes late: each text is one delta, and all turns are one. */
export function replayRecord({ shown = 0, result, failure }: RunRecord): Observable<RunEvent> {
  if (failure)
    return concat(
      from(failure.messages.slice(shown).flatMap(eventsOfMessage)).pipe(prefixAfterTools()),
      throwError(() => new RecordedFailure(failure.error)),
    );
  if (!result) return throwError(() => new RunNotFoundError());
  const { thinking, messages, waiting = [], turns, finishReason, usage } = result;
  const events: RunEvent[] = [
    ...thoughts(thinking, shown),
    ...messages.slice(shown).flatMap(eventsOfMessage),
    ...waiting.map((call) => ({ type: 'toolWaiting', ...call }) as const),
    ...(finishReason === 'waiting' ? [] : [{ type: 'turn', turn: turns, finishReason, usage } as const]),
    { type: 'result', result },
  ];
  return from(events).pipe(prefixAfterTools());
}

/** The events that a run had emitted at a checkpoint, for a reader that starts at its beginning. */
export function replayCheckpoint({ state, emitted, open }: Checkpoint, shown = 0): Observable<RunEvent> {
  const { thinking, messages } = emitted;
  const events: RunEvent[] = [
    ...thoughts(thinking, shown),
    ...messages.slice(shown).flatMap(eventsOfMessage), // of an open turn too
    { type: 'turn', turn: state.turn, finishReason: 'toolCalls', usage: state.usage },
    ...(open?.results ?? []),
  ];
  return from(events).pipe(prefixAfterTools());
}

/** All thinking of a run, at its start. */
const thoughts = (thinking: string, shown: number): RunEvent[] =>
  thinking === '' || shown > 0 ? [] : [{ type: 'thinking', text: thinking }];

const eventsOfMessage = (message: Message): RunEvent[] => [
  ...message.parts.map(eventOfPart),
  { type: 'message', message },
];
