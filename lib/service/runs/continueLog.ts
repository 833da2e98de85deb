import { concat, concatMap, defer, map, of, reduce, repeat, take, takeLast, takeWhile } from 'rxjs';
import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { addUsage } from '../../core/usage.js';
import type { RunPlan } from './executeRun.js';
import { replayRecord, seenBefore } from './replayRecord.js';
import type { SeenTurns } from './replayRecord.js';
import type { LogState, RunLog } from '../ports/runLog.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';

/** What a log has of a run. */
interface LoggedRun {
  readonly completeTurns: SeenTurns;
  /** With the turn that was interrupted. */
  readonly all: SeenTurns;
}

/**
 * Continues the log of a run whose process has ended: a record is written before the events that lead to it, so the log
 * may be behind. A `retract` voids the turn that was interrupted. It has the number of the attempt, which tells where
 * the events of the earlier ones end.
 */
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

/** Plans to complete the log of a run that has ended according to its record: up to its result, or its error. */
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

/** How long the log of a run may be open after its record says that the run has ended: 6 x 500 ms. */
const END_CHECKS = 6;
const END_INTERVAL = 500;

/** Emits what a log has of a run whose record says that it has ended: its end may be written a little later. */
export const stateAtEnd = (log: RunLog, run: string): Observable<LogState | undefined> =>
  defer(() => log.state(run)).pipe(
    take(1),
    repeat({ count: END_CHECKS, delay: END_INTERVAL }),
    takeWhile(isOpen, true),
    takeLast(1),
  );

/** Whether the end of a run is not in the log. A run that the log does not have was removed after its end. */
export const isOpen = (state: LogState | undefined): boolean => state?.hasEnded === false;
