import type { StreamEvent } from './event.js';

/** A connection that broke, and is opened again. */
export interface Reconnection {
  /** The number of the attempt since something was received, from 1. */
  readonly attempt: number;
  /** The delay before it, in milliseconds. */
  readonly delay: number;
  /** When it is made, in milliseconds since 1970. */
  readonly at: number;
  /** `offline`: the connection broke; `busy`: the service asks to wait; `silent`: it does not answer. */
  readonly reason: 'offline' | 'busy' | 'silent';
}

/** A notice of `remoteAgent`: the connection has broken, and is opened again. The view has it as `reconnecting`. */
export interface ReconnectingEvent extends Reconnection {
  readonly type: 'reconnecting';
}

export const isReconnecting = (event: StreamEvent): event is ReconnectingEvent => event.type === 'reconnecting';

/** The connection is open again. The view is no longer `reconnecting`. */
export const CONNECTED_EVENT = 'connected';

/** Whether an event is about the connection to the service, and not about the run. */
export const isOfConnection = (event: StreamEvent): boolean => isReconnecting(event) || event.type === CONNECTED_EVENT;

/** The first event of a run whose service has lost earlier runs (`runs`); the model receives only their prompts. */
export const HISTORY_LOST_EVENT = 'historyLost';

/** An event of a run for the person only: `notice` has `code`, `message`, and maybe `error`, which says why. */
export const NOTICE_EVENT = 'notice';
