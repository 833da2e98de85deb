import { defer } from 'rxjs';
import { agentOf } from '../../agent/createAgent.js';
import type { Agent, Input, ResumeOptions, RunOptions } from '../../agent/createAgent.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { innerAgentOf } from '../../core/innerAgent.js';
import type { Tool } from '../../core/tool.js';
import { InspectorLink } from './inspectorLink.js';
import { recordRun } from './recordRun.js';
import type { RecordRunOptions } from './recordRun.js';

/** Options of `inspectRuns`. */
export interface InspectOptions extends RecordRunOptions {
  /** Makes the requests to the inspector. Default: the global `fetch`, looked up at each request. */
  readonly fetch?: typeof fetch | undefined;
}

/**
 * An agent whose runs are shown by `npx rivulet inspect`, as they happen.
 *
 * <span class="informal">The network tab of a browser, for the runs of an agent.</span>
 *
 * `npx rivulet inspect` opens a page on this machine, and prints its address with a token. With this address, the runs
 * of an agent appear on the page. As long as no inspector answers at the address, nothing of a run is observed or
 * copied: the agent's Observable is returned as it is. Once it answers, runs are recorded as by `recordRun`, without
 * secrets, and sent over the loopback interface.
 *
 * The first runs of a process are recorded until the inspector has answered or refused the connection. After that, a
 * run that starts asks for the inspector at most every two seconds, and runs are recorded once it has answered.
 *
 * ```ts
 * const agent = inspectRuns(createAgent({ model, tools }), process.env.INSPECTOR);
 * ```
 *
 * @param agent The agent.
 * @param address What `npx rivulet inspect` printed: `http://127.0.0.1:4983/#token`. `undefined` returns the agent
 * itself.
 * @param options The options of `recordRun`: `name`, `content`, `secrets`, `maxLength`, `maxLineLength`; and `fetch`
 * (default: the global one).
 * @returns An agent of the same type.
 * @throws ConfigurationError `options` if the address has no token or is not one of this machine (`127.0.0.1`,
 * `localhost`, `[::1]`). An address whose token is wrong is reported as an unhandled error, once.
 */
export function inspectRuns<T extends readonly Tool[], O, C>(
  agent: Agent<T, O, C>,
  address: string | undefined,
  options: InspectOptions = {},
): Agent<T, O, C> {
  if (address === undefined) return agent;
  const link = new InspectorLink(address, options);
  const untyped = agent as unknown as Agent;
  const recorded = recordRun(untyped, (line) => link.send(line), options);
  // `defer` subscribes with the subscriber itself: events cost nothing more, while `observeRun` costs 3 to 8 % (npm
  // run bench).
  const chosen = () => (link.isWanted() ? recorded : untyped);
  return agentOf(
    (input: Input, runOptions?: RunOptions) => defer(() => chosen().stream(input, runOptions)),
    (checkpoint: Checkpoint, runOptions?: ResumeOptions) => defer(() => chosen().resume(checkpoint, runOptions)),
    innerAgentOf(agent),
  );
}
