import { defer, of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import type { ToolCallFragment } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import { ConfigurationError } from '../core/errors.js';
import type { RunEvent, RunState, TurnEvent } from '../core/event.js';
import { omitUndefined } from '../core/json/json.js';
import type { JsonObject, JsonSchema } from '../core/json/json.js';
import { omitOptionalNulls } from '../core/json/optionalNulls.js';
import { toolCallsOf } from '../core/message.js';
import type { Message } from '../core/message.js';
import { jsonSchemaOf, validate } from '../core/schema.js';
import type { Validation } from '../core/schema.js';
import { tool } from '../core/tool.js';
import type { Tool } from '../core/tool.js';
import type { TurnContext } from './orchestrator.js';
import { replaceTurnEvent, acceptOrRepair, repairsExhausted, withRepair } from './outputRepair.js';
import type { TypedTurn } from './outputRepair.js';
import { modelTurn, toolChoiceAt } from './toolLoop.js';

/** The name of the tool by which a model without a schema of its own returns its result. */
export const RETURN_RESULT = 'return_result';

/**
 * A turn whose output is the arguments of a tool, `return_result`: for models that call tools but take no JSON Schema for their answer.
 *
 * The JSON streams as text while it arrives. Other text is suppressed, and told once as metadata `suppressedText`. A result that does not validate is answered to the model as
 * the tool's error, which it can repair.
 */
export function outputTool(typed: TypedTurn): Observable<RunEvent> {
  return defer(() => {
    const { state, context, schema } = typed;
    if (context.tools.some(({ name }) => name === RETURN_RESULT)) throw reserved();
    let found: { readonly value: unknown } | undefined;
    const returning = returnTool(typed, (value) => (found = { value }));
    const turn = modelTurn(state, withReturn(context, returning), true).pipe(
      asOutput(isWrapped(jsonSchemaOf(schema, 'The output')), context.options.fragments ?? false),
    );
    return replaceTurnEvent(turn, (last, messages) =>
      found
        ? of<RunEvent>({ ...last, finishReason: 'stop', next: null, output: found.value })
        : without(typed, last, messages),
    );
  });
}

const reserved = () =>
  new ConfigurationError(
    'tools',
    `A tool is called "${RETURN_RESULT}", by which this model returns its typed output.`,
    'Rename the tool.',
  );

/** A tool takes an object: another kind of result is wrapped in one. */
const isWrapped = (schema: JsonSchema): boolean => schema['type'] !== 'object';

function returnTool({ schema }: TypedTurn, found: (value: unknown) => void): Tool {
  const json = jsonSchemaOf(schema, 'The output');
  const wrapped = isWrapped(json);
  const settle = (validation: Validation<unknown>) => {
    if ('invalid' in validation)
      throw new Error(
        `Invalid result: ${validation.invalid}. Call ${RETURN_RESULT} again with the whole result, corrected.`,
      );
    found(validation.value);
    return 'ok';
  };
  const { $defs, definitions, ...bare } = json; // references point to the root
  return tool({
    name: RETURN_RESULT,
    description:
      'Returns the result to the user. Call it exactly once, with the complete result, when you have all that you need. Every answer goes through it.',
    parameters: {
      ...(wrapped
        ? {
            type: 'object',
            properties: { result: bare },
            required: ['result'],
            ...omitUndefined({ $defs, definitions }),
          }
        : json),
      validate: (args: JsonObject) => args, // `execute` does it, by the schema itself
    },
    execute(args: JsonObject) {
      const value = omitOptionalNulls(wrapped ? (args['result'] ?? null) : args, jsonSchemaOf(schema, 'The output'));
      const validation = validate(schema, value);
      return validation instanceof Promise ? validation.then(settle) : settle(validation); // synchronous where the schema is: virtual time does not know promises
    },
  });
}

/** The model has to call something: the one tool if there is no other, unless the user has chosen. */
function withReturn(context: TurnContext, returning: Tool): TurnContext {
  const { output: _, ...rest } = context;
  const forced = context.tools.length === 0 ? ({ name: RETURN_RESULT } as const) : ('required' as const);
  const chosen = context.options.toolChoice;
  const toolChoice = (state: RunState) => toolChoiceAt(state, chosen) ?? forced;
  return { ...rest, tools: [...context.tools, returning], options: { ...context.options, toolChoice } };
}

/** The arguments of `return_result` as text, the model's text as one metadata, and the tool itself out of sight; of others the fragments, if asked for. */
function asOutput(wrapped: boolean, fragments: boolean) {
  return createOperator<RunEvent | ToolCallFragment, RunEvent>((out) => {
    let suppressed = '';
    const piece = (fragment: ToolCallFragment) => {
      const { name, arguments: args } = fragment;
      if (fragments && name !== undefined && name !== RETURN_RESULT) out.next(fragment as unknown as RunEvent); // RunEvent has none: the reader asked for them
      if (name !== RETURN_RESULT || !args || wrapped) return;
      const text = typeof args === 'string' ? args : Object.keys(args).length > 0 ? JSON.stringify(args) : '';
      if (text !== '') out.next({ type: 'text', text });
    };
    const call = (event: Extract<RunEvent, { type: 'toolCall' | 'toolStart' | 'toolProgress' | 'toolResult' }>) => {
      if (event.name !== RETURN_RESULT) out.next(event);
      else if (wrapped && event.type === 'toolCall')
        out.next({ type: 'text', text: JSON.stringify(event.arguments['result'] ?? null) });
    };
    return {
      next(event) {
        if (event.type === 'toolCallFragment') piece(event);
        else if (event.type === 'text') suppressed += event.text;
        else if (
          event.type === 'toolCall' ||
          event.type === 'toolStart' ||
          event.type === 'toolProgress' ||
          event.type === 'toolResult'
        )
          call(event);
        else {
          if (event.type === 'retract') suppressed = '';
          if (event.type === 'turn' && suppressed !== '')
            out.next({ type: 'metadata', metadata: { suppressedText: suppressed } });
          out.next(event);
        }
      },
    };
  });
}

/** No result came of this turn: other tools ran, the result was not valid, or the model answered in words. */
function without(typed: TypedTurn, turn: TurnEvent, messages: readonly Message[]): Observable<RunEvent> {
  const tried = messages.flatMap(toolCallsOf).find(({ name }) => name === RETURN_RESULT);
  if (tried && turn.next) return sentBack(typed, turn, tried.arguments, messages);
  return acceptOrRepair(typed, turn, messages, `it did not call ${RETURN_RESULT}`); // some models write the JSON as text although they were given the tool
}

/** The tool's error has told the model what is wrong: only the count of repairs is missing. */
function sentBack(
  typed: TypedTurn,
  turn: TurnEvent,
  args: JsonObject,
  messages: readonly Message[],
): Observable<RunEvent> {
  const answer = messages
    .flatMap(({ parts }) => parts)
    .find((part) => part.type === 'toolResult' && part.name === RETURN_RESULT);
  const said = answer?.type === 'toolResult' ? (answer.error ?? '') : '';
  const failure = repairsExhausted(
    typed,
    turn,
    JSON.stringify(args),
    said.replace(/\.? Call return_result again.*$/, ''),
  );
  if (failure) return throwError(() => failure);
  const next = turn.next && { ...turn.next, memo: { ...turn.next.memo, ...withRepair(typed.state) } };
  return of({ ...turn, ...(next ? { next } : {}) });
}
