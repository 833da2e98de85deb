import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeOllama } from './decode.js';
import { encodeOllama } from './encode.js';

/**
 * A model that Ollama serves, over its own API: the local default, without a key.
 *
 * ```ts
 * ollama('qwen3:8b').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * Fields that a request does not have go into its `providerOptions`, under `ollama`:
 * `{ ollama: { keep_alive: '10m', options: { num_ctx: 32768 } } }`.
 *
 * @param name The model's name, with its tag if it has one.
 * @param options Base URL (default: http://localhost:11434; with or without `/api` at its end), transport, and a key for a
 * server that requires one (https://ollama.com).
 * @returns A cold model. Its streams error like those of `httpModel`; also with ConfigurationError `options` for files that are
 * neither images nor text, for files by URL and for a thinking budget, and `capability` for a `toolChoice` that forces a call.
 */
export function ollama(name: string, options: ModelOptions = {}): Model {
  return httpModel(
    {
      provider: 'ollama',
      name,
      baseUrl: 'http://localhost:11434',
      wire: { framing: 'ndjson', encode: (request) => encodeOllama(name, request), decode: decodeOllama },
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: true,
        typedOutputWithTools: false, // with a schema in `format` the server samples nothing else, so no calls
        thinking: true,
        vision: true,
        files: false,
      },
    },
    options.baseUrl === undefined ? options : { ...options, baseUrl: withoutApi(options.baseUrl) },
  );
}

/** The path of a request already begins with `/api`. */
const withoutApi = (baseUrl: string): string => baseUrl.replace(/\/api\/*(?=$|[?#])/, '');
