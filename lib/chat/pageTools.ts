import { of, type Observable } from 'rxjs';
import type { FinishChunk } from '../core/chunk.js';
import { toolsError } from '../core/errors.js';
import type { ToolProgressEvent, ToolResultEvent, ToolStartEvent, TurnMessageEvent } from '../core/event.js';
import { modelMessage } from '../core/message.js';
import type { Tool } from '../core/tool.js';
import { namesOf, withToolName } from '../core/toolNames.js';
import { executeTools, type ExecuteToolsOptions } from '../operators/executeTools.js';
import { ofType } from '../operators/ofType.js';
import { lockTab, type TabLock } from './tabLock.js';
import type { ToolCallView } from '../operators/view/view.js';

/** Tools that are executed in the page of a conversation, as `pageTools` returns them. */
export interface PageTools {
  /** Whether one of them has this name. */
  has(name: string): boolean;
  /** Waits until no other tab of the page executes the calls of this run. */
  lock(run: string): Observable<TabLock>;
  /** Executes calls that wait for their results, and emits the events of their tools. */
  execute(
    calls: readonly ToolCallView[],
    options: ExecuteToolsOptions,
  ): Observable<ToolStartEvent | ToolProgressEvent | ToolResultEvent>;
}

/**
 * Makes tools that a conversation executes in its page, when a run waits for their results.
 *
 * <span class="informal">A page without such tools does not download the code that executes them.</span>
 *
 * ```ts
 * const place = tool({ name: 'place', description: 'Where the user is.', execute: () => currentPosition() });
 * const chat = conversation(remoteAgent('/api/chat'), { tools: pageTools([place]) });
 * ```
 *
 * @param tools The tools. At the server, they are declared without `execute`.
 * @returns The option `tools` of `conversation`.
 * @throws ConfigurationError `tools` if a tool has no `execute`, or needs an approval.
 */
export function pageTools(tools: readonly Tool[]): PageTools {
  const invalid = tools.find((tool) => !tool.execute || tool.needsApproval);
  if (invalid) throw notExecutable(invalid.name);
  const names = namesOf(tools);
  return {
    has: (name) => names.has(withToolName({ name }, names).name), // a server that is not Rivulet's may send any
    lock: lockTab,
    execute(calls, options) {
      // `executeTools` executes the calls of a turn: those in its message, after its finish.
      const parts = calls.map(({ type, id, name, arguments: args }) => ({ type, id, name, arguments: args }));
      const message: TurnMessageEvent = { type: 'message', message: modelMessage(parts) };
      const finish: FinishChunk = { type: 'finish', reason: 'toolCalls' };
      const turn = of(message, finish).pipe(executeTools(tools, options));
      // In the `return`, its type would not be inferred.
      const events = turn.pipe(ofType('toolStart', 'toolProgress', 'toolResult'));
      return events;
    },
  };
}

const notExecutable = (name: string) =>
  toolsError(
    `The tool "${name}" of the page has no \`execute\`, or needs an approval.`,
    'Pass tools that this page executes. Calls of other tools wait for `decide` or `answer`.',
  );
