import { identity } from 'rxjs';
import type { CallAnswers, Question, WaitingCall } from '../../core/approval.js';
import type { Checkpoint, ResumedRun } from '../../core/checkpoint.js';
import { startState } from '../../core/event.js';
import { finiteNumber, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { toolCallsOf, toolErrorTexts, unfinishedResult } from '../../core/message.js';
import type { Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { readCheckpoint } from '../../core/readCheckpoint.js';

/** The name of the calls that are questions. */
const NAME = 'ask';

const ORCHESTRATOR = 'askTool';

/**
 * What a call with questions has done so far. Its checkpoint is that of an inner run whose calls are the questions, so
 * that questions reach people, and answers come back, as the calls of a sub-agent do.
 */
export class CallJournal {
  /** The results of the steps that have ended, by their keys. */
  readonly steps: Map<string, JsonValue>;
  /** The questions, by id. */
  readonly questions: Map<string, ToolCallPart>;
  /** The questions that wait for an answer, by id. */
  readonly waiting: Map<string, WaitingCall>;
  /** The answers as they were given, by the ids of the questions. They are validated when the tool asks. */
  readonly answers: Map<string, ToolResultPart>;
  /** The answers that readers of the run have seen. */
  readonly told: Set<string>;
  /** The number of progress values that were emitted. */
  progress: number;

  /** Throws ConfigurationError `checkpoint` if the checkpoint is not that of a call with questions. */
  constructor(resumed?: ResumedRun) {
    const { open, state } = resumed ? readCheckpoint(resumed.checkpoint, ORCHESTRATOR) : {};
    const { steps, progress } = state?.memo ?? {};
    this.steps = new Map<string, JsonValue>(Object.entries(objectOrEmpty(steps)));
    this.progress = finiteNumber(progress) ?? 0;
    this.questions = new Map(open?.messages.flatMap(toolCallsOf).map((call) => [call.id, call]));
    this.waiting = new Map(open?.waiting.map((call) => [call.id, call]));
    this.answers = new Map(open?.results.map((result) => [result.id, result]));
    this.told = new Set(this.answers.keys());
    if (resumed) this.add(resumed.answers);
  }

  /** Adds answers to questions that wait. Returns the ids of these questions. `toId` returns the ids in `given`. */
  add(given: CallAnswers, toId: (question: string) => string = identity): readonly string[] {
    const answered = [...this.waiting.keys()].flatMap((id) => answerIn(given, toId(id), id) ?? []);
    for (const answer of answered) this.answers.set(answer.id, answer);
    return answered.map(({ id }) => id);
  }

  /** Adds a question. Returns the calls for the events that readers need: none if they know the question. */
  ask(id: string, question: Question, details: JsonObject | undefined) {
    const { message, problem } = question;
    const isNew = !this.questions.has(id);
    const call: ToolCallPart = { type: 'toolCall', id, name: NAME, arguments: { message } };
    const waiting: WaitingCall = { id, name: NAME, arguments: call.arguments, ...(details && { details }), question };
    const isKnown = this.waiting.has(id) && problem === undefined;
    if (!isKnown) this.waiting.set(id, waiting);
    this.questions.set(id, call);
    return { call: isNew ? call : undefined, waiting: isKnown ? undefined : waiting };
  }

  checkpoint(): Checkpoint {
    const { steps, answers, waiting, questions, progress } = this;
    const asked: Message = { role: 'model', parts: [...questions.values()] };
    return {
      version: 1,
      orchestrator: ORCHESTRATOR,
      state: { ...startState([]), memo: { steps: Object.fromEntries(steps), progress } },
      emitted: { text: '', thinking: '', messages: [asked], needsSeparator: false },
      open: {
        messages: [asked],
        finish: { reason: 'toolCalls' },
        results: [...answers.values()],
        waiting: [...waiting.values()].filter(({ id }) => !answers.has(id)),
      },
    };
  }
}

/** The answer to a question, as the result of its call. */
function answerIn(
  { results = {}, decisions = {}, errors = {} }: CallAnswers,
  given: string,
  id: string,
): ToolResultPart | undefined {
  const part = { type: 'toolResult', id, name: NAME } as const;
  const [result, error, decision] = [results[given], errors[given], decisions[given]];
  if (result !== undefined) return { ...part, result };
  if (error !== undefined) return { ...part, error, code: 'failed' };
  if (!decision || decision.approve) return undefined;
  const { reason } = decision;
  if (reason === undefined) return { ...part, error: toolErrorTexts.denied, code: 'denied' };
  return { ...part, error: `${toolErrorTexts.denied} Reason: ${reason}`, code: 'denied', reason };
}

/** The end of a question that nobody has answered in time. */
export const unanswered = (id: string, otherwise: JsonValue | undefined): ToolResultPart =>
  otherwise === undefined
    ? { type: 'toolResult', id, name: NAME, error: 'Nobody has answered the question in time.', code: 'timeout' }
    : { type: 'toolResult', id, name: NAME, result: otherwise };

export const cancelledQuestion = (id: string): ToolResultPart => unfinishedResult({ id, name: NAME }, 'cancelled');
