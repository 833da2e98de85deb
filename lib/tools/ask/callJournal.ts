import { answeredIds, answeredResult, MAX_ANSWERS } from '../../core/approval.js';
import type { CallAnswers, Question, WaitingCall } from '../../core/approval.js';
import { ASKED_CALL } from '../../core/askingTool.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { startState, type RunEvent, type TurnMessageEvent } from '../../core/event.js';
import { finiteNumber, objectOrEmpty, type JsonObject, type JsonValue } from '../../core/json/json.js';
import { modelMessage, toolCallsOf, unfinishedResult, userMessage } from '../../core/message.js';
import type { Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import type { InnerPlace } from '../../core/innerPlaces.js';
import { readCheckpoint } from '../../core/readCheckpoint.js';

const NAME = 'ask';

/** What a call has done so far, as the checkpoint of an inner run whose calls are its questions. */
export class CallJournal {
  /** The results of the steps that have ended, by their keys. */
  readonly steps: Map<string, JsonValue>;
  readonly questions: Map<string, ToolCallPart>;
  readonly waiting: Map<string, WaitingCall>;
  /** The answers as they were given, by the ids of the questions. They are validated when the tool asks. */
  readonly answers: Map<string, ToolResultPart>;
  /** What readers of the run have seen: the questions, and the answers that the tool has received. */
  readonly messages: Message[];
  /** The questions whose answers readers have seen. */
  readonly told: Set<string>;
  progress: number;

  constructor(private readonly place: InnerPlace) {
    const { resumed } = place;
    const { open, state, emitted } = resumed ? readCheckpoint(resumed.checkpoint, ASKED_CALL) : {};
    const { steps, progress } = state?.memo ?? {};
    this.steps = new Map<string, JsonValue>(Object.entries(objectOrEmpty(steps)));
    this.progress = finiteNumber(progress) ?? 0;
    this.messages = [...(emitted?.messages ?? [])];
    this.questions = new Map(this.messages.flatMap(toolCallsOf).map((call) => [call.id, call]));
    this.waiting = new Map(open?.waiting.map((call) => [call.id, call]));
    const told = this.messages.flatMap(({ parts }) => parts).filter((part) => part.type === 'toolResult');
    this.told = new Set(told.map(({ id }) => id));
    this.answers = new Map([...told, ...(open?.results ?? [])].map((result) => [result.id, result]));
    if (resumed) this.add(resumed.answers);
  }

  /** Adds the first answers to questions, also to those that the tool asks later. Returns their ids. */
  add(given: CallAnswers): readonly string[] {
    const { answers, waiting } = this;
    return answeredIds(given).filter((id) => {
      const answer = answeredResult(given, { id, name: NAME });
      if (!answer || answers.has(id) || (!waiting.has(id) && answers.size >= MAX_ANSWERS)) return false;
      answers.set(id, answer);
      return true;
    });
  }

  /** Adds a question. Returns the events that readers need: none if they know it. */
  ask(id: string, question: Question, details: JsonObject | undefined): readonly RunEvent[] {
    const { message, problem } = question;
    const call: ToolCallPart = { type: 'toolCall', id, name: NAME, arguments: { message } };
    const waiting: WaitingCall = { id, name: NAME, arguments: call.arguments, ...(details && { details }), question };
    const isNew = !this.questions.has(id);
    const isKnown = this.waiting.has(id) && problem === undefined;
    this.questions.set(id, call);
    if (!isKnown) this.waiting.set(id, waiting);
    return [
      ...(isNew ? [call, this.note(modelMessage([call]))] : []),
      ...(isKnown ? [] : [{ type: 'toolWaiting', ...waiting } as const]),
    ];
  }

  /** Notes that the tool receives an answer. Returns the events that readers need. */
  tell(answer: ToolResultPart): readonly RunEvent[] {
    const { id, name } = answer;
    this.told.add(id);
    this.waiting.delete(id);
    const { arguments: args = {} } = this.questions.get(id) ?? {};
    return [{ type: 'toolStart', id, name, arguments: args }, answer, this.note(userMessage([answer]))];
  }

  checkpoint(): Checkpoint {
    const { steps, answers, waiting, questions, messages, told, progress } = this;
    return {
      version: 1,
      orchestrator: ASKED_CALL,
      task: this.place.task,
      state: { ...startState([]), memo: { steps: Object.fromEntries(steps), progress } },
      emitted: { text: '', thinking: '', messages: [...messages], needsSeparator: false },
      open: {
        messages: questions.size > 0 ? [modelMessage([...questions.values()])] : [],
        finish: { reason: 'toolCalls' },
        results: [...answers.values()].filter(({ id }) => questions.has(id) && !told.has(id)),
        waiting: [...waiting.values()].filter(({ id }) => !answers.has(id)),
      },
    };
  }

  private note(message: Message): TurnMessageEvent {
    this.messages.push(message);
    return { type: 'message', message };
  }
}

export const unanswered = (id: string, otherwise: JsonValue | undefined): ToolResultPart =>
  otherwise === undefined
    ? { type: 'toolResult', id, name: NAME, error: 'Nobody has answered the question in time.', code: 'timeout' }
    : { type: 'toolResult', id, name: NAME, result: otherwise };

export const cancelledQuestion = (id: string): ToolResultPart => unfinishedResult({ id, name: NAME }, 'cancelled');
