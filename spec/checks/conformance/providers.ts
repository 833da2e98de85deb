import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Model } from '../../../lib/core/model.js';
import type { OpenModelOptions } from '../../../lib/providers/httpModel.js';
import type { CompatibleServer } from '../../../lib/providers/openaiCompatible.js';
import type { BodyFraming, Case } from './case.js';

/** Makes a model of a wire. */
export type ModelFactory = (model: string, options: OpenModelOptions) => Model;

interface Row {
  /** The function of lib/providers that makes the model. Its file or folder has the same name. */
  readonly provider: string;
  /** The model's name for cases that have none. */
  readonly model: string;
  /** Default: `sse`. */
  readonly framing?: BodyFraming;
  /** Makes the factory from the exported function. Default: the function itself. */
  readonly make?: (exported: unknown) => ModelFactory;
}

/** The provider of each wire. */
const wires: Readonly<Record<string, Row>> = {
  'openai-chat': { provider: 'openaiChat', model: 'gpt-5' },
  'openai-compatible': {
    provider: 'openaiCompatible',
    model: 'model',
    make:
      (exported) =>
      (model, { baseUrl = '', ...options }) =>
        (exported as (server: CompatibleServer) => ModelFactory)({ name: 'compatible', baseUrl })(model, options),
  },
  'openai-responses': { provider: 'openai', model: 'gpt-5' },
  openrouter: { provider: 'openrouter', model: 'anthropic/claude-sonnet-4.5' },
  together: { provider: 'together', model: 'meta-llama/Llama-3.3-70B-Instruct-Turbo' },
  anthropic: { provider: 'anthropic', model: 'claude-sonnet-4-5' },
  google: { provider: 'google', model: 'gemini-2.5-flash' },
  ollama: { provider: 'ollama', model: 'qwen3', framing: 'ndjson' },
  mistral: { provider: 'mistral', model: 'mistral-large-latest' },
  cohere: { provider: 'cohere', model: 'command-a-03-2025' },
};

/** The wire that reads a case: `openaiChat` reads no `<think>` tags, since OpenAI's models write none. */
export const wireOf = ({ wire, thinkTags }: Pick<Case, 'wire' | 'thinkTags'>): string =>
  thinkTags && wire === 'openai-chat' ? 'openai-compatible' : wire;

const folder = join(import.meta.dirname, '../../../lib/providers');

/** Whether the project has a provider for a wire. */
export const isKnownWire = (wire: string): boolean => Object.hasOwn(wires, wire);

/** Returns the framing of a wire. */
export const framingOf = (wire: string): BodyFraming => (isKnownWire(wire) ? wires[wire]?.framing : undefined) ?? 'sse';

/** Returns the model's name for cases of a wire that have none. */
export const defaultModel = (wire: string): string => (isKnownWire(wire) ? wires[wire]?.model : undefined) ?? 'model';

/**
 * Loads the provider of a wire, and no other: one that does not compile fails only its own cases.
 *
 * @returns The factory of its models. Rejects if the wire is unknown or its provider does not exist.
 */
export async function factoryOf(wire: string): Promise<ModelFactory> {
  const row = isKnownWire(wire) ? wires[wire] : undefined;
  if (!row) throw new Error(`No provider reads the wire "${wire}". Known wires: ${Object.keys(wires).join(', ')}.`);
  const { provider, make = (exported) => exported as ModelFactory } = row;
  const file = [`${provider}.ts`, `${provider}/${provider}.ts`]
    .map((name) => join(folder, name))
    .find((path) => existsSync(path));
  if (file === undefined)
    throw new Error(
      `The wire "${wire}" has no provider yet: there is no lib/providers/${provider}.ts and no lib/providers/${provider}/${provider}.ts.`,
    );
  const loaded = (await import(file)) as Readonly<Record<string, unknown>>;
  const exported = loaded[provider];
  if (typeof exported !== 'function')
    throw new Error(`The wire "${wire}" has no provider: ${file} exports no function ${provider}.`);
  return make(exported);
}
