import type { Observable, ObservableInput } from 'rxjs';
import type { CallAnswers } from '../core/approval.js';
import type { Checkpoint } from '../core/checkpoint.js';
import type { StreamEvent } from '../core/event.js';
import type { Input } from '../core/input.js';
import type { Message } from '../core/message.js';
import type { RunRecord } from './ports/runStore.js';
import type { WrapTurn } from './runs/wrapInnerRuns.js';

/** The functions of an agent that a service needs. An agent of `createAgent` has them. */
export interface HandledAgent<C = unknown> {
  stream(
    input: Input,
    options: HandledRunOptions<C> & { readonly history: readonly Message[] },
  ): Observable<StreamEvent>;
  resume(checkpoint: Checkpoint, options: HandledRunOptions<C> & CallAnswers): Observable<StreamEvent>;
  /** For an agent whose runs another engine makes durable, as `durableAgent`. Default: this service executes them. */
  readonly durable?: DurableRuns<C> | undefined;
}

export interface DurableRuns<C = unknown> {
  readonly names: NonNullable<RunRecord['durable']>;
  /** Does nothing if the run was enqueued before. Runs with a lower `rank` come first. */
  enqueue(id: string, context: C, rank: number): Observable<never>;
  resume(record: Pick<RunRecord, 'id' | 'durable'>): Observable<never>;
  cancel(id: string): Observable<never>;
}

interface HandledRunOptions<C = unknown> {
  readonly stop?: Observable<void> | undefined;
  readonly cancel?: Observable<string> | undefined;
  readonly prompts?: ObservableInput<Message> | undefined;
  readonly fragments: true;
  readonly checkpoints?: boolean | undefined;
  readonly runId?: string | undefined;
  readonly wrapTurn?: WrapTurn | undefined;
  readonly context: C;
}
