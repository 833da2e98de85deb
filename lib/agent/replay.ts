import { from, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { FinishChunk } from '../core/chunk.js';
import type { OpenCalls } from '../core/checkpoint.js';
import { createOperator } from '../core/createOperator.js';
import { checkpointError } from '../core/errors.js';
import { eventOfPart, type RunEvent, type StreamEvent } from '../core/event.js';
import { isOpenCalls, isTurn } from '../core/eventGuards.js';
import { readableParts, type Message } from '../core/message.js';

export const REPLAY_END = 'replayEnd';

const replayEnd = { type: REPLAY_END } as const;

/** The events replace the model's stream, so that operators and orchestrator reach the state that they had. */
export function replay({ messages, metadata, finish, results }: OpenCalls): Observable<Replayed> {
  return from<Replayed[]>([
    ...(metadata ? [{ type: 'metadata', metadata } as const] : []),
    ...messages.flatMap(messageEvents),
    ...results,
    replayEnd as StreamEvent as Replayed, // removed from the run, so not in the types of its events
    { type: 'finish', ...finish },
  ]);
}

type Replayed = RunEvent | FinishChunk;

const messageEvents = (message: Message): readonly Replayed[] => [
  ...(message.role === 'model' ? readableParts(message.parts).map(eventOfPart) : []),
  { type: 'message', message },
];

/** Drops the events of `replay`, which readers have. Without them, the orchestrator has not resumed: the run fails. */
export function dropReplay<E extends StreamEvent>(orchestrator: string): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    let dropping = true;
    return {
      next(event) {
        if (!dropping) out.next(event);
        else if (event.type === replayEnd.type) dropping = false;
        else if (isTurn(event) && event.finishReason === 'stopped') out.next(event); // stopped before the replay
        else if (isTurn(event) || isOpenCalls(event)) throw notReplayed(orchestrator);
      },
    };
  });
}

const notReplayed = (orchestrator: string) =>
  checkpointError(
    `The orchestrator "${orchestrator}" did not resume the open calls of the checkpoint.`,
    'Build its turns on toolLoop, typedOutput or twoPhase, and pass them the context that it receives.',
  );
