import { forkJoin, from, map, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { isDecision } from '../core/approval.js';
import type { CallAnswers } from '../core/approval.js';
import type { OpenCalls, ResumedTurn } from '../core/checkpoint.js';
import { ConfigurationError } from '../core/errors.js';
import type { JsonValue } from '../core/json/json.js';
import { toJson } from '../core/json/toJson.js';
import { validate } from '../core/schema.js';
import type { Validation } from '../core/schema.js';
import type { Tool } from '../core/tool.js';

/**
 * Checks the answers to the waiting calls of a checkpoint, before anything is executed.
 *
 * @param open The open calls of the checkpoint, if it has any.
 * @param answers The decisions, the results and the errors, by the ids of the calls.
 * @param tools The tools of the agent. The result of a call whose tool is gone is ignored.
 * @returns An Observable of the turn to resume; of undefined without open calls. Synchronous if the schemas of the
 * results are. It fails with a ConfigurationError if an answer is not valid, or belongs to no waiting call.
 */
export function resumedTurn(
  open: OpenCalls | undefined,
  { decisions = {}, results = {}, errors = {} }: CallAnswers,
  tools: readonly Tool[],
): Observable<ResumedTurn | undefined> {
  const hasAnswer = (id: string) => Object.hasOwn(results, id) || Object.hasOwn(errors, id);
  const waiting = new Map(open?.waiting.map(({ id, name }) => [id, name]));
  for (const [id, decision] of Object.entries(decisions)) {
    if (!waiting.has(id)) throw notWaiting('decisions', id, waiting);
    if (!isDecision(decision)) throw invalidDecision(id);
    if (!decision.approve && Object.hasOwn(results, id)) throw contradiction(id);
    const tool = tools.find(({ name }) => name === waiting.get(id));
    if (decision.approve && tool && !tool.execute && !hasAnswer(id)) throw notExecutable(id, tool.name);
  }
  const validations: Observable<readonly [string, JsonValue]>[] = [];
  for (const [id, result] of Object.entries(results)) {
    const name = waiting.get(id);
    if (name === undefined) throw notWaiting('results', id, waiting);
    const tool = tools.find((candidate) => candidate.name === name);
    if (tool?.execute) throw executesItself(id, name);
    validations.push(validResult(tool, result).pipe(map((value) => [id, value] as const)));
  }
  for (const [id, error] of Object.entries(errors)) {
    if (!waiting.has(id)) throw notWaiting('errors', id, waiting);
    if (typeof error !== 'string' || Object.hasOwn(results, id) || Object.hasOwn(decisions, id)) throw invalidError(id);
  }
  const validated = validations.length > 0 ? forkJoin(validations) : of([]);
  return validated.pipe(
    map((entries) => open && { open, decisions: toMap(decisions), results: new Map(entries), errors: toMap(errors) }),
  );
}

const toMap = <T>(entries: Readonly<Record<string, T>>) => new Map(Object.entries(entries));

function validResult(tool: Tool | undefined, result: JsonValue): Observable<JsonValue> {
  if (!tool?.result) return of(toJson(result));
  const validation = validate(tool.result, result);
  const valid = (checked: Validation<unknown>) => {
    if ('invalid' in checked) throw invalidResult(tool.name, checked.invalid);
    return toJson(checked.value);
  };
  return (validation instanceof Promise ? from(validation) : of(validation)).pipe(map(valid));
}

const notWaiting = (subject: keyof CallAnswers, id: string, waiting: ReadonlyMap<string, string>) =>
  new ConfigurationError(
    subject,
    `No call with the id "${id}" waits.`,
    `These calls wait: ${[...waiting].map(([other, name]) => `"${other}" (${name})`).join(', ') || 'none'}.`,
  );

const invalidDecision = (id: string) =>
  new ConfigurationError(
    'decisions',
    `The value for the call "${id}" is not a decision.`,
    'Pass { approve: true }, { approve: true, arguments } or { approve: false, reason }.',
  );

const contradiction = (id: string) =>
  new ConfigurationError(
    'decisions',
    `The call "${id}" is denied, and has a result.`,
    'Pass either the decision or the result.',
  );

const notExecutable = (id: string, name: string) =>
  new ConfigurationError(
    'decisions',
    `The call "${id}" is approved, but the tool "${name}" has no \`execute\`.`,
    'Execute the call yourself, and pass its result: results: { [id]: value }.',
  );

const invalidError = (id: string) =>
  new ConfigurationError(
    'errors',
    `The error for the call "${id}" is not a text, or the call has another answer too.`,
    'Pass the error, the result or the decision of a call.',
  );

const executesItself = (id: string, name: string) =>
  new ConfigurationError(
    'results',
    `There is a result for the call "${id}", but the tool "${name}" has \`execute\`.`,
    'Pass a decision for this call. Results are for tools without `execute`.',
  );

const invalidResult = (name: string, problem: string) =>
  new ConfigurationError(
    'results',
    `The result of the tool "${name}" does not match its schema: ${problem}.`,
    'Pass a valid result. The checkpoint can be resumed again.',
  );
