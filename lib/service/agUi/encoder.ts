import { withoutPrefix } from '../../core/chunk.js';
import type { RunResult, StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { isSameJson } from '../../core/json/equal.js';
import type { JsonObject } from '../../core/json/json.js';
import { hasToolResults, messageText } from '../../core/message.js';
import { describeReported, type ServerSentEventsOptions } from '../../transport/serverSentEvents.js';
import { customEvent } from '../../transport/agUi/customEvents.js';
import { MessageEncoder } from './messageEncoder.js';
import { finishedEvent, type OutcomeOptions } from './outcome.js';
import { Subagents } from './subagents.js';
import { AG_UI_VERSION, turnsMark } from '../../transport/agUi/marks.js';
import type { AgUiEvent, RunAgentInput } from '../../transport/agUi/protocol.js';

export interface ToAgUiOptions extends OutcomeOptions, Pick<ServerSentEventsOptions, 'describeError' | 'onError'> {}

/** The fields of a request that `toAgUi` needs. */
export type AgUiRun = Pick<RunAgentInput, 'threadId' | 'runId' | 'messages'> &
  Partial<Pick<RunAgentInput, 'tools' | 'resume'>>;

/** What a client shows beside the arguments of a call. */
const executions: ReadonlySet<string> = new Set(['toolStart', 'toolProgress', 'toolWaiting', 'toolResult', 'nested']);

export class AgUiEncoder {
  private readonly messages: MessageEncoder;
  private readonly callArguments = new Map<string, JsonObject>();
  private readonly subagents = new Subagents();
  private hasFinished = false;

  constructor(
    private readonly run: AgUiRun,
    private readonly options: ToAgUiOptions,
  ) {
    // CopilotKit also sends a decision as the message of a tool, which is not the result of its call.
    const decided = new Set(run.resume?.map(({ interruptId }) => interruptId));
    const messages = run.messages.filter((message) => message.role !== 'tool' || !decided.has(message.toolCallId));
    this.messages = new MessageEncoder(run.runId, messages);
  }

  start(): readonly AgUiEvent[] {
    const { threadId, runId } = this.run;
    return [{ type: 'RUN_STARTED', threadId, runId, protocolVersion: AG_UI_VERSION, metadata: turnsMark }];
  }

  next(event: StreamEvent): readonly AgUiEvent[] {
    if (!this.hasFinished) this.encode(event); // nothing may follow the end of the run
    return this.messages.takeSent();
  }

  error(thrown: unknown): readonly AgUiEvent[] {
    this.messages.closeAll();
    this.sendAll(this.subagents.end());
    return [...this.messages.takeSent(), this.errorEvent(thrown)];
  }

  /** A run without a result was ended by an operator such as `take`. */
  complete(): readonly AgUiEvent[] {
    if (this.hasFinished) return [];
    const { threadId, runId } = this.run;
    this.messages.closeAll();
    this.sendAll(this.subagents.end());
    this.messages.answerOpenCalls(new Set());
    this.messages.send({ type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'cancelled' } });
    return this.messages.takeSent();
  }

  private encode(event: StreamEvent): void {
    const known = asKnownEvent(event);
    const { messages } = this;
    if (executions.has(known.type)) messages.correctCalls();
    switch (known.type) {
      case 'text':
        messages.addText(withoutPrefix(known));
        break;
      case 'thinking':
        messages.addThinking(known.text);
        break;
      case 'toolCallFragment':
        messages.addFragment(known);
        break;
      case 'toolCall':
        this.callArguments.set(known.id, known.arguments);
        messages.addCall(known);
        break;
      case 'toolStart': {
        const { arguments: args, ...others } = known;
        messages.send(customEvent(isSameJson(args, this.callArguments.get(known.id)) ? others : known));
        break;
      }
      case 'nested':
        this.sendAll(this.subagents.addNested(known));
        messages.send(customEvent(known));
        break;
      case 'toolResult':
        this.sendAll(this.subagents.addResult(known));
        messages.addResult(known);
        break;
      case 'message':
        // Only prompts that joined the run: the text and the results of other messages were sent before.
        messages.closeAll();
        if (known.message.role === 'user' && !hasToolResults(known.message))
          messages.addPrompt(messageText(known.message));
        break;
      case 'turn': {
        const { next: _, checkpoint: __, ...turn } = known;
        messages.endTurn();
        messages.send(customEvent(turn));
        break;
      }
      case 'retract':
        messages.retract(customEvent(known));
        break;
      case 'result':
        this.finish(known.result);
        break;
      case 'checkpoint': // trusted data, which does not leave the server
      case 'openCalls':
      case 'provider':
      case 'finish':
        break;
      default:
        messages.send(customEvent(event));
    }
  }

  private sendAll(events: readonly AgUiEvent[]): void {
    for (const event of events) this.messages.send(event);
  }

  private finish(result: RunResult): void {
    const { messages } = this;
    messages.closeAll();
    this.sendAll(this.subagents.end(result.waiting));
    // A call whose inner calls wait has no result either.
    messages.answerOpenCalls(new Set(result.waiting?.map(({ id, path: [outer = id] = [] }) => outer)));
    const event = finishedEvent(this.run, result, messages.answered, this.options);
    if (event.outcome?.type === 'interrupt') messages.sendSnapshot(); // required before an interrupt
    messages.send(event);
    this.hasFinished = true;
  }

  private errorEvent(thrown: unknown): AgUiEvent {
    const { code, message } = describeReported(thrown, this.options);
    return {
      type: 'RUN_ERROR',
      message: typeof message === 'string' ? message : 'The run failed.',
      ...(typeof code === 'string' ? { code } : {}),
    };
  }
}
