import { forkJoin, from, map, of, type Observable } from 'rxjs';
import { isDecision, mapAnswers, type AllAnswers, type CallAnswers, type WaitingCall } from '../core/approval.js';
import type { Checkpoint, OpenCalls, ResumedTurn, ResumedRun } from '../core/checkpoint.js';
import { ConfigurationError, errorText, decisionsError } from '../core/errors.js';
import type { JsonValue } from '../core/json/json.js';
import { toJson } from '../core/json/toJson.js';
import { toolCallsOf } from '../core/message.js';
import { innerAgentOf } from '../core/innerAgent.js';
import { innerRuns } from '../core/nested.js';
import { readCheckpoint } from '../core/readCheckpoint.js';
import { validate, type Validation } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import { messageWithToolNames, namesOf, withToolName } from '../core/toolNames.js';

/** Everything is checked before anything is executed. Answers to calls whose tool is gone pass, and are not used. */
export function resumedTurn(
  stored: OpenCalls | undefined,
  given: CallAnswers,
  tools: readonly Tool[],
): Observable<ResumedTurn | undefined> {
  const open = stored && withOwnNames(stored, tools);
  const called = new Map(open?.messages.flatMap(toolCallsOf).map(({ id, name }) => [id, name]));
  const toolOf = (id: string) => tools.find(({ name }) => name === called.get(id));
  const waiting = new Map(open?.waiting.map((call) => [call.id, call]));
  requireWaiting(given, waiting);
  const all = mapAnswers(given, (id) => id); // of each kind
  requireValid(all, waiting);
  const inside = (path: readonly string[] = []) => path.slice(1).join('/');
  const own = mapAnswers(all, (id) => (waiting.get(id)?.path ? undefined : id));
  const results = validAnswers(own, toolOf);
  const inner = Object.entries(open?.nested ?? {}).map(([outer, checkpoint]) => {
    const calls = [...waiting.values()].filter(({ path }) => path?.[0] === outer);
    const innerIds = new Map(calls.map(({ id, path }) => [id, inside(path)]));
    const questions = new Map(calls.filter(({ question }) => question).map((call) => [inside(call.path), call]));
    const answers = mapAnswers(all, (id) => innerIds.get(id));
    return innerRun(outer, checkpoint, answers, questions, toolOf(outer));
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

/** An earlier version has stored names as the model wrote them. */
function withOwnNames(open: OpenCalls, tools: readonly Tool[]): OpenCalls {
  const names = namesOf(tools);
  const messages = open.messages.map((message) => messageWithToolNames(message, names));
  const results = open.results.map((result) => withToolName(result, names));
  return { ...open, messages, results, waiting: open.waiting.map((call) => withToolName(call, names)) };
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

/** Checks as the agents of the inner runs would, which resume them later with the same answers. */
function innerRun(
  id: string,
  stored: Checkpoint,
  answers: CallAnswers,
  questions: ReadonlyMap<string, WaitingCall>,
  tool: Tool | undefined,
): Observable<readonly [string, ResumedRun]> {
  const agent = innerAgentOf(tool);
  const runs = innerRuns(stored);
  const waitsIn = ({ open }: Checkpoint, call: string) => open?.waiting.some((one) => one.id === call) ?? false;
  const checks = runs.map((inner) => {
    const { task } = inner;
    const isOwn = (call: string) => waitsIn(inner, call) || !runs.some((other) => waitsIn(other, call));
    const own = mapAnswers(answers, (call) => (isOwn(call) ? call : undefined));
    if (agent && (task?.name ?? agent.name) === agent.name && task?.kind !== 'ask')
      return resumedTurn(readCheckpoint(inner, agent.orchestrator).open, own, agent.tools);
    // A tool that asks; or an agent that is gone, or that the tool runs by itself, whose calls are not known.
    const asked = mapAnswers(own, (call) => (questions.has(call) ? call : undefined));
    return validAnswers(asked, () => undefined);
  });
  return forkJoin(checks).pipe(map(() => [id, { checkpoint: stored, answers }] as const));
}

function validAnswers(
  own: AllAnswers,
  toolOf: (id: string) => Tool | undefined,
): Observable<readonly (readonly [string, JsonValue])[]> {
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
    validResult(toolOf(id)?.name ?? id, toolOf(id), result).pipe(map((value) => [id, value] as const)),
  );
  return validations.length > 0 ? forkJoin(validations) : of([]);
}

const toMap = <T>(entries: Readonly<Record<string, T>>) => new Map(Object.entries(entries));

function validResult(name: string, tool: Tool | undefined, result: JsonValue): Observable<JsonValue> {
  const validation = tool?.result ? validate(tool.result, result) : { value: result };
  const valid = (checked: Validation<unknown>) => {
    if ('invalid' in checked) throw invalidResult(name, `does not match its schema: ${checked.invalid}`);
    try {
      return toJson(checked.value);
    } catch (thrown) {
      throw invalidResult(name, `is not JSON (${errorText(thrown)})`);
    }
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
  decisionsError(
    `The value for the call "${id}" is not a decision.`,
    'Pass { approve: true }, { approve: true, arguments } or { approve: false, reason }.',
  );

const contradiction = (id: string) =>
  decisionsError(`The call "${id}" is denied, and has a result.`, 'Pass either the decision or the result.');

const notExecutable = (id: string, name: string) =>
  decisionsError(
    `The call "${id}" is approved, but the tool "${name}" has no \`execute\`.`,
    'Execute the call yourself, and pass its result: results: { [id]: value }.',
  );

const notAnswered = (id: string) =>
  decisionsError(
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
    `The ${subject} have the call "${id}", but the tool "${name}" has \`execute\`.`,
    'Pass a decision for this call. Results and errors are for tools without `execute`.',
  );

const invalidResult = (name: string, problem: string) =>
  new ConfigurationError(
    'results',
    `The result of the tool "${name}" ${problem}.`,
    'Pass a valid result. The checkpoint can be resumed again.',
  );
