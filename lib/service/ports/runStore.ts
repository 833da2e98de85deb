import type { CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { NestedEvent, RunResult } from '../../core/event.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { Usage } from '../../core/usage.js';
import type { EarlierRun } from '../../transport/earlierRun.js';
import type { RecordStore, Stored } from './recordStore.js';

/**
 * The stored record of a run, for later runs and for pages that connect again. Plain JSON: a field that is undefined
 * may be absent when the record is read.
 */
export interface RunRecord {
  /** At most 1000 printable ASCII characters: letters, digits and `-_.~:%!'()*`. */
  readonly id: string;
  /** The owner of the run, from the option `owner` of the service. Empty: all users are one owner. */
  readonly owner: string;
  /**
   * `waiting`: for decisions or results. `running`: until its process has ended it, see `executor`. Of durable runs:
   * `dead`: too many executions have failed. `parked`: this version of the code cannot continue its checkpoint.
   */
  readonly state: 'running' | 'waiting' | 'ended' | 'dead' | 'parked';
  /** When `state` was last changed, or another executor began, in milliseconds since 1970. */
  readonly updated: number;
  /** How many executors the run has had: 1 for the first one. A `RunLog` rejects writes of an older one. */
  readonly attempt: number;
  /**
   * The process that executes the run, and the end of its lease, in milliseconds since 1970: the executor renews the
   * lease. Absent if nobody executes the run.
   */
  readonly executor?: { readonly id: string; readonly until: number } | undefined;
  /** How many executions in a row have failed, or have ended with their process, without a checkpoint. Default: 0. */
  readonly failures?: number | undefined;
  /** For the operator: why the last execution failed, or why the run is `dead` or `parked`. */
  readonly reason?: string | undefined;
  /** For a durable run: whose workers execute it. */
  readonly durable?: { readonly queue: string; readonly version: string } | undefined;
  /** When the store may remove the run, in milliseconds since 1970. Default: as the store decides. */
  readonly expires?: number | undefined;
  readonly input: readonly Message[];
  /**
   * The runs before it, oldest first. The input of a run that the store has is omitted. Absent when the run has a
   * checkpoint or has ended.
   */
  readonly history?: readonly EarlierRun[] | undefined;
  /** For a run that resumes another one: the id of that run. */
  readonly resumes?: string | undefined;
  /** For a run that resumes another one: how many of its messages that run had shown. */
  readonly shown?: number | undefined;
  /** For a run that resumes another one: the usage of the turns that had ended in that run. */
  readonly shownUsage?: Usage | undefined;
  /** The answers with which the checkpoint is resumed, until there is a later checkpoint. */
  readonly answers?: CallAnswers | undefined;
  /** Those of `answers` that calls of the later `checkpoint` have not received yet. Absent if there are none. */
  readonly answersLeft?: CallAnswers | undefined;
  /**
   * The idempotency keys of the calls of `atMostOnce` tools that have begun in this run, and in those that it resumes.
   * With `checkpoints`, a key is written before its call is executed.
   */
  readonly begun?: readonly string[] | undefined;
  /** The position of the last message of the log that the run has taken, up to its checkpoint. Default: none. */
  readonly taken?: string | undefined;
  /** For a run that waited: the id of the run that resumes it. */
  readonly resumedBy?: string | undefined;
  /** The checkpoint from which the run is resumed. */
  readonly checkpoint?: Checkpoint | undefined;
  /** The messages of the inner runs (`agentTool`), so that a page that comes later sees them. With `checkpoints`. */
  readonly inner?: readonly NestedEvent[] | undefined;
  /** The result, without its checkpoint. */
  readonly result?: RunResult | undefined;
  /** For a failed run: the messages that its reader had seen, and the description of the error. */
  readonly failure?: { readonly messages: readonly Message[]; readonly error: JsonObject } | undefined;
  /** Data that only the protocol of the run needs. */
  readonly protocol?: JsonObject | undefined;
}

export type StoredRun = Stored<RunRecord>;

/** Stores the runs of a service. */
export type RunStore = RecordStore<RunRecord>;
