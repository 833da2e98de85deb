import { defer, map, of, reduce, tap, type Observable } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { checkKeepRecent, cutIndex, inputBefore, type KeepRecentOptions } from '../core/keepRecent.js';
import { isSameList } from '../core/lists.js';
import { readableParts, systemMessage, userMessage, type Message, type ReadablePart } from '../core/message.js';
import type { Model, ModelRequest } from '../core/model.js';
import { openResponse } from '../core/response.js';
import { requireGiven, requireNumber, requireAnswer, requireSync } from '../core/options.js';
import { reportRejection } from '../core/reportUnhandled.js';
import { estimateTokens, type CountTokens } from '../core/tokens.js';
import { addUsage, type Usage } from '../core/usage.js';

export interface SummarizeOptions {
  /** The model that writes the summary. It may be a smaller one than the model of the run. */
  readonly model: Model;
  /** Above this number of tokens, or if the function returns true: its history already contains the last summary. */
  readonly when: number | ((messages: readonly Message[]) => boolean);
  /** The messages that are not summarized, counted from the end. Default: 10 messages. */
  readonly keep?: Omit<KeepRecentOptions, 'countTokens'> | undefined;
  /** The instructions for the summary. Default: keep decisions, facts, names, numbers, open tasks and results. */
  readonly instructions?: string | undefined;
  /** The maximum number of tokens of the summary. Default: the model decides. */
  readonly maxOutputTokens?: number | undefined;
  readonly countTokens?: CountTokens | undefined;
  /** Called with each summary, and with what it cost, which is part of no run's usage. Default: nothing is called. */
  readonly onSummary?: ((summary: { readonly text: string; readonly usage: Usage }) => void) | undefined;
}

const defaultInstructions =
  'Summarize this conversation between a user and a model, for the model to continue it. Keep decisions, facts, ' +
  'names, numbers, results of tools, and open tasks. Answer with the summary only.';

/**
 * Creates a function that replaces the older part of a long history by a summary of it, written by a model.
 *
 * <span class="informal">keepRecent, with a note about what was dropped.</span>
 *
 * ![](../../marbles/summarize.svg)
 *
 * The function returns an Observable that emits one history: the system messages, the summary as an input of the user,
 * and the recent messages, chosen as by `keepRecent`. If the history is short, it emits the same array, and sends no
 * request. An empty summary changes nothing. If the request fails, so does the Observable: to continue without a
 * summary, use `catchError(() => of(keepRecent({ tokens })(messages)))`.
 *
 * A summary is remembered with the messages that it includes. A later call that begins with the same message objects,
 * as in the next turn of a run, reuses it, and the next summary includes it. A history that was stored and loaded has
 * no summary yet.
 *
 * ```ts
 * const shorten = summarize({ model: openai('gpt-6-luna'), when: 50_000, keep: { tokens: 10_000 } });
 * createAgent({
 *   model,
 *   tools,
 *   prepareTurn: ({ messages }) => shorten(messages).pipe(map((shortened) => ({ messages: shortened }))),
 * });
 * ```
 *
 * @param options `model`, `when`; optionally `keep` (default: 10 messages), `instructions`, `maxOutputTokens`,
 * `countTokens` (default: a quarter of the characters), `onSummary`.
 * @returns A function that returns an Observable of the shortened history. The events of its request are not emitted.
 * @throws ConfigurationError `options` if a limit is less than 1.
 */
export function summarize(options: SummarizeOptions): (messages: readonly Message[]) => Observable<readonly Message[]> {
  const { model, when, keep = { messages: 10 }, maxOutputTokens, countTokens = estimateTokens, onSummary } = options;
  const { instructions = defaultInstructions } = options;
  if (typeof when !== 'function') requireGiven('when', when, 1);
  requireNumber('maxOutputTokens', maxOutputTokens, 1, Number.MAX_SAFE_INTEGER);
  checkKeepRecent(keep);
  const isLong =
    typeof when === 'number'
      ? (messages: readonly Message[]) => requireSync('countTokens', countTokens(messages)) > when
      : when;
  const summaries = new WeakMap<Message, Summary>(); // by the last message that a summary includes

  const requestFor = (older: readonly Message[]): ModelRequest => ({
    messages: [systemMessage(instructions), userMessage(toTranscript(older))],
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  });

  return (messages) =>
    defer(() => {
      const end = messages.findLastIndex((message, at) => isOf(summaries.get(message), messages, at + 1)) + 1;
      const last = messages[end - 1];
      const summary = last && summaries.get(last)?.message;
      const current = summary ? withSummary(messages, end, summary) : messages;
      if (!requireAnswer('when', isLong(current))) return of(current);
      const cut = end + cutIndex(messages.slice(end), { ...keep, countTokens });
      const older = withoutSystem(messages.slice(end, cut));
      const lastOlder = messages[cut - 1];
      if (older.length === 0 || !lastOlder) return of(current);
      return summaryBy(model, requestFor(summary ? [summary, ...older] : older)).pipe(
        tap((written) => reportRejection(onSummary?.(written))),
        map(({ text }) => {
          if (text.trim() === '') return current;
          const message = userMessage(`Summary of the conversation so far:\n\n${text}`);
          summaries.set(lastOlder, { message, includes: withoutSystem(messages.slice(0, cut)) });
          return withSummary(messages, cut, message);
        }),
      );
    });
}

interface Summary {
  readonly message: Message;
  readonly includes: readonly Message[];
}

const withoutSystem = (messages: readonly Message[]) => messages.filter(({ role }) => role !== 'system');

/** Another history may have the same message, for example an answer that is a constant of the program. */
const isOf = (summary: Summary | undefined, messages: readonly Message[], end: number): boolean =>
  summary !== undefined && isSameList(withoutSystem(messages.slice(0, end)), summary.includes);

/** The system messages, the summary, and the messages from an index on with the input to which they belong. */
function withSummary(messages: readonly Message[], index: number, summary: Message): readonly Message[] {
  const system = messages.slice(0, index).filter(({ role }) => role === 'system');
  return [...system, summary, ...inputBefore(messages, index), ...messages.slice(index)];
}

interface Written {
  readonly text: string;
  readonly usage: Usage;
}

function summaryBy(model: Model, request: ModelRequest): Observable<Written> {
  return openResponse(model, request).pipe(
    reduce<Chunk, Written>(
      (written, chunk) => {
        switch (chunk.type) {
          case 'text':
            return { ...written, text: written.text + chunk.text };
          case 'retract':
            return { text: '', usage: addUsage(written.usage, chunk.usage) };
          case 'finish':
            return { ...written, usage: addUsage(written.usage, chunk.usage) };
          default:
            return written;
        }
      },
      { text: '', usage: {} },
    ),
  );
}

/** A conversation as one text: a history with calls would need their tools in the request. */
const toTranscript = (messages: readonly Message[]): string =>
  messages.map(({ role, parts }) => `${role}: ${readableParts(parts).map(partText).join('\n')}`).join('\n\n');

function partText(part: ReadablePart): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'file':
      return `[file: ${part.name ?? part.mediaType}]`;
    case 'source':
      return `[source: ${part.title ?? part.url ?? part.text ?? ''}]`;
    case 'toolCall':
      return `[call of ${part.name}: ${JSON.stringify(part.arguments)}]`;
    case 'toolResult':
      return `[result of ${part.name}: ${part.error ?? JSON.stringify(part.result)}]`;
  }
}
