import { concat, concatMap, defer, EMPTY, map, of, reduce, repeat, take, takeLast, takeWhile } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { addUsage } from '../../core/usage.js';
import type { RunPlan } from './executeRun.js';
import { replayed } from './replayed.js';
import { replayCheckpoint, replayRecord, seenBefore, type SeenTurns } from './replayRecord.js';
import type { LogState, RunLog } from '../ports/runLog.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';

interface LoggedRun {
  readonly completeTurns: SeenTurns;
  readonly all: SeenTurns;
}

/** Records are written first, so the log may be behind. `retract` voids the open turn and has the attempt's number. */
export function continueLog(
  log: RunLog,
  record: RunRecord,
  replay: (seen: SeenTurns) => Observable<StreamEvent>,
): Observable<StreamEvent> {
  const { id, attempt } = record;
  const next = attempt + 1;
  const before = seenBefore(record);
  const logged = defer(() => log.read(id)).pipe(
    map(({ event }) => asKnownEvent(event)),
    takeWhile((event) => !(event.type === 'retract' && event.attempt === next)),
    reduce(addEvent, { completeTurns: before, all: before } as LoggedRun),
  );
  return concat(
    of({ type: 'retract', attempt: next } as const),
    logged.pipe(concatMap(({ completeTurns }) => replay(completeTurns))),
  );
}

/**
 * The rest of a run, after what a shared log does not have if a process has executed the run before.
 *
 * @param before The record before this attempt.
 * @param rest The run: from its checkpoint if it has one.
 */
export function continueRun(
  log: RunLog,
  before: RunRecord | undefined,
  rest: Observable<StreamEvent>,
  checkpoint?: Checkpoint,
): Observable<StreamEvent> {
  if (!log.isShared || !before || before.attempt === 0) return rest;
  const missing = continueLog(log, before, (seen) => (checkpoint ? replayCheckpoint(checkpoint, seen, before) : EMPTY));
  return concat(missing.pipe(replayed()), rest);
}

export function completeLog(log: RunLog, stored: StoredRun): RunPlan {
  const { record } = stored;
  const { checkpoint } = record;
  const result = record.result && { ...record.result, ...(checkpoint ? { checkpoint } : {}) };
  const events = () => continueLog(log, record, (seen) => replayRecord({ ...record, result }, seen));
  return { record, stored, state: record.state, events };
}

function addEvent({ completeTurns, all }: LoggedRun, event: ReturnType<typeof asKnownEvent>): LoggedRun {
  switch (event.type) {
    case 'thinking':
      return { completeTurns, all: { ...all, thinking: all.thinking + event.text.length } };
    case 'message':
      return { completeTurns, all: { ...all, messages: all.messages + 1 } };
    case 'retract':
      return { completeTurns, all: completeTurns };
    case 'turn': {
      const ended = { ...all, turns: event.turn, usage: addUsage(all.usage, event.usage) };
      return { completeTurns: ended, all: ended };
    }
    default:
      return { completeTurns, all };
  }
}

/** The log's end is written after the record's: 6 x 500 ms. */
const END_CHECKS = 6;
const END_INTERVAL = 500;

/** The end may be written a little later than that of the record. */
export const stateAtEnd = (log: RunLog, run: string): Observable<LogState | undefined> =>
  defer(() => log.state(run)).pipe(
    take(1),
    repeat({ count: END_CHECKS, delay: END_INTERVAL }),
    takeWhile(isOpen, true),
    takeLast(1),
  );

/** A run that the log does not have was removed after its end. */
export const isOpen = (state: LogState | undefined): boolean => state?.hasEnded === false;
