import type { Model } from '../../core/model.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { ndjson } from '../../protocol/ndjson.js';
import { httpModel, type OpenModelOptions } from '../httpModel.js';
import { decodeOllama } from './decode.js';
import { encodeOllama } from './encode.js';
import { isReadable } from './messages.js';
import { allCapabilities } from '../shared/capabilityTable.js';
import { readOpenText } from '../shared/openText.js';

/**
 * A model served by Ollama, used through Ollama's own API. By default, the server is local and needs no key.
 *
 * ```ts
 * ollama('qwen3:8b').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * Pass other fields of the API in `providerOptions.ollama`:
 * `{ keep_alive: '10m', options: { num_ctx: 32768 } }`.
 *
 * @param name The model's name, with its tag if it has one.
 * @param options Base URL (default: http://localhost:11434; with or without `/api` at its end), transport, and a key
 * for a server that requires one (https://ollama.com).
 * @returns A model, whose streams are cold. In addition to the errors of `httpModel`, its streams fail with
 * ConfigurationError `options` for files that are neither images nor text, for files by URL and for a thinking budget,
 * and `capability` for `parallelToolCalls: false` and a `toolChoice` that forces a call.
 */
export function ollama(name: string, options: OpenModelOptions = {}): Model {
  return httpModel(
    {
      provider: 'ollama',
      name,
      baseUrl: 'http://localhost:11434',
      wire: {
        framing: ndjson,
        contextLengthPatterns,
        encode: (request) => encodeOllama(name, request),
        decode: decodeOllama,
        resultFile: (file) => (isReadable(file) ? 'result' : 'none'),
      },
      readText: readOpenText(options),
      // With a schema in `format`, the server generates only matching text, and no calls.
      capabilities: { ...allCapabilities, typedOutputWithTools: false, files: false },
    },
    options.baseUrl === undefined ? options : { ...options, baseUrl: removeApiPath(options.baseUrl) },
  );
}

/** The path of a request already begins with `/api`, so the base URL loses it. */
const removeApiPath = (baseUrl: string): string => baseUrl.replace(/\/api\/*(?=$|[?#])/, '');
