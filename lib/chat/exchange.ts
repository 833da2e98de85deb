import type { CallAnswers } from '../core/approval.js';
import type { Checkpoint } from '../core/checkpoint.js';
import type { JsonObject } from '../core/json/json.js';
import type { Message } from '../core/message.js';
import type { View } from '../operators/view/view.js';

/** A prompt and its answer, as `save` stores it. */
export interface Exchange {
  readonly id: string;
  /** The exchange that it continues. Absent for the first one of a conversation. */
  readonly parent?: string | undefined;
  /** The id of its last run. An exchange that waits for a decision is continued by another run. */
  readonly run: string;
  readonly input: readonly Message[];
  /** The messages that its runs added. For a failed run, also the text that was shown. */
  readonly messages: readonly Message[];
  readonly view: View;
  /** The view from which its run started. Absent when the run has ended. */
  readonly base?: View | undefined;
  /** Whether its last run has emitted something. Before that, nobody knows whether the request arrived. */
  readonly hasBegun?: boolean | undefined;
  /** The ids of the prompts that have joined its runs. Absent if none has. */
  readonly joined?: readonly string[] | undefined;
  /** A run that the page has left before its end, and the view from which it started. Absent if there is none. */
  readonly lost?: { readonly run: string; readonly base: View } | undefined;
  /** The id of the run that was stopped, if its service may not know it. */
  readonly stopping?: string | undefined;
  /** What the person should know beside the answer: `code` and `message`. */
  readonly notice?: JsonObject | undefined;
  /** Set if files, or the exchanges before it, are missing: a storage was full. */
  readonly isReduced?: boolean | undefined;
  /** The exchange before it that is missing so. */
  readonly leftOut?: string | undefined;
  /** Where a waiting run continues. Absent if the server keeps it. */
  readonly checkpoint?: Checkpoint | undefined;
  /** The answers to waiting calls that were given, while others are missing. */
  readonly answers?: CallAnswers | undefined;
}

/**
 * Whether the request under way continues a run that has waited, with answers or without any (another device has
 * answered, or the time is over). Otherwise it sends the prompt, or has begun.
 */
export const isResumed = ({ base, hasBegun }: Exchange): boolean => base?.status === 'waiting' && !hasBegun;

/** An exchange as a UI shows it: the prompt, then the answer. */
export interface ExchangeView extends View {
  readonly id: string;
  /** The ids of the exchanges that continue the same exchange, this one included, oldest first: "2 of 3". */
  readonly versions: readonly string[];
  /**
   * Set if the connection to a run was given up, so that the service may have more of the answer. The run is joined
   * again when the page is online, visible or reloaded, with the next prompt, and by `reconnect`.
   */
  readonly isIncomplete?: true;
  /** What the person should know beside the answer, `code`, `message`, `error`: a stop has not reached the service. */
  readonly notice?: JsonObject;
}
