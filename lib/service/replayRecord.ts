import { concat, from, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import type { WaitingCall } from '../core/approval.js';
import type { Checkpoint, OpenCalls } from '../core/checkpoint.js';
import { eventOfPart } from '../core/event.js';
import type { RunEvent } from '../core/event.js';
import { toolCallsOf } from '../core/message.js';
import type { Message } from '../core/message.js';
import { prefixAfterTools } from '../operators/prefixAfterTools.js';
import { describedError } from './describedError.js';
import { RunNotFoundError } from './runLog.js';
import type { RunRecord } from './runStore.js';

/** Returns the messages of a run, for the history of the next one. */
export const messagesOfRecord = ({
  input,
  result,
  failure,
}: Pick<RunRecord, 'input' | 'result' | 'failure'>): readonly Message[] => [
  ...input,
  ...((result ?? failure)?.messages ?? []),
];

/** Replays a run that has ended, for a late reader: each text is one delta, and all turns are one. */
export function replayRecord({ shown = 0, result, failure, checkpoint }: RunRecord): Observable<RunEvent> {
  if (failure)
    return concat(
      from(failure.messages.slice(shown).flatMap(eventsOfMessage)).pipe(prefixAfterTools()),
      throwError(() => describedError(failure.error)),
    );
  if (!result) return throwError(() => new RunNotFoundError());
  const { thinking, messages, waiting = [], turns, finishReason, usage } = result;
  const events: RunEvent[] = [
    ...thoughts(thinking, shown),
    ...messages.slice(shown).flatMap(eventsOfMessage),
    ...waitingEvents(waiting),
    ...(shown > 0 ? [] : nestedEvents(checkpoint?.open)),
    ...(finishReason === 'waiting' ? [] : [{ type: 'turn', turn: turns, finishReason, usage } as const]),
    { type: 'result', result },
  ];
  return from(events).pipe(prefixAfterTools());
}

/** Replays a run up to a checkpoint, for a reader that starts at its beginning. */
export function replayCheckpoint({ state, emitted, open }: Checkpoint, shown = 0): Observable<RunEvent> {
  const { thinking, messages } = emitted;
  const events: RunEvent[] = [
    ...thoughts(thinking, shown),
    ...messages.slice(shown).flatMap(eventsOfMessage), // of an open turn too
    { type: 'turn', turn: state.turn, finishReason: 'toolCalls', usage: state.usage },
    ...(open?.results ?? []),
    ...(shown > 0 ? [] : nestedEvents(open)), // the page shows those that the run before it had
  ];
  return from(events).pipe(prefixAfterTools());
}

/** The own calls of a run that wait. */
const waitingEvents = (waiting: readonly WaitingCall[]): RunEvent[] =>
  waiting.filter(({ path }) => !path).map((call) => ({ type: 'toolWaiting', ...call }));

/** The inner runs of an open turn, up to their checkpoints. */
const nestedEvents = (open: OpenCalls | undefined): RunEvent[] =>
  Object.entries(open?.nested ?? {}).flatMap(([id, { emitted, open: inner }]) => {
    const name = open?.messages.flatMap(toolCallsOf).find((call) => call.id === id)?.name ?? '';
    const events: RunEvent[] = [
      ...emitted.messages.flatMap(eventsOfMessage),
      ...(inner?.results ?? []),
      ...waitingEvents(inner?.waiting ?? []),
      ...nestedEvents(inner),
    ];
    return events.map((event): RunEvent => ({ type: 'nested', id, name, event }));
  });

/** All thinking of a run, at its start. */
const thoughts = (thinking: string, shown: number): RunEvent[] =>
  thinking === '' || shown > 0 ? [] : [{ type: 'thinking', text: thinking }];

const eventsOfMessage = (message: Message): RunEvent[] => [
  ...message.parts.map(eventOfPart),
  { type: 'message', message },
];
