import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { asyncScheduler, concat, defer, EMPTY, exhaustMap, filter, ignoreElements, map, Observable, of } from 'rxjs';
import { repeat, ReplaySubject, share, tap, timer, type Subscriber } from 'rxjs';
import { ConfigurationError, ConnectionError } from '../../core/errors.js';
import { asArray, isRecord, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import { anyResult, cancelReason, fromRequest, isTooDeepForClient, type McpClient } from './client.js';

const listChanged = 'notifications/tools/list_changed';

/** A client has one handler per kind of notification: all subscribers of its tools share the handler and the list. */
const sharedLists = new WeakMap<McpClient, Observable<readonly ServerTool[]>>();

/** Emits on subscription, and after each change that the server announces; completes when none can follow. */
export function watchTools(client: McpClient): Observable<readonly ServerTool[]> {
  // An unconnected client does not fail: it answers with an empty list.
  if (!client.transport)
    throw new ConfigurationError('mcp', 'The MCP client is not connected.', 'Await client.connect(transport) first.');
  const shared =
    sharedLists.get(client) ?? defer(() => listOnChange(client)).pipe(share({ connector: () => new ReplaySubject(1) }));
  sharedLists.set(client, shared);
  return shared;
}

/**
 * A change makes a response stale, and one more request follows; cancelling would cost ten requests for ten tools. A
 * server may announce a change with every response: from the fourth on, each is delayed, and stale responses are
 * emitted from the second on.
 */
function listOnChange(client: McpClient): Observable<readonly ServerTool[]> {
  let isStale = false;
  const series = requestSeries();
  const listTools = defer(() => {
    isStale = false;
    // Without a cursor, the client lists all pages. Its cache may be stale: the tools may have changed while nobody was
    // subscribed.
    return fromRequest((signal) =>
      client.listTools(undefined, { signal, cacheMode: 'refresh' }).catch((error: unknown) => {
        if (!isTooDeepForClient(error)) throw error;
        return listUnchecked(client, signal);
      }),
    );
  }).pipe(tap(series.addResponse));
  const listUntilFresh = concat(series.wait(), listTools).pipe(
    repeat({ delay: () => (isStale ? of(undefined) : EMPTY) }),
  );
  return changes(client).pipe(
    tap(() => (isStale = true)),
    exhaustMap(() => listUntilFresh), // changes during it only set `isStale`
    filter(() => !isStale || series.length() > 1), // in a series, a stale list is better than none
    map(({ tools }) => tools.slice(0, MAX_TOOLS)),
  );
}

/** A server of a stranger may list millions: each costs time in every run. */
const MAX_TOOLS = 10_000;

/** Pages that are listed without the checks of the client. */
const MAX_PAGES = 1000;

/** The client's checks fail for the complete list if one schema has some hundreds of levels. */
async function listUnchecked(client: McpClient, signal: AbortSignal): Promise<{ readonly tools: ServerTool[] }> {
  const tools: ServerTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = objectOrEmpty(await client.request({ method: 'tools/list', params }, anyResult, { signal }));
    const isTool = (value: unknown): value is ServerTool =>
      isRecord(value) && typeof value['name'] === 'string' && isRecord(value['inputSchema']);
    tools.push(...asArray(result['tools']).filter(isTool));
    cursor = nonEmptyString(result['nextCursor']);
    if (cursor === undefined) break;
  }
  return { tools };
}

/** Within this time after the previous response, in milliseconds, a request continues a series. */
const QUIET_TIME = 1000;
const IMMEDIATE_REQUESTS = 3;
const INITIAL_DELAY = 100;
const MAX_DELAY = 30_000;

/** Delays of 100 ms, doubling up to 30 s. */
function requestSeries() {
  let length = 0;
  let lastResponse = -Infinity;
  return {
    length: () => length,
    addResponse: () => void (lastResponse = asyncScheduler.now()),
    wait: () =>
      defer(() => {
        const isContinued = asyncScheduler.now() - lastResponse < QUIET_TIME;
        length = isContinued ? length + 1 : 1;
        if (length <= IMMEDIATE_REQUESTS) return EMPTY;
        const delay = Math.min(INITIAL_DELAY * 2 ** (length - IMMEDIATE_REQUESTS - 1), MAX_DELAY);
        return timer(delay).pipe(ignoreElements());
      }),
  };
}

/** Up to revision 2025-11-25, a server sends notifications unasked; from 2026-07-28 on, the client has to listen. */
function changes(client: McpClient): Observable<void> {
  if (client.getProtocolEra() !== 'modern') return notifications(client, (out) => out.next());
  return client.getServerCapabilities()?.tools?.listChanged
    ? notifications(client, (out) => listenForChanges(client, out))
    : of(undefined);
}

/** `retry` subscribes before it tears down the failed one, which must not remove its successor's handler. */
const handlerOwners = new WeakMap<McpClient, Subscriber<void>>();

function notifications(client: McpClient, start: (out: Subscriber<void>) => void): Observable<void> {
  return new Observable<void>((out) => {
    client.setNotificationHandler(listChanged, () => out.next());
    handlerOwners.set(client, out);
    out.add(() => {
      if (handlerOwners.get(client) !== out) return;
      handlerOwners.delete(client);
      client.removeNotificationHandler(listChanged);
    });
    start(out);
  });
}

/** The first value is the server's acknowledgement, so that a list requested after it misses no change. */
function listenForChanges(client: McpClient, out: Subscriber<void>): void {
  const controller = new AbortController();
  out.add(() => controller.abort(cancelReason));
  client
    .listen({ toolsListChanged: true }, { signal: controller.signal })
    .then(({ closed }) => {
      out.next();
      return closed;
    })
    .then(
      (cause) => {
        if (cause === 'remote') out.error(stoppedListeningError());
        else out.complete();
      },
      (error: unknown) => {
        if (!out.closed) out.error(error);
      },
    );
}

const stoppedListeningError = () =>
  new ConnectionError('mcp', 'The MCP server stopped announcing changes to its tools. Subscribe again.');
