import { Observable, ReplaySubject, defer, of, share } from 'rxjs';
import type { Subscriber } from 'rxjs';
import { ConnectionError } from '../../core/errors.js';
import type { McpClient } from './client.js';

const listChanged = 'notifications/tools/list_changed';

/** A client has one handler for a kind of notification: all who watch its tools share it. */
const watched = new WeakMap<McpClient, Observable<void>>();

/** When to list a server's tools: once from the start, then at each change that it announces. Completes when no change can come any more. */
export function toolChanges(client: McpClient): Observable<void> {
  const shared = watched.get(client) ?? defer(() => watch(client)).pipe(share({ connector: () => new ReplaySubject(1) }));
  watched.set(client, shared);
  return shared;
}

/**
 * Up to revision 2025-11-25 a server sends its notifications unasked; some do so without having announced it in their capabilities. From 2026-07-28
 * on, one has to listen for them.
 */
function watch(client: McpClient): Observable<void> {
  if (client.getProtocolEra() !== 'modern') return notifications(client, (out) => out.next());
  return client.getServerCapabilities()?.tools?.listChanged ? notifications(client, (out) => listen(client, out)) : of(undefined);
}

function notifications(client: McpClient, start: (out: Subscriber<void>) => void): Observable<void> {
  return new Observable<void>((out) => {
    client.setNotificationHandler(listChanged, () => out.next());
    out.add(() => client.removeNotificationHandler(listChanged));
    start(out);
  });
}

/** The first value comes with the server's acknowledgement: what is listed after it misses no change. */
function listen(client: McpClient, out: Subscriber<void>): void {
  const abort = new AbortController();
  out.add(() => abort.abort('No longer wanted.'));
  const opened = async () => {
    const { closed } = await client.listen({ toolsListChanged: true }, { signal: abort.signal });
    out.next();
    return closed;
  };
  opened().then(
    (cause) => {
      if (cause === 'remote') out.error(new ConnectionError('mcp', 'The MCP server no longer tells of changes to its tools. Subscribe again.'));
      else out.complete();
    },
    (error: unknown) => {
      if (!out.closed) out.error(error);
    },
  );
}
