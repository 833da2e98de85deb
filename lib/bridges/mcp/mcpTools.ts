import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { defer, map } from 'rxjs';
import type { Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import type { JsonObject, JsonSchema, JsonValue } from '../../core/json/json.js';
import type { Progress } from '../../core/progress.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import { callTool } from './callTool.js';
import type { McpCallOptions, McpProgress } from './callTool.js';
import type { McpClient } from './client.js';
import { serverTools } from './listTools.js';

/** Options of `mcpTools`. */
export interface McpToolsOptions extends McpCallOptions {
  /** Stands before the name of each tool: the tools of two servers may have the same names. Default: none. */
  readonly prefix?: string;
}

/** A tool of an MCP server. */
export interface McpTool extends Tool<string, JsonObject, JsonValue, McpProgress> {
  /** The tool as its server describes it: its own name, title, annotations (`readOnlyHint`, `destructiveHint`). */
  readonly definition: ServerTool;
  /** Calls the tool at its server: its progress (`McpProgress`), then its result. */
  execute(args: JsonObject, context: Pick<ToolContext, 'signal'>): Observable<JsonValue | Progress<McpProgress>>;
}

/**
 * The tools of an MCP server, now and whenever they change.
 *
 * <span class="informal">What the server can do, your agent can do.</span>
 *
 * Subscribing lists the tools, all pages of them, and emits the list; whenever the server says that they have changed they are listed again. Several
 * subscriptions of one client share the requests; the first asks the server even if the client has a list cached (`ttlMs`, `defaultCacheTtlMs`), which
 * may have changed while nobody watched. The tools stay usable after unsubscribing, as long as the client is connected. Tools that run as
 * tasks only (`taskSupport: 'required'`) are left out: the client cannot call them.
 *
 * An agent takes a list. The tools as they are now, for good; or a run at a time, each with the tools of its time, which are at hand while someone watches:
 *
 * ```ts
 * const agent = createAgent({ model, tools: await firstValueFrom(mcpTools(client)) });
 *
 * const watching = mcpTools(client).subscribe();
 * questions.pipe(
 *   concatMap((question) => mcpTools(client).pipe(take(1), switchMap((tools) => createAgent({ model, tools }).stream(question)))),
 * );
 * ```
 *
 * Without `take(1)`, a change of the tools leaves the run and starts it over.
 *
 * A call emits the server's progress notifications as `McpProgress`, marked with `progress`, then its result: the joined texts, or, with images and resources, the list of
 * contents as plain JSON; the `structuredContent` where there is one, as `{ structuredContent, content }` if the contents say more than it does. A tool
 * that fails (`isError`), an error of the protocol, a passed time: each is an error notification, which `executeTools` answers to the model. Leaving a
 * call cancels it at the server.
 *
 * Names are kept where every provider takes them; otherwise what is not a letter, a digit, `_` or `-` becomes `_`, and 64 characters are left. The
 * server gets its own name.
 *
 * While subscribed, the client's one handler of `notifications/tools/list_changed` belongs to `mcpTools`: a handler set before, also by the client's
 * `listChanged` option, is replaced. Watch the tools by subscribing instead. All who watch one client object share that handler; two wrappers of a
 * client, or two builds of this package, do not know of each other: of those the last to subscribe is told of changes, until any of them leaves. A
 * connection that closes shows at the next call, not here: after connecting the client again, subscribe again.
 *
 * @param client A connected `Client` of `@modelcontextprotocol/client`. Connecting and closing it stays with its owner.
 * @param options `prefix` of the names, and how long a call may take: `timeout` (60 s, anew with each progress), `resetTimeoutOnProgress` (true),
 * `maxTotalTimeout` (none).
 * @returns An Observable of the lists. It completes when the server can tell of no further change. Errors: ConfigurationError `mcp` when the client is
 * not connected, ConnectionError when the stream of changes broke (`retry` subscribes anew), and whatever the client says of a failed list.
 */
export function mcpTools(client: McpClient, options: McpToolsOptions = {}): Observable<readonly McpTool[]> {
  return defer(() => {
    // An unconnected client does not fail: it answers with an empty list.
    if (!client.transport)
      throw new ConfigurationError('mcp', 'The MCP client is not connected.', 'Await client.connect(transport) first.');
    return serverTools(client).pipe(map((listed) => toolsOf(client, listed, options)));
  });
}

function toolsOf(
  client: McpClient,
  listed: readonly ServerTool[],
  { prefix = '', ...times }: McpToolsOptions,
): readonly McpTool[] {
  const callable = listed.filter(({ execution }) => execution?.taskSupport !== 'required');
  const definitions = [...new Map(callable.map((definition) => [definition.name, definition])).values()]; // a page that moved may repeat some
  const names = toolNames(definitions.map(({ name }) => prefix + name));
  return definitions.map((definition, at) => ({
    name: names[at] ?? definition.name,
    description: definition.description ?? definition.title ?? definition.annotations?.title ?? definition.name,
    parameters: parametersOf(definition),
    definition,
    execute: (args, { signal }) => callTool(client, definition.name, args, signal, times),
  }));
}

/** No JSON Schema has these keywords at its top; what comes from a server must not be taken for the functions that go by those names here. */
const notFromServers: ReadonlySet<string> = new Set(['$schema', 'validate', '~standard']);

/** OpenAI refuses an object schema without `properties`; MCP allows one. */
function parametersOf({ inputSchema }: ServerTool): JsonSchema {
  return {
    properties: {},
    ...Object.fromEntries(Object.entries(inputSchema).filter(([key]) => !notFromServers.has(key))),
  };
}

/** What every provider takes as the name of a tool: OpenAI and Anthropic have the characters and the 64, Google how a name begins. */
const longest = 64;
const valid = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/**
 * Names for a server's tools that every provider takes.
 *
 * A name that is good stays as it is. In others, what is not a letter, a digit, `_` or `-` becomes `_`, an `_` comes before a digit or `-` at the
 * beginning, and after 64 characters they are cut; of those that have become the same, later ones are numbered (`_2`, `_3`).
 */
export function toolNames(names: readonly string[]): readonly string[] {
  const used = new Set(names.filter(isGood));
  return names.map((name) => {
    if (isGood(name)) return name;
    const changed = /^[A-Za-z_]/.test(name) ? name : `_${name}`;
    const free = unused(changed.replace(/[^A-Za-z0-9_-]/g, '_'), used);
    used.add(free);
    return free;
  });
}

const isGood = (name: string) => name.length <= longest && valid.test(name);
function unused(name: string, used: ReadonlySet<string>): string {
  let free = name.slice(0, longest);
  for (let number = 2; used.has(free); number++) free = `${name.slice(0, longest - `_${number}`.length)}_${number}`;
  return free;
}
