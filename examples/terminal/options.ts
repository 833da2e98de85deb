import { parseArgs } from 'node:util';
import { registeredProviders } from 'rivulet/registry';
import { findProvider } from './providers.js';

/** The parsed command line. */
export interface Options {
  /** Undefined: a chat on a terminal, otherwise the built-in question. */
  readonly prompt: string | undefined;
  /** The provider's name. */
  readonly provider: string;
  /** Undefined: the provider's default. */
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
  /** The provider that answers when the first one fails. */
  readonly fallback: string | undefined;
  /** Whether thinking is requested from a model that supports it. */
  readonly thinking: boolean;
  /** Whether a page in a browser shows the chat. */
  readonly web: boolean;
  /** The folder in which the service of the page keeps its chats. Undefined: in memory. */
  readonly data: string | undefined;
  /** The port of the page. 0: any free one. */
  readonly port: number;
  /** The file for a drawing of the last run. */
  readonly draw: string | undefined;
  readonly help: boolean;
}

const providerLines = registeredProviders().map(
  ({ name, defaultModel = '', keyVariable }) =>
    `  ${name.padEnd(18)}${defaultModel.padEnd(42)}${keyVariable ?? 'no key: --base-url http://localhost:11434'}`,
);

export const help = `An agent in the terminal, with four tools: weather, calculate, read_file, write_file.

  npm start                                 a chat; without a terminal, one built-in question
  npm start -- "How warm is it in Oslo?"    one question
  npm start -- --web                        a chat on a page in a browser
  npm start -- --web --data ./chats         the same; the chats are still there after a restart

Options
  --provider NAME   the provider (default: openai; openai-chat with --base-url, which most servers speak)
  --model NAME      the model (default: the provider's, see below)
  --fallback NAME   the provider that answers when the first one fails, with its default model
  --base-url URL    another server with the provider's API, for example http://localhost:11434/v1
  --no-thinking     request no thinking, for models that do not support it
  --web             serve the chat as a page on this machine, until Ctrl-C
  --data FOLDER     with --web: keep the chats in this folder, in an embedded PostgreSQL (PGlite). It starts in some
                    seconds and takes several hundred MB of memory
  --port NUMBER     with --web: the port of the page (default: any free one; with --data 3000)
  --draw FILE       draw the last run as an HTML page, for example run.html
  --help            show this text

Providers, their default models, and the environment variable of the key
${providerLines.join('\n')}

A server at --base-url may need no key. Without a key and without --base-url, a scripted stand-in answers: over HTTP on
this machine, in the provider's wire format. NO_COLOR is respected. Ctrl-C stops the answer and keeps what was written;
/exit or Ctrl-D ends the chat.
`;

/**
 * Reads the command line.
 *
 * @throws Error when an option is unknown or wrong; the message names it.
 */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      provider: { type: 'string' },
      model: { type: 'string' },
      'base-url': { type: 'string' },
      fallback: { type: 'string' },
      'no-thinking': { type: 'boolean', default: false },
      web: { type: 'boolean', default: false },
      data: { type: 'string' },
      port: { type: 'string' },
      draw: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const baseUrl = textOf(values['base-url']);
  if (baseUrl !== undefined && !(/^https?:/i.test(baseUrl) && URL.canParse(baseUrl))) {
    throw new Error(`--base-url "${baseUrl}" is not a URL like http://localhost:11434/v1.`);
  }
  const fallback = textOf(values.fallback);
  const data = textOf(values.data);
  const port = textOf(values.port);
  if ((data ?? port) !== undefined && !values.web) throw new Error('--data and --port belong to --web.');
  if (port !== undefined && !/^\d{1,5}$/.test(port)) throw new Error(`--port "${port}" is not a number like 3000.`);
  const provider = findProvider(textOf(values.provider) ?? (baseUrl === undefined ? 'openai' : 'openai-chat')).name;
  return {
    prompt: textOf(positionals.join(' ')),
    provider,
    model: textOf(values.model),
    baseUrl,
    fallback: fallback && findProvider(fallback).name,
    thinking: !values['no-thinking'],
    web: values.web,
    data,
    // A browser keeps a chat for one address: with another port after a restart, the page would be empty.
    port: Number(port ?? (data === undefined ? 0 : 3000)),
    draw: textOf(values.draw),
    help: values.help,
  };
}

/** A blank value counts as absent. */
const textOf = (value: string | undefined) => (value?.trim() === '' ? undefined : value?.trim());
