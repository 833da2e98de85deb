import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeOllama } from './decode.js';
import { encodeOllama } from './encode.js';
import { provider } from './messages.js';

/**
 * A model that Ollama serves, over its own API: the local default, without a key.
 *
 * ```ts
 * ollama('qwen3:8b').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * Fields that have no place in a request go in its `providerOptions`, under `ollama`: `{ ollama: { keep_alive: '10m', options: { num_ctx: 32768 } } }`.
 *
 * @param name The model's name, with its tag where it has one.
 * @param options Base URL (default: http://localhost:11434; with or without `/api` at its end), transport, and a key for a server that wants one
 * (https://ollama.com).
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError also for files that are neither images nor text, for
 * files by address, for a budget for thinking, and for a `toolChoice` that forces a call.
 */
export function ollama(name: string, options: ModelOptions = {}): Model {
  // With a schema in `format` the server samples nothing else: the model has no way to call a tool (typedOutputWithTools).
  return httpModel(
    {
      provider,
      name,
      baseUrl: 'http://localhost:11434',
      wire: { framing: 'ndjson', encode: (request) => encodeOllama(name, request), decode: decodeOllama },
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: true,
        typedOutputWithTools: false,
        thinking: true,
        vision: true,
        files: false,
      },
    },
    options.baseUrl === undefined ? options : { ...options, baseUrl: withoutApi(options.baseUrl) },
  );
}

/** The path brings its own `/api`. */
const withoutApi = (baseUrl: string): string => baseUrl.replace(/\/api\/*(?=$|[?#])/, '');
