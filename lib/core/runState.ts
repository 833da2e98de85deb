import type { JsonObject } from './json/json.js';
import type { Message } from './message.js';
import type { Usage } from './usage.js';

/** The state of a run between two turns. It is plain JSON, so it can be stored, and a run can be resumed from it. */
export interface RunState {
  /** The complete history, without the system prompt. */
  readonly messages: readonly Message[];
  /** The number of completed turns. */
  readonly turn: number;
  /** The sum of the usage of these turns. */
  readonly usage: Usage;
  /** Data that an orchestrator keeps from turn to turn. */
  readonly memo?: JsonObject;
}
