import { optionsError } from '../../core/errors.js';
import { nonEmptyArray, omitUndefined, type JsonObject } from '../../core/json/json.js';
import type { ModelRequest, Thinking } from '../../core/model.js';
import type { WireRequest } from '../../protocol/wire.js';
import { checkOpenAiEffort, checkOpenAiNoThinking } from '../shared/openaiEfforts.js';
import { unsupportedBudgetError } from '../shared/thinkingEffort.js';
import { strictSchema } from '../shared/strictSchema.js';
import { encodeInput, encodeInstructions } from './messages.js';
import { provider } from './models.js';
import type { Background } from './background.js';
import type { ResponsesTool } from './serverTools.js';
import { findSession, isEncryptedRefused, isResponseNotFound, isSessionRefused } from './session.js';
import { encodeTools } from './tools.js';

export interface EncodeOptions {
  readonly store?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
  readonly session?: boolean | undefined;
  readonly serverTools?: readonly ResponsesTool[] | undefined;
  readonly background?: Background | undefined;
  /** What the server has refused so far. The object belongs to the model, whose later requests omit it. */
  readonly refused?: Refused | undefined;
}

interface Refused {
  /** The id of a response to continue: the server stores nothing. */
  session?: true;
  /** Encrypted reasoning: the model does not reason. */
  encrypted?: true;
}

/** What one conversation cannot refer to any more. */
interface LostResources {
  readonly session?: true;
  readonly container?: string;
}

/** A fallback is used once for each thing that the API no longer has. Instructions apply to one request only. */
export function encodeResponses(model: string, request: ModelRequest, options: EncodeOptions = {}): WireRequest {
  rejectUnsupported(request);
  return encodeAttempt(model, request, options, {});
}

function encodeAttempt(model: string, request: ModelRequest, options: EncodeOptions, lost: LostResources): WireRequest {
  const { messages, thinking, output } = request;
  const providerOptions = request.providerOptions?.[provider] ?? {};
  const store = options.store ?? options.session ?? false;
  const stored = (providerOptions['store'] ?? store) !== false;
  rejectBackground(providerOptions['background'] ?? options.background !== undefined, stored, options);
  // The user may already continue a stored conversation through `providerOptions`.
  const hasUserSession = 'previous_response_id' in providerOptions || 'conversation' in providerOptions;
  const { refused = {} } = options;
  const isSession = options.session === true && !lost.session && !refused.session;
  const canContinue = stored && isSession && !hasUserSession;
  const session = canContinue ? findSession(messages) : undefined;
  const { serverTools = [] } = options;
  const server = serverTools[0]?.support.encode(serverTools, messages, lost.container);
  // If the response was not found, the stored items that the history refers to by id may be missing too, so the
  // complete items are sent.
  const input = session?.input ?? encodeInput(messages, { stored: stored && !lost.session, select: server?.select });
  const include = encodeInclude(options, thinking, server?.include, stored);
  const body = omitUndefined({
    model,
    previous_response_id: session?.previousResponseId,
    instructions: encodeInstructions(messages),
    input: session && input.length === 0 ? undefined : input,
    ...encodeTools(request, server?.definitions),
    text: output && { format: { type: 'json_schema', name: 'output', ...strictSchema(output) } },
    temperature: request.temperature,
    top_p: request.topP,
    max_output_tokens: request.maxOutputTokens,
    reasoning: thinking === undefined ? undefined : encodeThinking(model, thinking),
    include,
    store,
    background: options.background && true,
    stream: true,
  });
  const updateLost = (error: unknown): LostResources | undefined => {
    if (session && isResponseNotFound(error, session.previousResponseId)) {
      if (isSessionRefused(error, session.previousResponseId)) refused.session = true;
      return { ...lost, session: true };
    }
    if (include?.includes(ENCRYPTED) && isEncryptedRefused(error)) {
      refused.encrypted = true;
      return lost;
    }
    const container = server?.lostContainer(error);
    return container === undefined ? undefined : { ...lost, container };
  };
  return {
    path: '/responses',
    body,
    secrets: server?.secrets ?? [],
    fallback(error) {
      const nextLost = updateLost(error);
      return nextLost && encodeAttempt(model, request, { ...options, refused }, nextLost);
    },
  };
}

/** Dropping a setting silently would hide the problem. */
function rejectUnsupported({ stopSequences, seed, providerOptions }: ModelRequest): void {
  if (providerOptions?.['openai-responses']) {
    throw optionsError(
      "providerOptions contain 'openai-responses', which is the former name of this provider.",
      'Call the key `openai`.',
    );
  }
  const [setting, value] = stopSequences?.length ? ['stopSequences', stopSequences] : ['seed', seed];
  if (value === undefined) return;
  throw optionsError(
    `The Responses API does not support ${setting} (${JSON.stringify(value)}).`,
    `Omit ${setting}, or use openaiChat(), whose API supports it.`,
  );
}

function rejectBackground(isBackground: unknown, stored: boolean, { background }: EncodeOptions): void {
  if (isBackground !== true || (stored && background)) return;
  throw stored
    ? optionsError(
        'The model has no background responses: the code that joins one again is missing.',
        "Pass background: background(), with background from 'rivulet/openai'.",
      )
    : optionsError(
        'A background response has to be stored, and this model stores none.',
        'Pass store: true: openai(name, { store: true }).',
      );
}

/** Summaries are sent only if they are requested. Models before gpt-5.1 reject `none`. */
function encodeThinking(model: string, thinking: Thinking): JsonObject {
  if (thinking === false) {
    checkOpenAiNoThinking(provider, model);
    return { effort: 'none' };
  }
  const { effort, budget } = thinking === true ? {} : thinking;
  if (effort === undefined && budget !== undefined) throw unsupportedBudgetError(provider, budget);
  return omitUndefined({ effort: effort && checkOpenAiEffort(provider, model, effort), summary: 'auto' });
}

const ENCRYPTED = 'reasoning.encrypted_content';

/** Encrypted reasoning is the only one that can be sent back if nothing is stored: a model may reason by itself. */
function encodeInclude(
  { reasoning, refused }: EncodeOptions,
  thinking: Thinking | undefined,
  ofTools: readonly string[] = [],
  stored: boolean,
): readonly string[] | undefined {
  const isReasoning = reasoning ?? (!stored || (thinking !== undefined && thinking !== false));
  const include = [...(isReasoning && !refused?.encrypted ? [ENCRYPTED] : []), ...ofTools];
  return nonEmptyArray([...new Set(include)]);
}
