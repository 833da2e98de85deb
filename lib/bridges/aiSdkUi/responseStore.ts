import type { Checkpoint } from '../../core/checkpoint.js';
import type { StreamEvent } from '../../core/event.js';
import type { Message } from '../../core/message.js';

/** What a server keeps of a response, as plain JSON. */
export interface KeptResponse {
  /** The messages of the response, as the model wrote them. */
  readonly messages: readonly Message[];
  /** The run, if it waits for the browser. It is trusted: keep it at the server. */
  readonly checkpoint?: Checkpoint;
  /** What the run has emitted so far, if it waits: a browser that connects later receives it first. */
  readonly events?: readonly StreamEvent[];
}

/** Keeps responses by the ids of their messages. A `Map` is one; with several processes, use a database. */
export interface ResponseStore {
  get(id: string): KeptResponse | undefined | Promise<KeptResponse | undefined>;
  set(id: string, response: KeptResponse): unknown;
}

/** A store in memory, of the newest responses. */
export function recentResponses(count = 1000): ResponseStore {
  const responses = new Map<string, KeptResponse>();
  return {
    get: (id) => responses.get(id),
    set(id, response) {
      responses.delete(id);
      responses.set(id, response);
      const [oldest] = responses.keys();
      if (responses.size > count && oldest !== undefined) responses.delete(oldest);
    },
  };
}
