import type { ObservableInput } from 'rxjs';
import { isRecord, omitUndefined, type JsonObject, type JsonSchema, type JsonValue } from './json/json.js';
import { denialText, type Message, type ToolCallPart, type ToolResultPart } from './message.js';

/**
 * The decision about a call that needs an approval. `arguments` replaces the arguments: they are validated again, and
 * the history contains those that the model sent. `reason` is reported to the model.
 */
export type Decision =
  | { readonly approve: true; readonly arguments?: JsonObject }
  | { readonly approve: false; readonly reason?: string };

/** What a tool asks a person in the middle of its work (`askTool`). */
export interface Question {
  readonly message: string;
  /** The JSON Schema of the answer, for a form. */
  readonly schema: JsonSchema;
  /** Why the answer that was given does not match the schema. Absent before the first answer. */
  readonly problem?: string;
  /** When the question ends without an answer, in milliseconds since 1970. Absent: it does not end. */
  readonly expires?: number;
}

/** A call that waits for a decision, or for its result; or a question that waits for its answer. */
export interface WaitingCall {
  readonly id: string;
  readonly name: string;
  /** As the model sent them. They match the schema of the tool. */
  readonly arguments: JsonObject;
  /** What `needsApproval` of the tool has emitted for the person who decides: a preview, or an address to open. */
  readonly details?: JsonObject;
  /** Set if a person is asked: the result of this call is the answer. */
  readonly question?: Question;
  /**
   * Where the call is, if it is of an inner run (`agentTool`): the ids of the calls, the outer one first, each in its
   * own run. `id` joins them by `/`, and is what answers refer to. Absent for a call of the run itself.
   */
  readonly path?: readonly string[];
}

interface ApprovalRequest extends WaitingCall {
  readonly messages: readonly Message[];
  readonly context: unknown;
}

/**
 * Decides about a call that needs an approval. The first value is the decision; an Observable without a value denies.
 * It is unsubscribed when the run is unsubscribed, or the call is cancelled.
 */
export type Approve = (request: ApprovalRequest) => ObservableInput<Decision>;

/** Decisions, results and answers for the waiting calls of a run, by the id of the call. */
export interface CallAnswers {
  /** The decisions about calls that need an approval. Default: none. */
  readonly decisions?: Readonly<Record<string, Decision>> | undefined;
  /** The results of calls that are executed elsewhere, and the answers to questions. Default: none. */
  readonly results?: Readonly<Record<string, JsonValue>> | undefined;
  /** The errors of calls that were executed elsewhere and failed, as texts for the model. Default: none. */
  readonly errors?: Readonly<Record<string, string>> | undefined;
}

/** How many answers of a run are kept for the calls that ask later: the last ones. */
export const MAX_ANSWERS = 1000;

const kinds = ['decisions', 'results', 'errors'] as const satisfies readonly (keyof CallAnswers)[];

/** The answers of each kind, by other ids: undefined omits one. */
export function mapAnswers(answers: CallAnswers, toId: (id: string) => string | undefined): AllAnswers {
  const all = kinds.map((kind) => {
    const entries = Object.entries(answers[kind] ?? {}).map(([id, answer]) => [toId(id), answer] as const);
    return [kind, Object.fromEntries(entries.filter(([id]) => id !== undefined))] as const;
  });
  return Object.fromEntries(all) as unknown as AllAnswers;
}

export const answeredIds = (answers: CallAnswers): readonly string[] =>
  kinds.flatMap((kind) => Object.keys(answers[kind] ?? {}));

/** An id may be `__proto__`, which an assignment to a plain object would lose. */
export const answersFrom = (
  decisions: ReadonlyMap<string, Decision>,
  results: ReadonlyMap<string, JsonValue>,
  errors: ReadonlyMap<string, string>,
): AllAnswers => ({
  decisions: Object.fromEntries(decisions),
  results: Object.fromEntries(results),
  errors: Object.fromEntries(errors),
});

export type AllAnswers = { readonly [Kind in keyof CallAnswers]-?: NonNullable<CallAnswers[Kind]> };

export const hasAnswer = (answers: CallAnswers = {}, id: string): boolean =>
  kinds.some((kind) => Object.hasOwn(answers[kind] ?? {}, id));

/** The arguments that a person has given instead of those of the model. */
export const editedBy = (decision: Decision | undefined): JsonObject | undefined =>
  decision?.approve ? decision.arguments : undefined;

/** The result of a call that was answered; undefined if it was approved, or has no answer. */
export function answeredResult(
  { results = {}, decisions = {}, errors = {} }: CallAnswers,
  { id, name }: Pick<ToolCallPart, 'id' | 'name'>,
): ToolResultPart | undefined {
  const part = { type: 'toolResult', id, name } as const;
  if (Object.hasOwn(results, id)) return { ...part, result: results[id] ?? null };
  const error: unknown = Object.hasOwn(errors, id) ? errors[id] : undefined;
  if (typeof error === 'string') return { ...part, error, code: 'failed' };
  const decision = Object.hasOwn(decisions, id) ? decisions[id] : undefined;
  if (!isDecision(decision) || decision.approve) return undefined;
  const { reason } = decision;
  return { ...part, error: denialText(reason), code: 'denied', ...omitUndefined({ reason }) };
}

export const pickAnswers = (answers: CallAnswers, has: (id: string) => boolean): CallAnswers =>
  mapAnswers(answers, (id) => (has(id) ? id : undefined));

export const mergeAnswers = (before: CallAnswers = {}, added: CallAnswers): CallAnswers => ({
  decisions: { ...before.decisions, ...added.decisions },
  results: { ...before.results, ...added.results },
  errors: { ...before.errors, ...added.errors },
});

export function isDecision(value: unknown): value is Decision {
  if (!isRecord(value)) return false;
  const { approve, arguments: args, reason } = value;
  if (approve === true) return args === undefined || isRecord(args);
  return approve === false && (reason === undefined || typeof reason === 'string');
}
