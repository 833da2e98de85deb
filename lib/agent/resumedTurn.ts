import { forkJoin, from, map, of, type Observable } from 'rxjs';
import { isDecision, mapAnswers, type AllAnswers, type CallAnswers, type WaitingCall } from '../core/approval.js';
import type { Checkpoint, OpenCalls, ResumedTurn, ResumedRun } from '../core/checkpoint.js';
import { ConfigurationError } from '../core/errors.js';
import type { JsonValue } from '../core/json/json.js';
import { toJson } from '../core/json/toJson.js';
import { toolCallsOf } from '../core/message.js';
import { innerAgentOf } from '../core/innerAgent.js';
import { readCheckpoint } from '../core/readCheckpoint.js';
import { validate, type Validation } from '../core/schema.js';
import type { Tool } from '../core/tool.js';

/** Everything is checked before anything is executed. Answers to calls whose tool is gone pass, and are not used. */
export function resumedTurn(
  open: OpenCalls | undefined,
  given: CallAnswers,
  tools: readonly Tool[],
): Observable<ResumedTurn | undefined> {
  const waiting = new Map(open?.waiting.map((call) => [call.id, call]));
  requireWaiting(given, waiting);
  const all = mapAnswers(given, (id) => id); // of each kind
  requireValid(all, waiting);
  const inside = (path: readonly string[] = []) => path.slice(1).join('/');
  const own = mapAnswers(all, (id) => (waiting.get(id)?.path ? undefined : id));
  const results = validAnswers(own, waiting, tools);
  const inner = Object.entries(open?.nested ?? {}).map(([outer, checkpoint]) => {
    const calls = [...waiting.values()].filter(({ path }) => path?.[0] === outer);
    const innerIds = new Map(calls.map(({ id, path }) => [id, inside(path)]));
    const questions = new Map(calls.filter(({ question }) => question).map((call) => [inside(call.path), call]));
    const answers = mapAnswers(all, (id) => innerIds.get(id));
    return innerRun(outer, checkpoint, answers, questions, toolOfCall(open, outer, tools));
  });
  return forkJoin([results, inner.length > 0 ? forkJoin(inner) : of([])]).pipe(
    map(
      ([valid, runs]) =>
        open && {
          open,
          decisions: toMap(own.decisions),
          results: new Map(valid),
          errors: toMap(own.errors),
          nested: new Map(runs),
        },
    ),
  );
}

const hasEnd = ({ results, errors }: AllAnswers, id: string) => Object.hasOwn(results, id) || Object.hasOwn(errors, id);

/** Comes before the first copy of the answers: there may be any number of them. */
function requireWaiting(
  { decisions = {}, results = {}, errors = {} }: CallAnswers,
  waiting: ReadonlyMap<string, WaitingCall>,
): void {
  for (const [subject, answers] of Object.entries({ decisions, results, errors }))
    for (const id of Object.keys(answers)) if (!waiting.has(id)) throw notWaiting(subject, id, waiting);
}

/** What holds for calls of all depths, and for questions. */
function requireValid(given: AllAnswers, waiting: ReadonlyMap<string, WaitingCall>): void {
  const { decisions, results, errors } = given;
  for (const [id, decision] of Object.entries(decisions)) {
    if (!isDecision(decision)) throw invalidDecision(id);
    if (!decision.approve && Object.hasOwn(results, id)) throw contradiction(id);
    const call = waiting.get(id);
    if (decision.approve && call?.question && !hasEnd(given, id)) throw notAnswered(id);
  }
  for (const [id, error] of Object.entries(errors))
    if (typeof error !== 'string' || Object.hasOwn(results, id) || Object.hasOwn(decisions, id)) throw invalidError(id);
}

/** Checks as the agent of the inner run would, which resumes it later with the same answers. */
function innerRun(
  id: string,
  stored: Checkpoint,
  answers: CallAnswers,
  questions: ReadonlyMap<string, WaitingCall>,
  tool: Tool | undefined,
): Observable<readonly [string, ResumedRun]> {
  const run = [id, { checkpoint: stored, answers }] as const;
  const agent = innerAgentOf(tool);
  if (!agent) {
    // A tool that asks; or one that is gone, or runs another kind of agent, whose calls are not known.
    const own = mapAnswers(answers, (inner) => (questions.has(inner) ? inner : undefined));
    return validAnswers(own, questions, []).pipe(map(() => run));
  }
  const { open } = readCheckpoint(stored, agent.orchestrator);
  return resumedTurn(open, answers, agent.tools).pipe(map(() => run));
}

function toolOfCall(open: OpenCalls | undefined, id: string, tools: readonly Tool[]): Tool | undefined {
  const call = open?.messages.flatMap(toolCallsOf).find((candidate) => candidate.id === id);
  return tools.find(({ name }) => name === call?.name);
}

function validAnswers(
  own: AllAnswers,
  waiting: ReadonlyMap<string, WaitingCall>,
  tools: readonly Tool[],
): Observable<readonly (readonly [string, JsonValue])[]> {
  const toolOf = (id: string) => tools.find(({ name }) => name === waiting.get(id)?.name);
  for (const [id, { approve }] of Object.entries(own.decisions)) {
    const tool = toolOf(id);
    if (approve && tool && !tool.execute && !hasEnd(own, id)) throw notExecutable(id, tool.name);
  }
  for (const subject of ['results', 'errors'] as const)
    for (const id of Object.keys(own[subject])) {
      const tool = toolOf(id);
      if (tool?.execute) throw executesItself(subject, id, tool.name);
    }
  const validations = Object.entries(own.results).map(([id, result]) =>
    validResult(toolOf(id), result).pipe(map((value) => [id, value] as const)),
  );
  return validations.length > 0 ? forkJoin(validations) : of([]);
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

const notWaiting = (subject: string, id: string, waiting: ReadonlyMap<string, WaitingCall>) =>
  new ConfigurationError(
    subject,
    `No call with the id "${id}" waits.`,
    `These calls wait: ${[...waiting.values()].map((call) => `"${call.id}" (${call.name})`).join(', ') || 'none'}.`,
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

const notAnswered = (id: string) =>
  new ConfigurationError(
    'decisions',
    `The question "${id}" is approved, but has no answer.`,
    'Pass the answer of the person: results: { [id]: value }.',
  );

const invalidError = (id: string) =>
  new ConfigurationError(
    'errors',
    `The error for the call "${id}" is not a text, or the call has another answer too.`,
    'Pass the error, the result or the decision of a call.',
  );

const executesItself = (subject: 'results' | 'errors', id: string, name: string) =>
  new ConfigurationError(
    subject,
    `There is ${subject === 'results' ? 'a result' : 'an error'} for the call "${id}", but the tool "${name}" has \`execute\`.`,
    'Pass a decision for this call. Results and errors are for tools without `execute`.',
  );

const invalidResult = (name: string, problem: string) =>
  new ConfigurationError(
    'results',
    `The result of the tool "${name}" does not match its schema: ${problem}.`,
    'Pass a valid result. The checkpoint can be resumed again.',
  );
