import { defer, of, throwError, type Observable } from 'rxjs';
import { vetoReasons, type ToolCallFragment } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import { toolsError } from '../core/errors.js';
import type { RunEvent, RunState, TurnEvent } from '../core/event.js';
import { omitUndefined, type JsonObject } from '../core/json/json.js';
import { omitOptionalNulls } from '../core/json/optionalNulls.js';
import { toolCallsOf, type Message } from '../core/message.js';
import { createUnwrapper, isWrapped, WRAPPER_KEY, wrapSchema } from '../core/outputWrapper.js';
import { toJsonSchema, validate, type Schema, type Validation } from '../core/schema.js';
import { tool, type Tool } from '../core/tool.js';
import { replaceTurnEvent } from '../operators/followUp.js';
import type { TurnContext } from './orchestrator.js';
import { acceptOrRepair, memoWithRepair, exhaustedError, type TypedTurn } from './outputRepair.js';
import { SuppressedText } from './suppressedText.js';
import { modelTurn, toolChoiceAt } from './toolLoop.js';

/** With this tool, a model that does not accept a schema returns its result. */
const RETURN_RESULT = 'return_result';

const CALL_AGAIN = '. Call return_result again with the complete, corrected result.';

interface Returned {
  result?: { readonly value: unknown } | undefined;
}

/** For models that accept no JSON Schema. The arguments stream as text; other text is suppressed and reported. */
export function outputTool(typed: TypedTurn): Observable<RunEvent> {
  return defer(() => {
    const { state, context, schema } = typed;
    if (context.tools.some(({ name }) => name === RETURN_RESULT)) throw reservedName();
    const returned: Returned = {};
    return modelTurn(state, withReturnTool(withoutReturned(context), returnTool(schema, returned)), true).pipe(
      showOutput(isWrapped(toJsonSchema(schema, 'The output')), context.options.fragments ?? false, returned),
      replaceTurnEvent((turn, messages) =>
        returned.result && !vetoReasons.has(turn.finishReason)
          ? of<RunEvent>({ ...turn, finishReason: 'stop', next: null, output: returned.result.value })
          : withoutResult(typed, turn, messages),
      ),
    );
  });
}

const reservedName = () =>
  toolsError(`The tool name "${RETURN_RESULT}" is reserved for typed output.`, 'Rename the tool.');

function returnTool(schema: Schema, returned: Returned): Tool {
  const jsonSchema = toJsonSchema(schema, 'The output');
  const wrapped = isWrapped(jsonSchema);
  const accept = (validation: Validation<unknown>) => {
    if ('invalid' in validation) throw new Error(`Invalid result: ${validation.invalid}${CALL_AGAIN}`);
    returned.result = { value: validation.value };
    return 'ok';
  };
  return tool({
    name: RETURN_RESULT,
    description:
      'Returns the result to the user. Call it exactly once, with the complete result, when you have all that you ' +
      'need. Always return your answer with this tool.',
    parameters: {
      ...(wrapped ? wrapSchema(jsonSchema) : jsonSchema),
      validate: (args: JsonObject) => args, // `execute` validates with the schema itself
    },
    execute(args: JsonObject) {
      const { [WRAPPER_KEY]: inner = args } = args; // some models omit the wrapper
      const value = omitOptionalNulls(wrapped ? inner : args, jsonSchema);
      const validation = validate(schema, value);
      // Synchronous if the schema is synchronous: virtual time does not control Promises.
      return validation instanceof Promise ? validation.then(accept) : accept(validation);
    },
  });
}

/** A resumed turn returns its result again: a checkpoint holds no validated value, and the tool only validates. */
function withoutReturned({ resumed, ...context }: TurnContext): TurnContext {
  if (!resumed) return context;
  const results = resumed.open.results.filter(({ name }) => name !== RETURN_RESULT);
  return { ...context, resumed: { ...resumed, open: { ...resumed.open, results } } };
}

/** Forces `return_result`, if it is the only tool, unless the `toolChoice` option applies. */
function withReturnTool(context: TurnContext, resultTool: Tool): TurnContext {
  const { output: _, ...rest } = context;
  const forced = context.tools.length === 0 ? ({ name: RETURN_RESULT } as const) : ('required' as const);
  const chosen = context.options.toolChoice;
  const toolChoice = (state: RunState) => toolChoiceAt(state, chosen, context.context) ?? forced;
  return { ...rest, tools: [...context.tools, resultTool], options: { ...context.options, toolChoice } };
}

/** The events of `return_result` and the model's text are hidden. */
function showOutput(wrapped: boolean, fragments: boolean, returned: Returned) {
  return createOperator<RunEvent | ToolCallFragment, RunEvent>((out) => {
    const suppressed = new SuppressedText();
    const showText = (text: string) => {
      if (text !== '') out.next({ type: 'text', text });
    };
    let unwrapper = createUnwrapper(showText);
    const showFragment = (fragment: ToolCallFragment) => {
      if (fragment.name === RETURN_RESULT) {
        const text = argumentText(fragment);
        if (!wrapped || unwrapper.read(text)) showText(text);
      } else if (fragments && fragment.name !== undefined) {
        out.next(fragment as unknown as RunEvent); // not in RunEvent, but requested with `fragments`
      }
    };
    return {
      next(event) {
        switch (event.type) {
          case 'toolCallFragment':
            showFragment(event);
            return;
          case 'text':
            suppressed.text += event.text;
            return;
          case 'toolCall':
            if (event.name !== RETURN_RESULT) break;
            unwrapper.release();
            unwrapper = createUnwrapper(showText);
            return;
          case 'toolStart':
          case 'toolResult':
            if (event.name === RETURN_RESULT) return;
            break;
          case 'retract':
            suppressed.text = '';
            unwrapper = createUnwrapper(showText);
            returned.result = undefined;
            break;
          case 'turn':
            for (const last of suppressed.lastEvents(event)) out.next(last);
            return;
          default:
        }
        out.next(event);
      },
    };
  });
}

/** Some servers send the arguments as an object. */
function argumentText({ arguments: args }: ToolCallFragment): string {
  if (typeof args === 'string') return args;
  return args && Object.keys(args).length > 0 ? JSON.stringify(args) : '';
}

/** Other tools ran, the result was not valid, or the model answered with text. */
function withoutResult(typed: TypedTurn, turn: TurnEvent, messages: readonly Message[]): Observable<RunEvent> {
  const call = messages.flatMap(toolCallsOf).find(({ name }) => name === RETURN_RESULT);
  if (call && turn.next) return countRepair(typed, turn, call.arguments, messages);
  // Some models write the JSON as text although they have the tool.
  return acceptOrRepair(typed, turn, messages, `it did not call ${RETURN_RESULT}`);
}

/** The tool's error has already been reported to the model. */
function countRepair(
  typed: TypedTurn,
  turn: TurnEvent & { readonly next?: RunState | null },
  args: JsonObject,
  messages: readonly Message[],
): Observable<RunEvent> {
  const failure = exhaustedError(typed, turn, JSON.stringify(args), findResultError(messages));
  if (failure) return throwError(() => failure);
  const next = turn.next && { ...turn.next, memo: { ...turn.next.memo, ...memoWithRepair(typed.state) } };
  return of({ ...turn, ...omitUndefined({ next }) });
}

function findResultError(messages: readonly Message[]): string {
  for (const { parts } of messages)
    for (const part of parts)
      if (part.type === 'toolResult' && part.name === RETURN_RESULT && part.error !== undefined)
        return part.error.replace(CALL_AGAIN, '');
  return '';
}
