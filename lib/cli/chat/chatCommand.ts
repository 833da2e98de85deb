import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { finalize, fromEvent, lastValueFrom, map, merge, reduce, takeUntil, tap, timer } from 'rxjs';
import { createAgent, type Agent } from '../../agent/createAgent.js';
import { errorText } from '../../core/errors.js';
import { escapeHidden, plainText } from '../../core/plainText.js';
import { EventPrinter } from '../eventPrinter.js';
import { TERMINATED, type Shell } from '../shell.js';
import { UsageError } from '../usageError.js';
import { chatSession } from './chatSession.js';
import { createLineInput } from './lineInput.js';
import { loadMarkdown } from './markdownWriter.js';
import type { Model } from '../../core/model.js';
import type { Tool } from '../../core/tool.js';
import { modelByName, registeredProviders } from '../../providers/registry/index.js';
import type { RunEvent } from '../../core/event.js';

const HISTORY_LENGTH = 1000;

export async function chatCommand(args: readonly string[], shell: Shell): Promise<number> {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { model: text, 'base-url': text, system: text, tools: text, json: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const open = (name: string | undefined) => openModel(name, values['base-url'], shell.env);
  const model = open(values.model);
  const tools = values.tools === undefined ? [] : await loadTools(values.tools);
  const words = positionals.join(' ');
  const piped = shell.stdin.isTTY ? '' : await readInput(shell, words !== '');
  const prompt = [words, piped].filter((part) => part.trim() !== '').join('\n\n');
  if (prompt !== '') {
    const agent = createAgent({ model, tools, ...(values.system === undefined ? {} : { system: values.system }) });
    return askOnce(agent, prompt, values.json, shell);
  }
  if (!shell.stdin.isTTY || !shell.stdout.isTTY || values.json)
    throw new UsageError('Pass a prompt, or write it to the input. Without one, a chat needs a terminal.');

  const file = shell.env['RIVULET_HISTORY'] ?? join(homedir(), '.rivulet_history');
  const prompts = await readHistory(shell, file);
  const save = () => {
    const lines = prompts.slice(-HISTORY_LENGTH).map((each) => `${JSON.stringify(each)}\n`);
    return shell.writeFile(file, lines.join(''), { isPrivate: true }).catch((thrown: unknown) => {
      shell.writeError(`The prompts were not saved: ${plainText(errorText(thrown))}\n`);
    });
  };
  let saved = Promise.resolve();
  const input = createLineInput(shell.stdin, shell.stdout, prompts);
  const chat = chatSession(
    {
      model,
      system: values.system,
      tools,
      openModel: open,
      input,
      // 0: the size is unknown.
      size: { columns: () => Number(shell.stdout.columns) || 80, rows: () => Number(shell.stdout.rows) || 24 },
      render: shell.hasColors ? await loadMarkdown() : undefined,
      onPrompt: (asked) => {
        prompts.push(asked);
        saved = saved.then(save); // now, since a signal may end the process
      },
    },
    shell,
  );
  shell.write(`${model.provider}:${model.name}. /help lists the commands.\n`);
  let code = 0;
  await lastValueFrom(
    chat.pipe(
      tap(shell.write),
      takeUntil(shell.terminations.pipe(tap(() => (code = TERMINATED)))),
      finalize(() => input.close()),
    ),
    { defaultValue: '' },
  );
  await saved;
  return code;
}

async function loadTools(file: string): Promise<readonly Tool[]> {
  const module = (await import(pathToFileURL(resolve(file)).href)) as { readonly default?: unknown };
  if (Array.isArray(module.default)) return module.default as readonly Tool[];
  throw new UsageError(`--tools ${file}: the default export of the module is not a list of tools.`);
}

/** How long to wait for an input to begin if there is a prompt without it, in milliseconds. */
const INPUT_TIME = 3000;

/** The whole input. A parent process may hold it open for ever without writing to it. */
async function readInput({ stdin, writeError }: Shell, hasPrompt: boolean): Promise<string> {
  const data = fromEvent(stdin.setEncoding('utf8'), 'data').pipe(map(String));
  const failed = fromEvent(stdin, 'error').pipe(
    map((thrown) => {
      throw thrown;
    }),
  );
  const ended = merge(fromEvent(stdin, 'end'), fromEvent(stdin, 'close'), failed);
  const late = timer(INPUT_TIME).pipe(
    tap(() => writeError('Nothing has come from the input so far: only the prompt is sent.\n')),
    takeUntil(data),
  );
  const all = data.pipe(
    takeUntil(hasPrompt ? merge(ended, late) : ended),
    reduce((text, more) => text + more, ''),
    finalize(() => stdin.pause()),
  );
  return lastValueFrom(all, { defaultValue: '' });
}

/** The prompts of earlier sessions, oldest first: one JSON string a line. A line that is not one is left out. */
async function readHistory(shell: Shell, file: string): Promise<string[]> {
  const text = await shell.readFile(file).catch((thrown: unknown) => {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw thrown;
  });
  return text.split('\n').flatMap((line) => {
    try {
      const prompt: unknown = JSON.parse(line);
      return typeof prompt === 'string' ? [plainText(prompt)] : [];
    } catch {
      return [];
    }
  });
}

/**
 * `provider:model`, or a provider; default: `RIVULET_MODEL`, then the first provider with a key. `--base-url` needs
 * none.
 */
function openModel(name: string | undefined, optionUrl: string | undefined, env: Shell['env']): Model {
  const named = name ?? env['RIVULET_MODEL'];
  const openaiUrl = /^\s*openai(-chat)?\s*([:/]|$)/i.test(named ?? 'openai') ? env['OPENAI_BASE_URL'] : undefined;
  const baseUrl = optionUrl ?? (openaiUrl === '' ? undefined : openaiUrl);
  const found = named ?? (baseUrl === undefined ? providerWithKey(env) : 'openai-chat');
  if (found === undefined) throw new UsageError(noModel());
  const provider = registeredProviders().find(({ name: each, aliases }) =>
    [each, ...aliases].includes(found.split(/[:/]/)[0]?.trim().toLowerCase() ?? ''),
  );
  // Another server receives none of the providers' keys.
  const apiKey = baseUrl === undefined ? provider?.keyVariable && env[provider.keyVariable] : env['RIVULET_API_KEY'];
  return modelByName(found, {
    ...(apiKey ? { apiKey } : {}),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  });
}

const providerWithKey = (env: Shell['env']): string | undefined =>
  registeredProviders().find(({ keyVariable }) => keyVariable && env[keyVariable])?.name;

function noModel(): string {
  const lines = registeredProviders().map(
    ({ name, defaultModel = '', keyVariable }) => `  ${name.padEnd(18)}${defaultModel.padEnd(42)}${keyVariable ?? ''}`,
  );
  return `No model: set the key of a provider, RIVULET_MODEL, or pass --model PROVIDER:NAME.\n\n${lines.join('\n')}`;
}

/** Nothing but the answer is written to the output, with `json` one line per event; the rest as errors. */
function askOnce(agent: Agent, prompt: string, json: boolean, shell: Shell): Promise<number> {
  let code = 0;
  let lastText = '\n';
  const notes = new EventPrinter(shell.hasErrorColors);
  const writeText = (text: string) => {
    if (text === '') return;
    lastText = text;
    shell.write(text);
  };
  const write = (event: RunEvent) => {
    if (json) shell.write(`${escapeHidden(JSON.stringify(event))}\n`);
    else if (event.type === 'text') writeText(plainText(event.text)); // a pipe may end at a terminal
    else if (event.type !== 'result') shell.writeError(notes.print(event));
  };
  const stop = shell.interrupts.pipe(tap(() => (code = 130)));
  return lastValueFrom(agent.stream(prompt, { stop }).pipe(tap(write)), { defaultValue: undefined }).then(
    () => {
      if (!json && !lastText.endsWith('\n')) shell.write('\n');
      return code;
    },
    (thrown: unknown) => {
      shell.writeError(notes.line(`failed: ${errorText(thrown)}`, 'red'));
      return 1;
    },
  );
}
