import { defer } from 'rxjs';
import type { Observable } from 'rxjs';
import type { ToolCallFragment } from '../core/chunk.js';
import { StreamInterruptedError } from '../core/errors.js';
import type { RunEvent, RunState } from '../core/event.js';
import { toolCallIds } from '../core/history.js';
import { systemMessage } from '../core/message.js';
import type { Model, Request, RequestSettings, ToolChoice, ToolChoiceOption } from '../core/model.js';
import { jsonSchemaOf } from '../core/schema.js';
import { toolDefinition } from '../core/tool.js';
import { accumulateToolCalls } from '../operators/accumulateToolCalls.js';
import { consolidate } from '../operators/consolidate.js';
import { endTurn } from '../operators/endTurn.js';
import { executeTools } from '../operators/executeTools.js';
import type { Orchestrator, TurnContext, TurnOptions } from './orchestrator.js';

/**
 * The ordinary turn: ask the model, run the tools it calls, go on while there are results to show it.
 *
 * ```ts
 * runTurns((state) => toolLoop.turn(state, { model, tools, options: { system: 'Be brief.' } }), startState([userMessage('Hi')]));
 * ```
 */
export const toolLoop: Orchestrator = {
  name: 'toolLoop',
  turn: (state, context) => modelTurn(state, context, context.options.fragments ?? false) as Observable<RunEvent>,
};

/** The pipe of a turn; with `fragments`, the pieces of its tool calls come through as well. */
export function modelTurn(
  state: RunState,
  context: TurnContext,
  fragments: boolean,
): Observable<RunEvent | ToolCallFragment> {
  return defer(() => {
    const { model, tools, options } = context;
    const { newId } = options;
    return model
      .stream(requestOf(state, context))
      .pipe(
        accumulateToolCalls({ fragments, usedIds: () => toolCallIds(state.messages), ...(newId ? { newId } : {}) }),
        consolidate(),
        executeTools(tools, { ...options, messages: state.messages }),
        endTurn(state, { ...options, unfinished: () => unfinished(model) }),
      );
  });
}

/** The request of a turn: the history behind the system prompt, the tools as the model is told of them, and the settings. */
export function requestOf(state: RunState, { tools, output, options }: TurnContext): Request {
  const { system, toolChoice } = options;
  const choice = toolChoiceAt(state, toolChoice);
  return {
    ...settingsOf(options),
    messages: system === undefined ? state.messages : [systemMessage(system), ...state.messages],
    ...(tools.length > 0 ? { tools: tools.map(toolDefinition) } : {}),
    ...(choice === undefined || tools.length === 0 ? {} : { toolChoice: choice }),
    ...(output ? { output: jsonSchemaOf(output, 'The output') } : {}),
  };
}

/** A model that completes without a `finish` breaks its contract: its run would end without a turn, a result or a word. */
const unfinished = ({ provider, name }: Model) =>
  new StreamInterruptedError(
    provider,
    `The stream of ${provider}:${name} completed without a \`finish\` chunk. A model emits exactly one, last; in a test, add { type: 'finish', reason: 'stop' }.`,
  );

/** A plain choice holds for the first turn of a run: it would be forced again and again. */
export function toolChoiceAt(state: RunState, option: ToolChoiceOption | undefined): ToolChoice | undefined {
  if (dependsOnState(option)) return option(state);
  return state.turn === 0 ? option : undefined;
}

/** `typeof` alone does not do: to the type checker, `{ name }` may be a function, since functions have a name. */
const dependsOnState = (
  choice: ToolChoiceOption | undefined,
): choice is Extract<ToolChoiceOption, (...args: never) => unknown> => typeof choice === 'function';

const settings = [
  'temperature',
  'topP',
  'maxOutputTokens',
  'stopSequences',
  'seed',
  'thinking',
  'parallelToolCalls',
  'providerOptions',
] as const satisfies readonly (keyof RequestSettings)[];

/** The settings that go to the model, without those of the run. */
function settingsOf(options: TurnOptions): RequestSettings {
  const chosen: Record<string, unknown> = {};
  for (const key of settings) if (options[key] !== undefined) chosen[key] = options[key];
  return chosen;
}
