import { parseArgs } from 'node:util';
import { providers } from './providers.js';

/** What the command line asks for. */
export interface Options {
  /** Undefined: a chat on a terminal, the built-in question elsewhere. */
  readonly prompt: string | undefined;
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
  readonly help: boolean;
}

export const help = `An agent in the terminal, with three tools: weather, calculate, read_file.

  npm start                                 a chat; without a terminal, one built-in question
  npm start -- "How warm is it in Oslo?"    one question

Options
  --model NAME      the model (default: ${providers.openai.model})
  --base-url URL    another server with OpenAI's API, for example http://localhost:11434/v1 for Ollama
  --help            this text

With ${providers.openai.variable} set, a real model answers; a server at --base-url may need no key. Otherwise a scripted stand-in
answers, over HTTP on this machine. NO_COLOR is respected. Ctrl-C stops the answer, /exit or Ctrl-D ends the chat.
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
    options: { model: { type: 'string' }, 'base-url': { type: 'string' }, help: { type: 'boolean', short: 'h', default: false } },
  });
  const baseUrl = text(values['base-url']);
  if (baseUrl !== undefined && !(/^https?:/i.test(baseUrl) && URL.canParse(baseUrl))) {
    throw new Error(`--base-url "${baseUrl}" is no address like http://localhost:11434/v1.`);
  }
  return { prompt: text(positionals.join(' ')), model: text(values.model), baseUrl, help: values.help };
}

/** Blank is as good as not given. */
const text = (value: string | undefined) => (value?.trim() === '' ? undefined : value?.trim());
