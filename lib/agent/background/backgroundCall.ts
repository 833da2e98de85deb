import { EMPTY, NEVER } from 'rxjs';
import type { Checkpoint, ResumedRun } from '../../core/checkpoint.js';
import { editedArgumentsNote, toolErrorTexts, unfinishedResult } from '../../core/message.js';
import type { Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import type { JsonObject } from '../../core/json/json.js';
import type { RunEvent } from '../../core/event.js';
import { newRunId } from '../../core/runId.js';
import type { Tool } from '../../core/tool.js';
import { CallRound, type RoundObserver } from '../../operators/execute/callRound.js';
import type { TurnContext } from '../orchestrator.js';

/** What the model reads as the result of a call whose work goes on. See `isHandle`. */
export const handleOf = ({ id }: ToolCallPart): JsonObject => ({
  handle: id,
  status: 'running',
  note: 'The call runs in the background. Its result follows in a later message: do not repeat the call.',
});

export interface StoredCall {
  readonly call: ToolCallPart;
  /** The number of turns before the call. */
  readonly turn: number;
  /** The conversation up to the call. */
  readonly messages: readonly Message[];
  readonly result?: ToolResultPart | undefined;
  readonly resumed?: ResumedRun | undefined;
}

export interface BackgroundObserver {
  emit(event: RunEvent): void;
  changed(): void;
  /** The call has a result, and its resources have been released. */
  ended(call: BackgroundCall): void;
  /** Ends the turn, if nothing is waited for. */
  settle(): void;
}

/** A call in the background: a round of one call, whose result joins the run later. */
export class BackgroundCall implements RoundObserver {
  result: ToolResultPart | undefined;
  nested: Checkpoint | undefined;
  /** It waits for a person, in the checkpoint. */
  isSuspended = false;
  /** The message with the result is part of the run. */
  isJoined = false;
  /** The run has a checkpoint with the handle of the call: if not, the call would be executed again. */
  isKept = false;
  private round: CallRound | undefined;
  private joining: Message | undefined;

  readonly call: ToolCallPart;

  constructor(
    private readonly stored: StoredCall,
    readonly isAwaited: boolean,
    private readonly observer: BackgroundObserver,
  ) {
    const { call, result, resumed } = stored;
    this.call = call;
    this.result = result;
    this.nested = resumed?.checkpoint;
  }

  get turn(): number {
    return this.stored.turn;
  }

  get message(): Message {
    return (this.joining ??= messageOf(this.result ?? unfinishedResult(this.call, 'cancelled')));
  }

  begin(tools: readonly Tool[], { options, answers, written = EMPTY, ...context }: TurnContext): void {
    const { call, turn, messages, resumed } = this.stored;
    const { approve, onToolError, patience = Infinity } = options;
    const { runId = newRunId(), checkpoints = false } = context;
    const settings = {
      ...{ messages, context: context.context, approve, onToolError, checkpoints, written },
      tools: new Map(tools.map((tool) => [tool.name, { ...tool, needsApproval: undefined }])), // it is approved
      idempotencyPrefix: `${runId}.${turn}.`,
      patience: answers ? patience : 0,
      answers: answers ?? NEVER,
      ...{ concurrency: Infinity, deadline: Infinity },
    };
    const nested = new Map(resumed ? [[call.id, resumed]] : []);
    const open = { messages: [], finish: { reason: 'toolCalls' }, results: [], waiting: [] } as const;
    const none = new Map<string, never>();
    this.round = new CallRound(settings, this, { open, decisions: none, results: none, errors: none, nested });
    this.round.begin(call);
    this.round.complete();
  }

  /** Ends the work. The result may have what it has done so far. */
  stop(): void {
    if (this.round) {
      this.round.veto();
      return;
    }
    this.result = unfinishedResult(this.call, 'cancelled'); // it had not begun
    this.observer.ended(this);
  }

  cancel(id: string): void {
    this.round?.cancel(id);
  }

  unsubscribe(): void {
    this.round?.unsubscribe();
  }

  emit(event: Parameters<RoundObserver['emit']>[0]): void {
    if (event.type === 'toolResult') this.result = event;
    else if (event.type !== 'toolStart') this.observer.emit(event);
  }

  roundChanged(round: CallRound): void {
    this.nested = round.nested.get(this.call.id);
    this.observer.changed();
    if (this.result && this.isSuspended) this.observer.ended(this);
  }

  roundEnded(round: CallRound): void {
    this.isSuspended = round.waits;
    if (this.isSuspended) this.observer.settle();
    else if (this.result) this.observer.ended(this);
  }
}

/** Joins the run as a prompt: providers accept a result only after its call. */
function messageOf(result: ToolResultPart): Message {
  const { id, name, error } = result;
  const call = `The call ${id} of the tool "${name}" in the background`;
  const value = typeof result.result === 'string' ? result.result : JSON.stringify(result.result);
  const outcome =
    error === undefined ? `has ended. ${editedArgumentsNote(result)}Its result:\n${value}` : `has failed: ${error}`;
  const text = `${call} ${error === toolErrorTexts.cancelled ? 'was cancelled.' : outcome}`;
  return {
    role: 'user',
    parts: [{ type: 'text', text }],
    metadata: { background: result as ToolResultPart & JsonObject },
  };
}
