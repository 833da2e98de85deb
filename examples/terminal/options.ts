import { parseArgs } from 'node:util';
import { registeredProviders } from 'rivulet/registry';
import { providerNamed } from './providers.js';

/** What the command line asks for. */
export interface Options {
  /** Undefined: a chat on a terminal, the built-in question elsewhere. */
  readonly prompt: string | undefined;
  /** The provider's name. */
  readonly provider: string;
  /** Undefined: the provider's default. */
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
  /** Whether a model that can think is asked to. */
  readonly thinking: boolean;
  readonly help: boolean;
}

const providerLines = registeredProviders().map(
  ({ name, defaultModel = '', keyVariable }) =>
    `  ${name.padEnd(18)}${defaultModel.padEnd(42)}${keyVariable ?? 'no key: --base-url http://localhost:11434'}`,
);

export const help = `An agent in the terminal, with three tools: weather, calculate, read_file.

  npm start                                 a chat; without a terminal, one built-in question
  npm start -- "How warm is it in Oslo?"    one question

Options
  --provider NAME   who is asked (default: openai)
  --model NAME      the model (default: the provider's, see below)
  --base-url URL    another server with the provider's API, for example http://localhost:11434/v1 for OpenAI's
  --no-thinking     models that can think are not asked to: some providers also have models that cannot
  --help            this text

Providers, their default models, and the variable with which a real model answers
${providerLines.join('\n')}

A server at --base-url may need no key. With neither key nor address, a scripted stand-in answers, over HTTP on this machine, in the
provider's own wire format. NO_COLOR is respected. Ctrl-C stops the answer, /exit or Ctrl-D ends the chat.
`;

/**
 * Reads the command line.
 *
 * @throws Error whose message says what is wrong with it.
 */
export function optionsFrom(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      provider: { type: 'string' },
      model: { type: 'string' },
      'base-url': { type: 'string' },
      'no-thinking': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const baseUrl = text(values['base-url']);
  if (baseUrl !== undefined && !(/^https?:/i.test(baseUrl) && URL.canParse(baseUrl))) {
    throw new Error(`--base-url "${baseUrl}" is no address like http://localhost:11434/v1.`);
  }
  const provider = providerNamed(text(values.provider) ?? 'openai').name;
  return {
    prompt: text(positionals.join(' ')),
    provider,
    model: text(values.model),
    baseUrl,
    thinking: !values['no-thinking'],
    help: values.help,
  };
}

/** Blank is as good as not given. */
const text = (value: string | undefined) => (value?.trim() === '' ? undefined : value?.trim());
