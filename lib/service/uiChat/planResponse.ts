import { tap, type Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import type { RunResult, StreamEvent } from '../../core/event.js';
import { isMessage, isResult, isToolWaiting } from '../../core/eventGuards.js';
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
import type { Client } from '../client.js';
import type { UiMessage } from './chunks.js';
import { fromUiMessages, isUiMessage, type KeptResponse, type UiConversation } from './fromUiMessages.js';

/** The run that writes a message, and the public events of the message before it. */
interface PlannedResponse {
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
  const kept = new Map(
    filterResponses(messages).flatMap((message) => {
      const response = keptResponse(stored.get(responseId(owner, message.id))?.record);
      return response ? [[message.id, response] as const] : [];
    }),
  );
  const { messages: history, response } = fromUiMessages(messages, kept);
  // What the model has written is read from the store, so that its files are not those of the request.
  requireFileUrls([messages.filter((message) => !kept.has(message.id)), response?.answers.results], kernel.browser);
  if (history.every(({ parts }) => parts.length === 0)) throw emptyConversation();
  const messageId = response?.id ?? randomId();
  const id = responseId(owner, messageId);
  const before = stored.get(id);
  const place = before ? kernel.executor.locate(before.record) : 'nowhere';
  if (place === 'here') throw new RequestError(409, 'A run writes this message already.');
  if (place === 'elsewhere') throw elsewhere();

  const checkpoint = response?.kept?.checkpoint;
  const log = new EventLog<StreamEvent>();
  const protocol = response?.kept ? { protocol: toProtocol(response.kept.messages) } : {};
  const publish = createPublisher(kernel.browser);
  const plan: RunPlan = {
    record: { id, owner, input: [], ...protocol },
    stored: before,
    resumed: checkpoint,
    context,
    bytes: estimateSize(history),
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

/** Reads the response in a record; undefined if its run has not ended, or failed. */
function keptResponse(record: RunRecord | undefined): KeptResponse | undefined {
  const { protocol, checkpoint } = record ?? {};
  return protocol ? { ...(protocol as unknown as KeptResponse), checkpoint } : undefined;
}

const toProtocol = (messages: KeptResponse['messages'], events?: KeptResponse['events']) =>
  ({ messages, ...(events ? { events } : {}) }) as unknown as JsonObject;

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
  const { messages: before = [], kept } = response ?? {};
  const { emitted, open } = kept?.checkpoint ?? {};
  const resumed = emitted?.messages ?? []; // they are in the result as well
  const hasResults = open !== undefined && hasToolResults(before.at(-1)) && !hasToolResults(resumed.at(-1));
  const all = [...before.slice(0, before.length - resumed.length - Number(hasResults)), ...messages];
  if (!checkpoint) return toProtocol(all);
  const events = [...earlierEvents(response)];
  for (let reader = log.reader(), next = reader.next(); next; next = reader.next()) events.push(next.event);
  return toProtocol(all, events);
}

const emptyConversation = () =>
  new ConfigurationError('history', 'There is nothing to answer: the messages have no text and no file.', 'Send one.');
