import { concat, from, throwError, type Observable } from 'rxjs';
import { hasAnswer, type CallAnswers, type WaitingCall } from '../../core/approval.js';
import type { Checkpoint, OpenCalls } from '../../core/checkpoint.js';
import type { FinishReason } from '../../core/chunk.js';
import { eventOfPart, type NestedEvent, type RunEvent } from '../../core/event.js';
import { readableParts, toolCallsOf, type Message } from '../../core/message.js';
import { callRuns, nestedId } from '../../core/nested.js';
import { addUsage, negative, type Usage } from '../../core/usage.js';
import { prefixAfterTools } from '../../operators/prefixAfterTools.js';
import { isInnerStep, withInner } from './innerMessages.js';
import { describedError } from './trustedDescription.js';
import { RunNotFoundError } from './runErrors.js';
import type { RunRecord } from '../ports/runStore.js';

/** Returns the messages of a run, for the history of the next one. */
export const messagesOfRecord = ({
  input,
  result,
  failure,
}: Pick<RunRecord, 'input' | 'result' | 'failure'>): readonly Message[] => [
  ...input,
  ...((result ?? failure)?.messages ?? []),
];

/** What a reader has of a run: its complete turns. */
export interface SeenTurns {
  readonly turns: number;
  readonly messages: number;
  /** The number of characters of the thinking. */
  readonly thinking: number;
  readonly usage: Usage;
  /** Whether the run resumes another one, whose open turn the reader has. */
  readonly isResumed: boolean;
}

/** What the reader of a run that resumes another one has seen in that run. */
export const seenBefore = ({ shown = 0, shownUsage = {} }: Pick<RunRecord, 'shown' | 'shownUsage'>): SeenTurns => ({
  turns: 0,
  messages: shown,
  thinking: 0,
  usage: shownUsage,
  isResumed: shown > 0,
});

/** Replays a run that has ended: each text is one delta, and all turns are one. */
export function replayRecord(record: RunRecord, seen = seenBefore(record)): Observable<RunEvent> {
  const { result, failure, checkpoint, inner } = record;
  if (failure)
    return concat(
      from(eventsOfMessages(failure.messages.slice(seen.messages), inner)).pipe(prefixAfterTools()),
      throwError(() => describedError(failure.error)),
    );
  if (!result) return throwError(() => new RunNotFoundError());
  const { thinking, waiting = [], turns, finishReason, usage } = result;
  const { messages } = checkpoint?.emitted ?? result; // the results of an open turn follow
  const events: RunEvent[] = [
    ...unseenThinking(thinking, seen),
    ...eventsOfMessages(messages.slice(seen.messages), endedInner(inner, checkpoint?.open)),
    ...(checkpoint && checkpoint.state.turn > 0
      ? unseenTurnEnd(checkpoint.state.turn, 'toolCalls', checkpoint.state.usage, seen)
      : []),
    ...openEvents(checkpoint?.open, inner, waiting),
    ...(finishReason === 'waiting' ? [] : unseenTurnEnd(turns, finishReason, usage, seen)),
    { type: 'result', result },
  ];
  return from(withStarts(events, messages)).pipe(prefixAfterTools());
}

/** Replays a dead run, whose log is open, since it may be retried: a reader of the log has the messages. */
export const replayDead = (record: RunRecord, after: string | undefined): Observable<RunEvent> =>
  replayRecord(record, { ...seenBefore(record), ...(after === undefined ? {} : { messages: Infinity }) });

/**
 * Replays a run up to a checkpoint.
 * A call that waited is announced again. `resume` does not do it, since the reader of a run that it resumes knows the
 * call; a reader who has only the replay would never learn that there is something to decide.
 */
export function replayCheckpoint(
  { state, emitted, open }: Checkpoint,
  seen: SeenTurns,
  { inner, answersLeft, answers = answersLeft }: Pick<RunRecord, 'answers' | 'answersLeft' | 'inner'> = {},
): Observable<RunEvent> {
  const { thinking, messages } = emitted;
  const events: RunEvent[] = [
    ...unseenThinking(thinking, seen),
    ...eventsOfMessages(messages.slice(seen.messages), endedInner(inner, open)), // of an open turn too
    ...unseenTurnEnd(state.turn, 'toolCalls', state.usage, seen),
    ...openEvents(open, inner, open?.waiting, answers),
  ];
  return from(withStarts(events, messages)).pipe(prefixAfterTools());
}

/**
 * Announces each call whose inner run follows, so that the inner run begins again: a reader of the run that is resumed
 * has its beginning.
 */
function withStarts(events: readonly RunEvent[], messages: readonly Message[]): readonly RunEvent[] {
  const calls = messages.flatMap(toolCallsOf);
  const started = new Set<string>();
  return events.flatMap((event) => {
    if (event.type !== 'nested' || started.has(event.id)) return event;
    started.add(event.id);
    const call = calls.findLast(({ id }) => id === event.id);
    return call ? [{ type: 'toolStart', id: call.id, name: call.name, arguments: call.arguments }, event] : event;
  });
}

/** The events of a turn that is not over: the results of its calls, its own calls that wait, and its inner runs. */
const openEvents = (
  open: OpenCalls | undefined,
  steps: readonly NestedEvent[] = [],
  waiting: readonly WaitingCall[] = [],
  answers?: CallAnswers,
  outer?: string,
): RunEvent[] => [
  ...withInner(open?.results ?? [], steps, eventsOfMessage),
  ...waiting
    .filter(({ id, path }) => !path && !hasAnswer(answers, outer === undefined ? id : nestedId(outer, id)))
    .map((call): RunEvent => ({ type: 'toolWaiting', ...call })),
  ...nestedEvents(open, steps, answers, outer),
];

/** The inner runs up to a checkpoint, for later replays. A call without a result continues from its own checkpoint. */
export function innerOfCheckpoint({ inner = [], checkpoint }: Pick<RunRecord, 'inner' | 'checkpoint'>) {
  const { emitted, open } = checkpoint ?? {};
  const results = [...(emitted?.messages.flatMap(({ parts }) => parts) ?? []), ...(open?.results ?? [])];
  const ended = new Set(results.map((part) => (part.type === 'toolResult' ? part.id : undefined)));
  const known = inner.filter(({ id }) => ended.has(id) && !Object.hasOwn(open?.nested ?? {}, id));
  return [...known, ...nestedEvents(open, inner).filter(isInnerStep)];
}

/** Without those that follow as part of the open turn: a call in the background has a handle before its run ends. */
const endedInner = (inner: RunRecord['inner'] = [], { nested = {}, results }: Partial<OpenCalls> = {}) =>
  inner.filter(({ id }) => !Object.hasOwn(nested, id) && !results?.some((result) => result.id === id));

/**
 * The inner runs of an open turn, up to their checkpoints. Those of calls that have ended inside of them are in
 * `steps`, the messages of all inner runs.
 */
const nestedEvents = (
  open: OpenCalls | undefined,
  steps: readonly NestedEvent[] = [],
  answers?: CallAnswers,
  outer?: string,
): RunEvent[] =>
  callRuns(Object.entries(open?.nested ?? {})).flatMap(([id, { emitted, state, open: inner }]) => {
    const name = open?.messages.flatMap(toolCallsOf).find((call) => call.id === id)?.name ?? '';
    const path = outer === undefined ? id : nestedId(outer, id);
    const inside = steps.flatMap((step) => (step.id === id ? [step.event] : [])).filter(isInnerStep);
    const events: RunEvent[] = [
      ...eventsOfMessages(emitted.messages, inside),
      ...unseenTurnEnd(state.turn, 'toolCalls', state.usage, seenBefore({})).filter(() => state.turn > 0),
      ...openEvents(inner, inside, inner?.waiting, answers, path),
    ];
    return events.map((event): RunEvent => ({ type: 'nested', id, name, event }));
  });

/** The thinking that the reader does not have, at the start. */
function unseenThinking(thinking: string, seen: SeenTurns): RunEvent[] {
  const text = seen.isResumed ? '' : thinking.slice(seen.thinking);
  return text === '' ? [] : [{ type: 'thinking', text }];
}

/** One end for all turns that the reader does not have. */
function unseenTurnEnd(turn: number, finishReason: FinishReason, usage: Usage, seen: SeenTurns): RunEvent[] {
  if (seen.turns >= turn && turn > 0) return [];
  return [{ type: 'turn', turn, finishReason, usage: addUsage(usage, negative(seen.usage)) }];
}

const eventsOfMessages = (messages: readonly Message[], inner: RunRecord['inner']) =>
  withInner(messages.flatMap(eventsOfMessage), inner, eventsOfMessage);

/** The events of a message. The text of a prompt, such as the one that asks for a repair, is not text of the run. */
const eventsOfMessage = (message: Message): RunEvent[] => [
  ...readableParts(message.parts)
    .filter(({ type }) => message.role === 'model' || type === 'toolResult')
    .map(eventOfPart),
  { type: 'message', message },
];
