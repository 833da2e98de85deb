import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { catchError, concatMap, defer, dematerialize, map, materialize, of } from 'rxjs';
import { startWith, switchMap, throwError, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import { markAsking } from '../../core/askingTool.js';
import { ProtocolError } from '../../core/errors.js';
import { objectOrEmpty, omit, type JsonObject, type JsonSchema, type JsonValue } from '../../core/json/json.js';
import type { Progress } from '../../core/progress.js';
import type { Tool, ToolContext } from '../../core/tool.js';
import { askTool } from '../askTool.js';
import type { ServerRequests } from './askingCall.js';
import { callTool, type McpContext, type McpProgress } from './callTool.js';
import { McpSession, type McpCallOptions, type McpClient } from './client.js';
import { needsSignIn } from './needsSignIn.js';
import { redactThrown } from '../../protocol/redact.js';
import { stateOf, type McpSignIn } from './mcpSignIn.js';
import { isDeeperThan } from '../../core/json/depth.js';
import { watchTools } from './listTools.js';
import { requireAnswer, requireSync } from '../../core/options.js';
import { reportRejection } from '../../core/reportUnhandled.js';

export interface McpToolsOptions extends McpCallOptions {
  /** Precedes the name of each tool: the tools of two servers may have the same names. Default: none. */
  readonly prefix?: string;
  /** Selects the tools to offer, by the server's definitions of them. Default: all. */
  readonly filter?: (tool: ServerTool) => boolean;
  /** Returns the description that the model reads. Default: the server's, or its title. */
  readonly describe?: (tool: ServerTool) => string;
  /** Called for each tool that is omitted because no provider could be sent its schema. Default: nothing. */
  readonly onSkip?: (tool: ServerTool, reason: ProtocolError) => void;
  /**
   * What `mcpSignIn` returns: a call without authorisation waits, as with `needsApproval`, with the address to open as
   * `details.signIn`; approve it after the sign-in. One more request per call. Default: such a call is an error for the
   * model.
   */
  readonly signIn?: McpSignIn;
  /**
   * Answers what a server of revision 2026-07-28 requires of this application during a call, by method:
   * `sampling/createMessage`, `roots/list`. Called for one request at a time; after 100 answers, with those of people,
   * the call fails. Default: it fails with an error for the model. (Of earlier revisions, the client's own handlers
   * answer.)
   */
  readonly requests?: ServerRequests;
}

/** A tool of an MCP server. */
export interface McpTool extends Tool<string, JsonObject, JsonValue, McpProgress> {
  /** The tool as its server describes it: its own name, title, annotations (`readOnlyHint`, `destructiveHint`). */
  readonly definition: ServerTool;
  /** Calls the tool at its server: emits its progress (`McpProgress`, marked with `progress`), then its result. */
  execute(
    args: JsonObject,
    context: Pick<ToolContext, 'signal' | 'outer'>,
  ): Observable<JsonValue | Progress<McpProgress>>;
}

/**
 * Emits the tools of an MCP server, now and whenever they change.
 *
 * <span class="informal">Your agent can do everything that the server can do.</span>
 *
 * Subscribing lists the tools, from all pages, and emits the list; whenever the server announces a change, they are
 * listed again. Several subscriptions to one client share the requests. The first subscription asks the server even if
 * the client has a cached list (`ttlMs`, `defaultCacheTtlMs`), which may have changed while nobody was subscribed. The
 * tools stay usable after unsubscribing, as long as the client is connected. Tools that only run as tasks
 * (`taskSupport: 'required'`) are omitted: the client cannot call them.
 *
 * An agent takes a list: the current tools, permanently; or, for each run, the tools of that time, which are available
 * at once while there is a subscription:
 *
 * ```ts
 * const agent = createAgent({ model, tools: await firstValueFrom(mcpTools(client)) });
 *
 * const watching = mcpTools(client).subscribe();
 * questions.pipe(
 *   concatMap((question) =>
 *     mcpTools(client).pipe(
 *       take(1),
 *       switchMap((tools) => createAgent({ model, tools }).stream(question)),
 *     ),
 *   ),
 * );
 * ```
 *
 * Without `take(1)`, a change of the tools would unsubscribe from the run and start it again.
 *
 * A call emits the server's progress notifications as `McpProgress`, then its result: the joined texts; or, with images
 * and resources, the array of contents, in which images, audio and bytes are file parts; the `structuredContent` if
 * there is one, as `{ structuredContent, content }` if the contents contain more than it does. A tool that fails
 * (`isError`), an error of the protocol, a passed time limit: each is an error notification, which `executeTools`
 * answers to the model. Unsubscribing from a call cancels it at the server.
 *
 * What the server asks a person during a call (elicitation, `input_required`) is a question of the call, as of a tool
 * of `askTool`: it is answered while the run lives, or later, when the call is sent again. Up to revision 2025-11-25 a
 * server does not say which call asks, so the calls of a client that declares `elicitation` are sent one by one.
 *
 * A name that every provider accepts is kept; in others, each character that is not a letter, a digit, `_` or `-`
 * becomes `_`, and only the first 64 characters remain. The server gets its own name.
 *
 * **The server is not trusted.** The model reads the names, descriptions and schemas of its tools as instructions, and
 * a server may change them at any time: a description may tell the model to send a file to it. `filter` selects the
 * tools to offer, `describe` replaces their descriptions; both are called again for each new list. (The descriptions of
 * the parameters are in `tool.inputSchema`.)
 *
 * ```ts
 * const reviewed = new Map([['search', 'Searches the documentation.']]);
 * const tools$ = mcpTools(client, {
 *   filter: ({ name }) => reviewed.has(name),
 *   describe: ({ name }) => reviewed.get(name) ?? '',
 * });
 * ```
 *
 * Up to revision 2025-11-25, a question does not say which call it is of, and one of a call that was cancelled may come
 * during the next call: connect a client for each user.
 *
 * A tool whose schema is nested more than 200 levels deep is omitted and reported to `onSkip`. Tools after the
 * first 10,000 of a server are left out. Results are not validated against the output schemas of the server: their
 * regular expressions could block the process. If a server announces changes endlessly, its tools are requested at
 * increasing intervals, up to 30 s.
 *
 * While subscribed, `mcpTools` owns the client's only handler of `notifications/tools/list_changed`: an earlier
 * handler, also of the client's `listChanged` option, is replaced. Watch the tools by subscribing instead. All
 * subscriptions to one client object share that handler. Two wrappers of a client, or two builds of this package, do
 * not know each other: the last one to subscribe receives the changes, until any of them unsubscribes. A closed
 * connection shows at the next call, not here: after connecting the client again, subscribe again.
 *
 * @param client A connected `Client` of `@modelcontextprotocol/client`, whose owner connects and closes it; or a
 * function that connects one. It is called for each subscription, and once more when a call finds that the server has
 * lost the session (404, or 400 with a text about it, for example since it was started again): the call is then sent
 * again, the tools are watched in the new session, and the lost client is closed. Keep the last one, to close it.
 * @param options `prefix` of the names; `filter`, `describe` and `onSkip` to review the tools; `signIn` for a server
 * that requires one; `requests` that it may make of this application; and the time limits of a call: `timeout` (60 s,
 * restarted by progress), `resetTimeoutOnProgress` (true), `maxTotalTimeout` (none).
 * @returns An Observable of the lists. It completes when the server can announce no further change. Errors:
 * ConfigurationError `mcp` when the client is not connected, ConnectionError when the stream of changes broke (`retry`
 * subscribes again), the client's errors for a failed list, and errors that the options' functions throw.
 */
export function mcpTools(
  client: McpClient | (() => Promise<McpClient>),
  options: McpToolsOptions = {},
): Observable<readonly McpTool[]> {
  const connect = typeof client === 'function' ? client : undefined;
  return defer(() => (typeof client === 'function' ? client() : of(client))).pipe(
    concatMap((connected) => {
      const session = new McpSession(connected, connect);
      return session.reopened.pipe(
        startWith(connected),
        switchMap((current) => watchTools(current).pipe(materialize())),
        dematerialize(), // completes with the list of the current client
        map((serverTools) => toTools(session, hideSecrets(options.signIn, serverTools), options)),
      );
    }),
    redactErrors(options.signIn),
  );
}

/** A server may repeat a token that it knows, also in a result. */
const hideSecrets = <T>(signIn: McpSignIn | undefined, value: T): T => stateOf(signIn)?.secrets.hide(value) ?? value;

const redactErrors = <T>(signIn: McpSignIn | undefined): MonoTypeOperatorFunction<T> =>
  catchError((thrown: unknown) => {
    const secrets = stateOf(signIn)?.secrets.values ?? [];
    const sent = Object.entries(objectOrEmpty(thrown)).filter(([name]) => sentFields.has(name));
    for (const [name] of sent) Reflect.set(thrown as object, name, undefined);
    const redacted = redactThrown(thrown, { provider: 'mcp', secrets, debug: true });
    for (const [name, value] of sent) Reflect.set(redacted as object, name, hideSecrets(signIn, value));
    return throwError(() => redacted);
  });

/** As large as the server likes: one search is enough for them. */
const sentFields: ReadonlySet<string> = new Set(['data', 'content', 'structuredContent']);

function toTools(
  session: McpSession,
  serverTools: readonly ServerTool[],
  { prefix = '', filter = () => true, describe = defaultDescription, onSkip, signIn, ...limits }: McpToolsOptions,
): readonly McpTool[] {
  const callable = serverTools.filter(({ execution }) => execution?.taskSupport !== 'required');
  // A tool may be on two pages if the list changed between them.
  const distinct = [...new Map(callable.map((definition) => [definition.name, definition])).values()];
  const definitions = distinct.filter((definition) => {
    if (!requireAnswer('filter', filter(definition))) return false;
    const isUsable = !isDeeperThan(definition.inputSchema, MAX_SCHEMA_DEPTH);
    if (!isUsable) reportRejection(onSkip?.(definition, tooDeepError(definition)));
    return isUsable;
  });
  const names = toValidNames(definitions.map(({ name }) => prefix + name));
  return definitions.map((definition, index) =>
    markAsking<McpTool>(
      {
        name: names[index] ?? definition.name,
        description: requireSync('describe', describe(definition)),
        parameters: toParameters(definition),
        definition,
        // A call that has begun is repeated after a crash, as without the option.
        ...(signIn ? { needsApproval: () => needsSignIn(session, signIn), atMostOnce: false } : {}),
        execute: executor((args, context) =>
          callTool(session, definition, args, context, { ...limits, hide: (value) => hideSecrets(signIn, value) }).pipe(
            redactErrors(signIn),
          ),
        ),
      },
      'maybe',
    ),
  );
}

type Execute = (args: JsonObject, context: McpContext) => Observable<JsonValue | Progress<McpProgress>>;

/** In a run, the server may ask. */
function executor(execute: Execute): McpTool['execute'] {
  const asking = askTool({ name: 'call', description: 'A call that may ask.', execute });
  return (args, context) =>
    context.outer ? (asking.execute?.(args, context as never) as ReturnType<Execute>) : execute(args, context);
}

const defaultDescription = ({ name, title, description, annotations }: ServerTool): string =>
  description ?? title ?? annotations?.title ?? name;

/** Providers accept fewer levels. (OpenAI's strict mode: 10 levels of objects, two levels of JSON each.) */
const MAX_SCHEMA_DEPTH = 200;

const tooDeepError = ({ name }: ServerTool) =>
  new ProtocolError(
    'mcp',
    'frame',
    `The tool "${name}" is omitted: its schema is nested more than ${MAX_SCHEMA_DEPTH} levels deep.`,
    '',
  );

/**
 * OpenAI refuses an object schema without `properties`; MCP allows one. `validate` and `~standard` are functions of
 * other schemas: a server must not be able to send them.
 */
const toParameters = ({ inputSchema }: ServerTool): JsonSchema => ({
  properties: {},
  ...omit(inputSchema as JsonObject, '$schema', 'validate', '~standard'),
});

/** OpenAI and Anthropic restrict the characters and the length, Google the first character. */
const MAX_NAME_LENGTH = 64;
const validName = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const isValidName = (name: string) => name.length <= MAX_NAME_LENGTH && validName.test(name);

/**
 * A valid name stays. In others, any character but a letter, a digit, `_` or `-` becomes `_`, `_` precedes a digit or
 * `-`, and 64 characters remain; equal names are numbered (`_2`, `_3`).
 */
export function toValidNames(names: readonly string[]): readonly string[] {
  const used = new Set(names.filter(isValidName));
  const numbers = new Map<string, number>();
  return names.map((name) => {
    if (isValidName(name)) return name;
    const prefixed = /^[A-Za-z_]/.test(name) ? name : `_${name}`;
    const unused = findUnusedName(prefixed.replace(/[^A-Za-z0-9_-]/g, '_'), used, numbers);
    used.add(unused);
    return unused;
  });
}

/** The characters that remain of a name with a number of up to seven digits. */
const STEM_LENGTH = 56;

/** Continues counting where the last name with the same stem ended: 10,000 equal names are numbered in linear time. */
function findUnusedName(name: string, used: ReadonlySet<string>, numbers: Map<string, number>): string {
  const stem = name.slice(0, STEM_LENGTH);
  let number = numbers.get(stem) ?? 2;
  let candidate = name.slice(0, MAX_NAME_LENGTH);
  for (; used.has(candidate); number++) {
    const suffix = `_${number}`;
    candidate = name.slice(0, MAX_NAME_LENGTH - suffix.length) + suffix;
  }
  numbers.set(stem, number);
  return candidate;
}
