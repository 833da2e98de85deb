import type { ObservableInput } from 'rxjs';
import { ConfigurationError } from '../core/errors.js';
import type { Tool } from '../core/tool.js';
import type { ServerSentEventsOptions } from '../transport/serverSentEvents.js';
import type { ServiceChats } from './chats/chatStore.js';
import type { HandledAgent } from './handledAgent.js';
import type { EditOptions, FileUrlOptions } from './http/requestRules.js';
import type { GateOptions } from './http/gate.js';
import type { ObserveOptions } from './observed.js';
import type { OwnerLimitOptions } from './ownerLimits.js';
import type { RunStore } from './ports/runStore.js';
import type { PublicEventsOptions } from './publicEvents.js';
import type { RunsOptions } from './runs/createRuns.js';

/** The agent of a service, or a function that creates it with the tools that the client of a request executes. */
export type ServedAgent<C> = HandledAgent<C> | ((tools: readonly Tool[]) => HandledAgent<C>);

/** What browsers and other clients may do with a service, and what they receive of it. */
export type BrowserOptions = GateOptions &
  FileUrlOptions &
  EditOptions &
  PublicEventsOptions &
  Pick<ServerSentEventsOptions, 'describeError'>;

/** What clients may use of a service. */
interface LimitOptions extends OwnerLimitOptions {
  /** The size of a request that is answered with 413, in bytes. Default: 20 MiB; 4 MiB for `useChat`. */
  readonly maxBodyBytes?: number | undefined;
  /** The size of the stored conversation before a run, in bytes. A longer one is refused with 413. Default: 32 MiB. */
  readonly maxHistoryBytes?: number | undefined;
}

/** A method, so that a service may give the parameter `incoming` the type of its framework's request. */
interface ContextOption<C> {
  context(request: Request, incoming: unknown, chat: string): C | ObservableInput<C>;
}

/** Options of a service. `C` is the type of the user's own value for tools. */
export interface ServiceOptions<C = unknown> extends ObserveOptions<C>, RunsOptions {
  /** Where runs are stored. Default: in memory (64 MiB, 24 hours), until the process ends. */
  readonly store?: RunStore | undefined;
  /**
   * Keeps the chats of each user, so that another device can list and open them: `keepChats` of `rivulet/service`.
   * Default: none, and only the browser keeps them.
   */
  readonly chats?: ServiceChats<NoInfer<C>> | undefined;
  /**
   * Identifies the client: returns the option `context` of the run. If it throws, or emits nothing, the request is
   * answered with 403. Default: every request is allowed, and the context is undefined.
   *
   * @param request The request.
   * @param incoming What the handler has received beside the request. From `nodeListener`, that is the request of Node,
   * Express, Fastify or Nest, with the `user` of a guard: give the parameter its type.
   * @param chat The id of the chat in a request of `useChat`, which the browser has chosen: check here whether the user
   * may use it. Empty in other protocols.
   */
  readonly context?: ContextOption<C>['context'] | undefined;
  /**
   * Returns the owner of a run from the context of the request that starts it: the id of a user, or of a team, of at
   * most 256 characters. Nobody else can join, read, stop or answer it. Required with `context`. Default: all users are
   * one owner.
   */
  readonly owner?: ((context: C) => string) | undefined;
  /**
   * Whether the store receives a checkpoint after each turn and each tool result. A run whose process ended is then
   * resumed when its page comes back: no turn is repeated, and no tool whose result is stored. A call that had begun
   * is executed again with the same `idempotencyKey`, unless its tool is `atMostOnce`: then it is answered with
   * `outcome_unknown`. A run of `useChat` or of AG-UI is not resumed. Default: false, such a run is lost.
   */
  readonly checkpoints?: boolean | undefined;
  /**
   * How long a run whose tools ask (`askTool`) waits for the answer in memory, in milliseconds, if the agent itself has
   * no `patience`: the tools continue where they are, and nothing of them is repeated. Then, and at a shutdown, it ends
   * as waiting. It needs `checkpoints`, and counts for `maxRunsPerOwner`. A run that also waits for a decision or a
   * page, and one of a durable agent, of `useChat` or of AG-UI, ends as waiting at once. Default: 0, as all runs do.
   */
  readonly patience?: number | undefined;
  /**
   * Whether a file or a tool result that the provider has refused is left out of the requests to it, with a notice for
   * the person. Default: true; if it is false, such a run fails, and so does each one after it.
   */
  readonly omitRefused?: boolean | undefined;
  /**
   * How long another process waits before it resumes a run whose process has crashed, in milliseconds. The lease of a
   * run is renewed each third of it, and a call of the store fails after this time with its repetitions. Choose three
   * times the longest time for which a process may be blocked (garbage collection, a slow store), plus the difference
   * of the clocks of the machines: with less, a run that is alive is taken over, and its turn is asked again. A process
   * that ends in order gives its leases back at once. Default: 30000. At least 1000; the same in all processes.
   */
  readonly lease?: number | undefined;
  /** What clients may use. Default: see each limit. */
  readonly limits?: LimitOptions | undefined;
  /** What clients may do, and what they receive. Default: see each option. */
  readonly browser?: BrowserOptions | undefined;
}

/** The options of each group. Flat ones would be ignored, and a service without its limits would be open. */
const groups: Readonly<Record<'limits' | 'browser', readonly string[]>> = {
  limits: [
    'maxRunsPerOwner',
    'maxPromptsPerMinute',
    'budget',
    'maxOwnerBytes',
    'maxWaitingPrompts',
    'maxWaitingBytes',
    'maxBodyBytes',
    'maxHistoryBytes',
  ],
  browser: [
    'allowedHosts',
    'allowedOrigins',
    'allowFileUrl',
    'allowEdits',
    'exposeToolErrors',
    'exposeMetadata',
    'describeError',
  ],
};

/** @throws ConfigurationError `options` if an option of a group is beside it, or another name is in a group. */
export function requireGroups(options: Pick<ServiceOptions, keyof typeof groups>): void {
  for (const [group, names] of Object.entries(groups)) {
    const flat = names.find((name) => Object.hasOwn(options, name));
    if (flat !== undefined)
      throw new ConfigurationError(
        'options',
        `The service has the option "${flat}" beside "${group}".`,
        `Pass \`${group}: { ${flat}: ... }\`.`,
      );
    const given = Object.keys(options[group as keyof typeof groups] ?? {});
    const unknown = given.find((name) => !names.includes(name));
    if (unknown !== undefined)
      throw new ConfigurationError(
        'options',
        `There is no option "${unknown}" in "${group}".`,
        `Its options are: ${names.join(', ')}.`,
      );
  }
}
