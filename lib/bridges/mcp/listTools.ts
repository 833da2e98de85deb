import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { defer, EMPTY, exhaustMap, filter, map, Observable, of, repeat, ReplaySubject, share, tap } from 'rxjs';
import type { Subscriber } from 'rxjs';
import { ConnectionError } from '../../core/errors.js';
import { fromRequest } from './client.js';
import type { McpClient } from './client.js';

const listChanged = 'notifications/tools/list_changed';

/** A client has one handler for a kind of notification: all who watch its tools share it, and the list. */
const watched = new WeakMap<McpClient, Observable<readonly ServerTool[]>>();

/** A server's tools, all pages of them: now, and after each change that it announces. Completes when no change can come any more. */
export function serverTools(client: McpClient): Observable<readonly ServerTool[]> {
  const shared =
    watched.get(client) ?? defer(() => listed(client)).pipe(share({ connector: () => new ReplaySubject(1) }));
  watched.set(client, shared);
  return shared;
}

/**
 * One request at a time. What changes while it is under way makes its answer stale: it is not emitted, and one more request follows. Cancelling it
 * instead would cost a server that announces each of ten new tools ten requests.
 */
function listed(client: McpClient): Observable<readonly ServerTool[]> {
  let stale = false;
  const list = defer(() => {
    stale = false;
    // Without a cursor: all pages. Refreshed: nobody may have heard of the changes since the client's cached list.
    return fromRequest((signal) => client.listTools(undefined, { signal, cacheMode: 'refresh' }));
  });
  return changes(client).pipe(
    tap(() => (stale = true)),
    exhaustMap(() => list.pipe(repeat({ delay: () => (stale ? of(undefined) : EMPTY) }))),
    filter(() => !stale),
    map(({ tools }) => tools),
  );
}

/**
 * When to list: once from the start, then at each change.
 *
 * Up to revision 2025-11-25 a server sends its notifications unasked; some do so without having announced it in their capabilities. From 2026-07-28
 * on, one has to listen for them.
 */
function changes(client: McpClient): Observable<void> {
  if (client.getProtocolEra() !== 'modern') return notifications(client, (out) => out.next());
  return client.getServerCapabilities()?.tools?.listChanged
    ? notifications(client, (out) => listen(client, out))
    : of(undefined);
}

/** Who has the client's one handler. `retry` subscribes anew before it tears down what failed, which must not take the handler from its successor. */
const owners = new WeakMap<McpClient, Subscriber<void>>();

function notifications(client: McpClient, start: (out: Subscriber<void>) => void): Observable<void> {
  return new Observable<void>((out) => {
    client.setNotificationHandler(listChanged, () => out.next());
    owners.set(client, out);
    out.add(() => {
      if (owners.get(client) !== out) return;
      owners.delete(client);
      client.removeNotificationHandler(listChanged);
    });
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
      if (cause === 'remote')
        out.error(
          new ConnectionError('mcp', 'The MCP server no longer tells of changes to its tools. Subscribe again.'),
        );
      else out.complete();
    },
    (error: unknown) => {
      if (!out.closed) out.error(error);
    },
  );
}
