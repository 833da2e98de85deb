import type { Model } from '../../../lib/core/model.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { cohere } from '../../../lib/providers/cohere/cohere.js';
import { google } from '../../../lib/providers/google/google.js';
import type { ModelOptions } from '../../../lib/providers/httpModel.js';
import { mistral } from '../../../lib/providers/mistral.js';
import { ollama } from '../../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../../lib/providers/openaiChat.js';
import { openaiCompatible } from '../../../lib/providers/openaiCompatible.js';
import { openai } from '../../../lib/providers/openai.js';
import { openrouter } from '../../../lib/providers/openrouter.js';
import { together } from '../../../lib/providers/together.js';
import { anthropic as anthropicDialect } from '../../../lib/testing/server/dialects/anthropic/anthropic.js';
import { chatCompletions } from '../../../lib/testing/server/dialects/chatCompletions/chatCompletions.js';
import {
  mistral as mistralDialect,
  openrouter as openrouterDialect,
} from '../../../lib/testing/server/dialects/chatCompletions/variant.js';
import { cohere as cohereDialect } from '../../../lib/testing/server/dialects/cohere/cohere.js';
import type { Dialect } from '../../../lib/testing/server/dialects/dialect.js';
import { google as googleDialect } from '../../../lib/testing/server/dialects/google/google.js';
import { ollama as ollamaDialect } from '../../../lib/testing/server/dialects/ollama/ollama.js';
import { responses as responsesDialect } from '../../../lib/testing/server/dialects/responses/responses.js';
import type { AnswerOptions } from './answer.js';

/** A provider whose streams are generated. */
export interface StreamProvider extends AnswerOptions {
  readonly name: string;
  readonly make: (name: string, options: ModelOptions) => Model;
  /** The server's side, which encodes the streams. */
  readonly dialect: Dialect;
}

const groq = openaiCompatible({ name: 'groq', baseUrl: 'https://api.groq.example/v1', apiKeyVariable: 'GROQ_API_KEY' });

const all = { interleaved: true, ids: true, tags: true } as const;

export const providers: readonly StreamProvider[] = [
  { name: 'openai-chat', make: openaiChat, dialect: chatCompletions, ...all },
  { name: 'openai', make: openai, dialect: responsesDialect, ...all },
  { name: 'openrouter', make: openrouter, dialect: openrouterDialect, ...all },
  { name: 'together', make: together, dialect: chatCompletions, ...all, tags: false },
  { name: 'groq', make: groq, dialect: chatCompletions, ...all, ids: false },
  { name: 'mistral', make: mistral, dialect: mistralDialect, ...all },
  { name: 'anthropic', make: anthropic, dialect: anthropicDialect, ...all, interleaved: false },
  { name: 'google', make: google, dialect: googleDialect, ...all },
  { name: 'cohere', make: cohere, dialect: cohereDialect, ...all, interleaved: false },
  { name: 'ollama', make: ollama, dialect: ollamaDialect, ...all, ids: false },
];
