import type { Client } from '@modelcontextprotocol/client';
import { Observable } from 'rxjs';

/** What is used of the official client, so that a wrapped one, or a test double, serves as well. */
export type McpClient = Pick<
  Client,
  | 'transport'
  | 'getProtocolEra'
  | 'getServerCapabilities'
  | 'listTools'
  | 'callTool'
  | 'listen'
  | 'setNotificationHandler'
  | 'removeNotificationHandler'
>;

/**
 * A request to the server: subscribing sends it, unsubscribing cancels it.
 *
 * The client rejects a cancelled request; nobody is left to hear of it, and it is no unhandled rejection.
 *
 * @param send Sends it. Gets the signal for the client's `signal` option, and a function that emits a value before the answer.
 */
export function fromRequest<T>(send: (signal: AbortSignal, next: (value: T) => void) => Promise<T>): Observable<T> {
  return new Observable<T>((out) => {
    const abort = new AbortController();
    out.add(() => abort.abort('No longer wanted.')); // the client sends it along, as the reason; after the answer it does nothing
    send(abort.signal, (value) => out.next(value)).then(
      (value) => {
        out.next(value);
        out.complete();
      },
      (error: unknown) => {
        if (!out.closed) out.error(error);
      },
    );
  });
}
