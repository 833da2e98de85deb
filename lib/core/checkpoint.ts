import type { CallAnswers, Decision, WaitingCall } from './approval.js';
import type { FinishReason } from './chunk.js';
import type { JsonObject, JsonValue } from './json/json.js';
import type { Message, Metadata, ToolResultPart } from './message.js';
import type { RunState } from './runState.js';
import type { Usage } from './usage.js';

/**
 * A run so far, as plain JSON: it can be stored, and `agent.resume` continues it, in another process too.
 *
 * It holds the conversation, the results of tools and the calls that wait, and `resume` trusts it: whoever can change
 * it decides what the run does next. Keep it on the server, or sign its text before it leaves the server. A signature
 * does not prevent that a checkpoint is resumed twice: its waiting calls are then executed twice.
 *
 * ```ts
 * const bytes = (text: string) => new TextEncoder().encode(text);
 * const algorithm = { name: 'HMAC', hash: 'SHA-256' };
 * const key = await crypto.subtle.importKey('raw', bytes(secret), algorithm, false, ['sign', 'verify']);
 * const text = JSON.stringify(checkpoint);
 * const signature = await crypto.subtle.sign('HMAC', key, bytes(text));
 * // When both come back:
 * const unchanged = await crypto.subtle.verify('HMAC', key, signature, bytes(text));
 * if (!unchanged) throw new Error('The checkpoint was changed.');
 * agent.resume(JSON.parse(text) as Checkpoint, { decisions });
 * ```
 */
export interface Checkpoint {
  readonly version: 1;
  /** The name of the orchestrator. Another one cannot resume the run. */
  readonly orchestrator: string;
  /** The id of the run, for the idempotency keys of its calls. Absent if the run had none. */
  readonly runId?: string;
  /** The state from which the next turn starts; that of the open turn if there is one. */
  readonly state: RunState;
  /** The output of the run so far. */
  readonly emitted: EmittedContent;
  /** The turn whose calls have not all ended. Absent between two turns. */
  readonly open?: OpenCalls;
  /** Set if calls run in the background (`backgroundTool`): `open` has them, too. */
  readonly background?: BackgroundCalls;
  /** The outcome of the run, if the last turn has ended: only the `result` is missing. */
  readonly ended?: RunOutcome;
  /** The other inner runs of the same call: its tool asks and runs an agent, or runs several. Absent if none. */
  readonly beside?: readonly Checkpoint[];
  /** What began the inner run. Absent in the checkpoint of an outer run. */
  readonly task?: InnerTask;
  /** What else the same call has begun, without a checkpoint yet. Absent if nothing. */
  readonly begun?: readonly InnerTask[];
}

/** What a tool has begun inside of a call. It is found by its name and its arguments when the tool begins again. */
export interface InnerTask {
  readonly kind: 'agent' | 'ask';
  readonly name: string;
  /** A hash of the arguments, and of how often they were passed before. */
  readonly arguments: string;
  /** Counts the inner runs of the call. */
  readonly order: number;
}

/** The calls of the first message of `open` run in the background. Those with a result have not joined the run yet. */
interface BackgroundCalls {
  /** The numbers of the turns before the calls, for their idempotency keys, by the ids of the calls. */
  readonly turns: Readonly<Record<string, number>>;
  /** The open turn without them. Absent between two turns. */
  readonly turn?: OpenCalls;
  /** What they have used since the end of the last turn. */
  readonly usage?: Usage;
}

export interface EmittedContent {
  readonly text: string;
  readonly thinking: string;
  readonly messages: readonly Message[];
  readonly metadata?: Metadata;
  /** Tool results or a prompt followed the last text: the next text gets a prefix. */
  readonly needsSeparator: boolean;
}

export interface OpenCalls {
  readonly messages: readonly Message[];
  readonly finish: {
    readonly reason: FinishReason;
    readonly rawReason?: string;
    readonly usage?: Usage;
  };
  readonly metadata?: Metadata;
  /** The results of the calls that have ended. They are not executed again. */
  readonly results: readonly ToolResultPart[];
  /** The calls that were announced by `toolWaiting`, and have no answer yet, also those of inner runs. */
  readonly waiting: readonly WaitingCall[];
  /** The arguments that a person has given to calls without a result, by the ids of the calls. Absent if none. */
  readonly edited?: Readonly<Record<string, JsonObject>>;
  /** The ids of the calls without a result about which nobody is asked any more. Absent if none. */
  readonly approved?: readonly string[];
  /** The inner runs of calls without a result (`agentTool`, `askTool`), by their ids. Absent if there are none. */
  readonly nested?: Readonly<Record<string, Checkpoint>>;
}

interface RunOutcome {
  readonly finishReason: FinishReason;
  readonly rawReason?: string;
  readonly output?: JsonValue;
}

export interface ResumedRun {
  readonly checkpoint: Checkpoint;
  readonly answers: CallAnswers;
}

export interface ResumedTurn {
  readonly open: OpenCalls;
  readonly decisions: ReadonlyMap<string, Decision>;
  readonly results: ReadonlyMap<string, JsonValue>;
  readonly errors: ReadonlyMap<string, string>;
  readonly nested: ReadonlyMap<string, ResumedRun>;
}

/** `executeTools` emits it, `endTurn` completes it, and `endRun` replaces it by a `checkpoint` event or a result. */
export interface OpenCallsEvent {
  readonly type: 'openCalls';
  readonly open: OpenCalls;
  /** The run ends here, because calls wait for answers. */
  readonly waits: boolean;
  /** The state from which the turn started. Set by `endTurn`. */
  readonly state?: RunState;
}
