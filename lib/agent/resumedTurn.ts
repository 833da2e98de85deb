import { forkJoin, from, map, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { isDecision } from '../core/approval.js';
import type { CallAnswers, WaitingCall } from '../core/approval.js';
import type { Checkpoint, OpenCalls, ResumedTurn, ResumedRun } from '../core/checkpoint.js';
import { ConfigurationError } from '../core/errors.js';
import type { JsonValue } from '../core/json/json.js';
import { toJson } from '../core/json/toJson.js';
import { toolCallsOf } from '../core/message.js';
import { innerAgentOf } from '../core/innerAgent.js';
import { readCheckpoint } from '../core/readCheckpoint.js';
import { validate } from '../core/schema.js';
import type { Validation } from '../core/schema.js';
import type { Tool } from '../core/tool.js';

/** Everything is checked before anything is executed. Results of calls whose tool is gone are ignored. */
export function resumedTurn(
  open: OpenCalls | undefined,
  given: CallAnswers,
  tools: readonly Tool[],
): Observable<ResumedTurn | undefined> {
  const waiting = new Map(open?.waiting.map((call) => [call.id, call]));
  for (const subject of subjects)
    for (const id of Object.keys(given[subject] ?? {})) if (!waiting.has(id)) throw notWaiting(subject, id, waiting);
  const own = answersOf(
    [...waiting.values()].filter(({ path }) => !path),
    given,
    ({ id }) => id,
  );
  const results = validAnswers(own, waiting, tools);
  const inner = Object.entries(open?.nested ?? {}).map(([id, checkpoint]) =>
    innerRun(id, checkpoint, [...waiting.values()], given, toolOfCall(open, id, tools)),
  );
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

const subjects = ['decisions', 'results', 'errors'] as const satisfies readonly (keyof CallAnswers)[];

type AllAnswers = { readonly [Subject in keyof CallAnswers]-?: NonNullable<CallAnswers[Subject]> };

function answersOf(
  calls: readonly WaitingCall[],
  { decisions = {}, results = {}, errors = {} }: CallAnswers,
  toId: (call: WaitingCall) => string,
): AllAnswers {
  const pick = <T>(answers: Readonly<Record<string, T>>) =>
    Object.fromEntries(
      calls.flatMap((call) => (Object.hasOwn(answers, call.id) ? [[toId(call), answers[call.id] as T] as const] : [])),
    );
  return { decisions: pick(decisions), results: pick(results), errors: pick(errors) };
}

/** Checks as the agent of the inner run would, which resumes it later with the same answers. */
function innerRun(
  id: string,
  stored: Checkpoint,
  waiting: readonly WaitingCall[],
  given: CallAnswers,
  tool: Tool | undefined,
): Observable<readonly [string, ResumedRun]> {
  const calls = waiting.filter(({ path }) => path?.[0] === id);
  const toId = ({ path = [] }: WaitingCall) => path.slice(1).join('/');
  const answers = answersOf(calls, given, toId);
  const run = [id, { checkpoint: stored, answers }] as const;
  const agent = innerAgentOf(tool);
  if (!agent) {
    // A tool that asks; or one that is gone, or runs another kind of agent, whose calls are not known.
    const asked = calls.filter(({ question }) => question);
    const byId = new Map(asked.map((call) => [toId(call), call]));
    return validAnswers(answersOf(asked, given, toId), byId, []).pipe(map(() => run));
  }
  const { open } = readCheckpoint(stored, agent.orchestrator);
  return resumedTurn(open, answers, agent.tools).pipe(map(() => run));
}

function toolOfCall(open: OpenCalls | undefined, id: string, tools: readonly Tool[]): Tool | undefined {
  const call = open?.messages.flatMap(toolCallsOf).find((candidate) => candidate.id === id);
  return tools.find(({ name }) => name === call?.name);
}

function validAnswers(
  { decisions, results, errors }: AllAnswers,
  waiting: ReadonlyMap<string, WaitingCall>,
  tools: readonly Tool[],
): Observable<readonly (readonly [string, JsonValue])[]> {
  const hasAnswer = (id: string) => Object.hasOwn(results, id) || Object.hasOwn(errors, id);
  const toolOf = (id: string) => tools.find(({ name }) => name === waiting.get(id)?.name);
  for (const [id, decision] of Object.entries(decisions)) {
    if (!isDecision(decision)) throw invalidDecision(id);
    if (!decision.approve && Object.hasOwn(results, id)) throw contradiction(id);
    const tool = toolOf(id);
    const isAnswered = waiting.get(id)?.question ?? (tool && !tool.execute);
    if (decision.approve && isAnswered && !hasAnswer(id)) throw notExecutable(id, waiting.get(id)?.name ?? '');
  }
  for (const [id, error] of Object.entries(errors))
    if (typeof error !== 'string' || Object.hasOwn(results, id) || Object.hasOwn(decisions, id)) throw invalidError(id);
  const validations = Object.entries(results).map(([id, result]) => {
    const tool = toolOf(id);
    if (tool?.execute) throw executesItself(id, tool.name);
    return validResult(tool, result).pipe(map((value) => [id, value] as const));
  });
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

const notWaiting = (subject: keyof CallAnswers, id: string, waiting: ReadonlyMap<string, WaitingCall>) =>
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
