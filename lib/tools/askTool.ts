import { scopeOf } from '../core/callScope.js';
import { markAsking } from '../core/askingTool.js';
import { toolsError } from '../core/errors.js';
import type { RunEvent } from '../core/event.js';
import { placesOf, type InnerPlace } from '../core/innerPlaces.js';
import type { JsonValue } from '../core/json/json.js';
import type { ProviderOptions, ToolCallPart } from '../core/message.js';
import type { OuterRun } from '../core/nested.js';
import type { Infer, InferInput, Schema } from '../core/schema.js';
import { tool, type Nested, type NeedsApproval, type noParameters, type Tool, type ToolContext } from '../core/tool.js';
import type { ProgressOf, ResultOf } from '../core/toolOutput.js';
import { runTool } from '../operators/execute/runTool.js';
import { AskedCall } from './ask/askedCall.js';
import type { AskContext } from './ask/askOptions.js';

type AskToolContext<P, Call extends ToolCallPart<string, unknown>, C> = ToolContext<P, Call, C> & AskContext;

/**
 * Defines a tool that may ask a person in the middle of its work.
 *
 * <span class="informal">"Which account?", answered at once, after a reload, or next week in another process.</span>
 *
 * ![](../../marbles/askTool.svg)
 *
 * The context of `execute` also has `ask` and `once`. If the run has `answers`, the tool waits in memory, for as long
 * as the agent has `patience`. Otherwise the run ends with `waiting`, with the question in its checkpoint, as it does
 * for an approval; `agent.resume(checkpoint, { results: { [id]: answer } })` continues it, and
 * `{ decisions: { [id]: { approve: false, reason } } }` declines.
 *
 * A call that is resumed begins again at the top of `execute`: `ask` returns the answers that were given, and `once`
 * the results that were recorded. What stands outside of both is repeated. Put each effect into `once`.
 *
 * A question is shown as a waiting call `ask` of a run inside the call: `toolWaiting` has `question` (`message`, and
 * the JSON `schema` of the answer), and its id is `call/key`. If the call has begun other tools that ask, or agents,
 * before this one, the id is `call/name.n.key`. An answer that does not match the schema is asked again, with a
 * `problem`. The time of a person does not count for `toolDeadline` and `toolConcurrency`.
 *
 * ```ts
 * const pay = askTool({
 *   name: 'pay',
 *   description: 'Pays an invoice.',
 *   parameters: z.object({ invoice: z.string() }),
 *   execute: ({ invoice }, { ask, once }) =>
 *     once('invoice', () => fetchInvoice(invoice)).pipe(
 *       concatMap(({ amount }) => ask({ message: `Pay ${amount}?`, schema: z.object({ account: z.string() }) })),
 *       concatMap(({ account }) => once('payment', (idempotencyKey) => bank.pay(invoice, account, idempotencyKey))),
 *     ),
 * });
 * ```
 *
 * @param definition As for `tool`, with `execute`.
 * @returns The tool.
 * @throws ConfigurationError as `tool` does.
 */
export function askTool<
  const Name extends string,
  Output,
  S extends Schema = typeof noParameters,
  P extends Schema | undefined = undefined,
  C = unknown,
>(definition: {
  readonly name: Name;
  readonly description: string;
  readonly parameters?: S;
  readonly providerOptions?: ProviderOptions;
  readonly progress?: P;
  readonly needsApproval?: NeedsApproval<Infer<NoInfer<S>>, C>;
  readonly atMostOnce?: boolean;
  readonly execute: (
    args: Infer<NoInfer<S>>,
    context: AskToolContext<P extends Schema ? Infer<P> : unknown, ToolCallPart<Name, InferInput<NoInfer<S>>>, C>,
  ) => Output;
}): Tool<Name, Infer<S>, ResultOf<Output>, AskProgress<ProgressOf<Output, P>>, InferInput<S>, C> {
  const asking = definition as unknown as Tool;
  const execute: Tool['execute'] = (args, given) => {
    const context = given as ToolContext;
    const { outer, work = outer, idempotencyKey } = context;
    const scope = scopeOf(context);
    if (!outer || !work || !scope) throw notInRun();
    const occurrence = scope.begin(definition, args);
    const call = askedCall(outer, idempotencyKey, placesOf(outer).of('ask', definition.name, occurrence));
    return call.run(work, (ask) => runTool(asking, args, { ...context, ...ask })).pipe(occurrence.follow());
  };
  return markAsking(tool({ ...asking, execute } as never)) as unknown as ReturnType<
    typeof askTool<Name, Output, S, P, C>
  >;
}

/** A question is an event of a run inside the call. */
type AskProgress<P> = Nested<RunEvent> | (unknown extends P ? JsonValue : P);

/** Executions in the same place share it: `retryTool` does not ask again. */
function askedCall(outer: OuterRun, idempotencyKey: string, place: InnerPlace): AskedCall {
  const calls = [...outer.controls].filter((control) => control instanceof AskedCall);
  const call = calls.find((one) => one.place === place) ?? new AskedCall(outer, idempotencyKey, place);
  outer.control(call);
  return call;
}

const notInRun = () =>
  toolsError(
    'A tool that asks was executed outside of a run.',
    'Pass the context that `execute` receives, with its `outer`, or run the tool with `executeTools` or an agent.',
  );
