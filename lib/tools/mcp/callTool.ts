import type { CallToolRequestOptions, CallToolResult } from '@modelcontextprotocol/client';
import type { Progress as ProgressNotification, Tool as ServerTool } from '@modelcontextprotocol/client';
import { defer, fromEvent, map, of, takeUntil, type Observable } from 'rxjs';
import { isRecord, omitUndefined, type JsonObject, type JsonValue } from '../../core/json/json.js';
import { MAX_TIMER_DELAY } from '../../core/options.js';
import { isMarkedProgress, progress, valueOfProgress, type Progress } from '../../core/progress.js';
import type { ToolContext } from '../../core/tool.js';
import type { AskContext } from '../ask/askOptions.js';
import { askingOf, hasOwnHandler, inRounds, sendAlone, within } from './askingCall.js';
import type { Asking, ServerRequests } from './askingCall.js';
import { fromRequest, nestingError, type McpCallOptions, type McpSession } from './client.js';
import { isDeeperThan } from '../../core/json/depth.js';
import { toResult } from './result.js';
import { createElicit, refusal } from './serverQuestion.js';

/** A type alias, since an interface is not assignable to a JSON object. */
export type McpProgress = {
  /** The progress so far, in the server's own unit. It increases. */
  readonly progress: number;
  /** The total, if the server knows it. */
  readonly total?: number;
  readonly message?: string;
};

/** What a call needs of the context of its tool. Without `ask`, nobody can be asked. */
export type McpContext = Pick<ToolContext, 'signal' | 'outer'> & Partial<AskContext>;

/** Hides the tokens that the server has received. */
type Hide = <T>(value: T) => T;

type Limits = McpCallOptions & { readonly requests?: ServerRequests; readonly hide: Hide };

/**
 * Unsubscribing or an aborted signal cancels the call. The tool is passed without its output schema, which is not
 * trusted: the client would compile its regular expressions, and one like `^(a+)+$` blocks the process for minutes.
 */
export function callTool(
  session: McpSession,
  definition: ServerTool,
  args: JsonObject,
  { signal, ask, outer }: McpContext,
  { requests, hide, maxTotalTimeout, ...limits }: Limits,
): Observable<JsonValue | Progress<McpProgress>> {
  const { name } = definition;
  const call = defer(() => {
    const { client } = session;
    if (!ask || !outer || hasOwnHandler(client)) return sendCall(session, definition, args, limits);
    let required = 0;
    const bounded =
      <P, A>(answer: (params: P) => A) =>
      (params: P): A => {
        if (++required <= MAX_REQUIRED) return answer(hide(params));
        throw refusal(`The MCP server requires more than ${MAX_REQUIRED} answers in a call.`);
      };
    const elicit = bounded(createElicit(ask));
    const answers: ServerRequests = Object.fromEntries(
      Object.entries(requests ?? {}).map(([method, answer]) => [method, bounded(answer)]),
    );
    const asking = askingOf(client);
    if (client.getProtocolEra() === 'modern' || !asking)
      return inRounds((more) => sendCall(session, definition, args, limits, { more }), elicit, answers);
    const unlimited = { timeout: MAX_TIMER_DELAY };
    return inRounds(
      () => sendAlone(asking, elicit, limits, outer, () => sendCall(session, definition, args, unlimited, { asking })),
      elicit,
    );
  });
  return call.pipe(
    within(maxTotalTimeout, outer),
    map((value) => {
      if (isMarkedProgress(value)) return progress(hide(valueOfProgress(value)));
      if (isDeeperThan(value, MAX_RESPONSE_DEPTH)) throw nestingError();
      return toResult(name, hide(value));
    }),
    takeUntil(throwIfAborted(signal)),
  );
}

/** Emits progress and the response. With `more` parameters, the server may respond that it requires input first. */
function sendCall(
  session: McpSession,
  definition: ServerTool,
  args: JsonObject,
  { timeout, resetTimeoutOnProgress = true }: McpCallOptions,
  { more, asking }: { readonly more?: JsonObject; readonly asking?: Asking } = {},
): Observable<CallToolResult | Progress<McpProgress>> {
  const { outputSchema: _, ...toolDefinition } = definition;
  const bounded = timeout && Math.min(timeout, MAX_TIMER_DELAY);
  const limits = { resetTimeoutOnProgress, ...omitUndefined({ timeout: bounded }) };
  return fromRequest<CallToolResult | Progress<McpProgress>>((signal, next) => {
    const onprogress = (notification: ProgressNotification) => next(progress(toProgress(notification)));
    const allowInputRequired = more !== undefined;
    const options: CallToolRequestOptions = { ...limits, signal, onprogress, toolDefinition, allowInputRequired };
    const params = { name: definition.name, arguments: { ...args }, ...more };
    return session.send((client) => {
      if (asking) askingOf(client, asking);
      return client.callTool(params, options).catch((error: unknown) => {
        if (!more || !isRecord(error) || error['code'] !== MISSING_CAPABILITY) throw error;
        const _meta = { [capabilitiesKey]: { elicitation: { form: {}, url: {} } } };
        return client.callTool({ ...params, _meta }, options);
      });
    });
  });
}

/** Of people and of the application. Each question is in the checkpoint, which is written for each. */
const MAX_REQUIRED = 100;

/** The client does not declare that it can be asked, so it is declared for this request. */
const MISSING_CAPABILITY = -32_021;
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';

/** Later steps are recursive: comparing texts with structured content, and sending the result to the model. */
const MAX_RESPONSE_DEPTH = 500;

const toProgress = ({ progress: done, total, message }: ProgressNotification): McpProgress => ({
  progress: done,
  ...omitUndefined({ total, message }),
});

const throwIfAborted = (signal: AbortSignal): Observable<never> =>
  defer(() => (signal.aborted ? of(undefined) : fromEvent(signal, 'abort'))).pipe(
    map(() => {
      throw signal.reason;
    }),
  );
