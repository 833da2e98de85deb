import { tap, type Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import type { RunResult, StreamEvent } from '../../core/event.js';
import { isMessage, isResult, isToolWaiting } from '../../core/eventGuards.js';
import { innerAgentOf } from '../../core/innerAgent.js';
import type { JsonObject } from '../../core/json/json.js';
import { hasToolResults } from '../../core/message.js';
import { randomId } from '../../transport/randomId.js';
import { requireFileUrls } from '../http/requestRules.js';
import { elsewhere, namedId, RequestError } from '../http/requestError.js';
import type { Kernel } from '../kernel.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';
import { createPublisher } from '../publicEvents.js';
import { checkAnswers } from '../runs/checkAnswers.js';
import { estimateSize } from '../runs/estimateSize.js';
import { EventLog } from '../runs/eventLog.js';
import type { RunPlan } from '../runs/executeRun.js';
import { messagesOfLost } from '../runs/runEnd.js';
import type { Client } from '../client.js';
import type { UiMessage } from './chunks.js';
import { fromUiMessages, isUiMessage, type KeptResponse, type UiConversation } from './fromUiMessages.js';

/** The run that writes a message, and the public events of the message before it. */
export interface PlannedResponse {
  readonly plan: RunPlan;
  /** Does the work of a prompt, which counts; or that of answers, with 400 if the run would refuse them. */
  readonly accept: <T>(work: Observable<T>) => Observable<T>;
  readonly messageId: string;
  readonly earlier: readonly StreamEvent[];
}

export const responseId = (owner: string, messageId: string): string => namedId('message', owner, messageId);

/** Plans the next run of a chat, or the one that resumes the run that waits. */
export function planResponse<C>(
  kernel: Kernel<C>,
  messages: readonly UiMessage[],
  { owner, context }: Client<C>,
  stored: ReadonlyMap<string, StoredRun>,
): PlannedResponse {
  const kept = new Map<string, KeptResponse>();
  const lost = new Set<string>();
  for (const message of filterResponses(messages)) {
    const record = stored.get(responseId(owner, message.id))?.record;
    const response = keptResponse(record);
    if (response) kept.set(message.id, response);
    if (record && isLost(record)) lost.add(message.id);
  }
  const tools = (innerAgentOf(kernel.agentFor())?.tools ?? []).flatMap((tool) => (tool.execute ? [tool.name] : []));
  const { messages: history, response } = fromUiMessages(messages, kept, { executed: new Set(tools), lost });
  // What the model has written is read from the store, so that its files are not those of the request.
  const stores = new Set([...kept.values()].flatMap((one) => one.messages));
  requireFileUrls([history.filter((message) => !stores.has(message)), response?.answers.results], kernel.browser);
  if (history.every(({ parts }) => parts.length === 0)) throw emptyConversation();
  const messageId = response?.id ?? randomId();
  const id = responseId(owner, messageId);
  const before = stored.get(id);
  const place = before ? kernel.executor.locate(before.record) : 'nowhere';
  if (place === 'here') throw new RequestError(409, 'A run writes this message already.');
  if (place === 'elsewhere') throw elsewhere();

  const checkpoint = response?.kept?.checkpoint;
  const log = new EventLog<StreamEvent>();
  const protocol = response?.kept && toProtocol({ messages: response.messages, before: lengthBefore(response) });
  const publish = createPublisher(kernel.browser);
  const plan: RunPlan = {
    record: { id, owner, input: [], protocol, checkpoint, answers: checkpoint && response.answers },
    stored: before,
    resumed: checkpoint,
    context,
    bytes: checkpoint ? 0 : estimateSize(history), // the checkpoint has it
    clientErrors: response?.answers.errors,
    checkpoints: false,
    restores: true,
    ended: (result) => ({ result: undefined, protocol: endedResponse(result, response, log) }),
    events: (controls) => {
      const options = { ...controls, context, fragments: true, checkpoints: false } as const;
      const agent = kernel.agentFor();
      const events = checkpoint
        ? agent.resume(checkpoint, { ...options, ...response.answers })
        : agent.stream(history, { ...options, history: [] });
      // A message and the result repeat the other events.
      return events.pipe(tap((event) => isMessage(event) || isResult(event) || log.append(event)));
    },
  };
  return {
    plan,
    accept: (work) =>
      checkpoint
        ? checkAnswers(kernel, owner, checkpoint, response.answers, work)
        : kernel.limits.countPrompt(owner, work),
    messageId,
    earlier: earlierEvents(response).flatMap((event) => publish(event) ?? []),
  };
}

export const filterResponses = (messages: readonly UiMessage[]) =>
  messages.filter((message) => isUiMessage(message) && message.role === 'assistant');

/** Whether nobody has written how the run of a response has ended. */
const isLost = (record: RunRecord): boolean =>
  record.state === 'running' || (!record.protocol && messagesOfLost(record).length === 0);

/** What the record of a response has. */
interface ResponseRecord extends Pick<KeptResponse, 'messages' | 'events'> {
  /** How many of the messages are older than the run, while it has no result: the others are in its checkpoint. */
  readonly before?: number;
}

const toProtocol = (response: ResponseRecord) => response as unknown as JsonObject;

/** Reads the response in a record; undefined if its first run has not ended, or failed. */
function keptResponse(record: RunRecord | undefined): KeptResponse | undefined {
  if (!record?.protocol) return undefined;
  const { before, ...kept } = record.protocol as unknown as ResponseRecord;
  if (before === undefined) return { ...kept, checkpoint: record.checkpoint };
  return { messages: [...kept.messages.slice(0, before), ...messagesOfLost(record)] };
}

/** Returns the events of a response before this run. Omits `toolWaiting` of answered calls. */
function earlierEvents(response: UiConversation['response']): readonly StreamEvent[] {
  const { kept, answers } = response ?? {};
  const answered = { ...answers?.decisions, ...answers?.results, ...answers?.errors };
  return (kept?.events ?? []).filter((event) => !isToolWaiting(event) || !Object.hasOwn(answered, event.id));
}

/** Creates the record of a response at the end of its run: its messages; if the run waits, its events as well. */
function endedResponse(
  { messages, checkpoint }: RunResult,
  response: UiConversation['response'],
  log: EventLog<StreamEvent>,
): JsonObject {
  const all = { messages: [...(response?.messages.slice(0, lengthBefore(response)) ?? []), ...messages] };
  if (!checkpoint) return toProtocol(all);
  const events = [...earlierEvents(response)];
  for (let reader = log.reader(), next = reader.next(); next; next = reader.next()) events.push(next.event);
  return toProtocol({ ...all, events });
}

/** How many messages of a response are not in the checkpoint that is resumed, and so not in the result either. */
function lengthBefore({ messages, kept }: NonNullable<UiConversation['response']>): number {
  const { emitted, open } = kept?.checkpoint ?? {};
  const resumed = emitted?.messages ?? [];
  const hasResults = open !== undefined && hasToolResults(messages.at(-1)) && !hasToolResults(resumed.at(-1));
  return messages.length - resumed.length - Number(hasResults);
}

const emptyConversation = () =>
  new ConfigurationError('history', 'There is nothing to answer: the messages have no text and no file.', 'Send one.');
