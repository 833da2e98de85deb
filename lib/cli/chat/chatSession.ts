import { catchError, concat, concatMap, defer, EMPTY, filter, finalize, from, map, merge, of } from 'rxjs';
import { repeat, takeUntil, tap, type Observable } from 'rxjs';
import { createAgent, type Agent } from '../../agent/createAgent.js';
import { omitRefused } from '../../protocol/omitRefused.js';
import { errorText } from '../../core/errors.js';
import type { RunEvent } from '../../core/event.js';
import { requireMessages } from '../../core/input.js';
import { tryParseJson, isRecord } from '../../core/json/json.js';
import { userMessage, type Message } from '../../core/message.js';
import type { Model } from '../../core/model.js';
import type { Tool } from '../../core/tool.js';
import { drawRun } from '../../observe/draw/drawRun.js';
import { readRecording } from '../../observe/recording/readRecording.js';
import { recordRun } from '../../observe/recording/recordRun.js';
import { plainText } from '../../core/plainText.js';
import { EventPrinter } from '../eventPrinter.js';
import type { Shell } from '../shell.js';
import { CallAnswerer } from './answerCalls.js';
import type { LineInput } from './lineInput.js';
import { MarkdownWriter, type RenderMarkdown, type TerminalSize } from './markdownWriter.js';

export interface ChatSettings {
  readonly model: Model;
  readonly system: string | undefined;
  readonly tools: readonly Tool[];
  readonly openModel: (name: string) => Model;
  readonly input: LineInput;
  readonly size: TerminalSize;
  readonly render: RenderMarkdown | undefined;
  readonly onPrompt: (prompt: string) => void;
}

const VERSION = 1;

const help = `/help          shows this
/model [NAME]  shows the model, or changes it: provider:model
/save FILE     saves the conversation
/load FILE     continues a saved conversation
/clear         forgets the conversation
/draw FILE     draws the last run as an HTML page
/exit          ends the chat, as Ctrl-D does
Ctrl-C stops an answer, and keeps what was written. A pasted block is one prompt.
`;

/** Emits the text to write, until `/exit` or Ctrl-D. A run that fails does not end the chat. */
export function chatSession(settings: ChatSettings, shell: Shell): Observable<string> {
  return defer(() => {
    const session = new ChatSession(settings, shell);
    let isOpen = true;
    const nextLine = defer(() => {
      isOpen = false; // until there is a line
      return settings.input.ask('> ').pipe(takeUntil(shell.interrupts));
    });
    return nextLine.pipe(
      map((line) => line.trim()),
      filter((line) => line !== '/exit'),
      tap(() => (isOpen = true)),
      concatMap((line) => session.handle(line)),
      repeat({ delay: () => (isOpen ? of(undefined) : EMPTY) }),
    );
  });
}

class ChatSession {
  private model: Model;
  private history: readonly Message[] = [];
  private recorded: string[] = [];

  constructor(
    private readonly settings: ChatSettings,
    private readonly shell: Shell,
  ) {
    this.model = settings.model;
  }

  handle(line: string): Observable<string> {
    if (line === '') return EMPTY;
    if (!line.startsWith('/')) return this.ask(line);
    const [name = '', ...rest] = line.slice(1).split(' ');
    const command = Object.hasOwn(this.commands, name) ? this.commands[name] : undefined;
    if (!command) return of(`There is no command /${name}.\n${help}`);
    return defer(() => command(rest.join(' ').trim())).pipe(catchError((thrown: unknown) => of(failure(thrown))));
  }

  private readonly commands: Readonly<Record<string, (argument: string) => Observable<string>>> = {
    help: () => of(help),
    clear: () => {
      this.history = [];
      return of('The conversation is forgotten.\n');
    },
    model: (name) => {
      if (name !== '') this.model = this.settings.openModel(name);
      return of(`${this.model.provider}:${this.model.name}\n`);
    },
    save: (file) => {
      const text = JSON.stringify({ version: VERSION, messages: this.history }, undefined, 2);
      return from(this.shell.writeFile(requireFile('save', file), `${text}\n`)).pipe(map(() => `${file}\n`));
    },
    load: (file) =>
      from(this.shell.readFile(requireFile('load', file))).pipe(
        map((text) => {
          this.history = readChat(text);
          return `${this.history.length} messages.\n`;
        }),
      ),
    draw: (file) => {
      if (this.recorded.length === 0) throw new Error('There is no run yet.');
      const page = drawRun(readRecording(this.recorded));
      return from(this.shell.writeFile(requireFile('draw', file), page)).pipe(map(() => `${file}\n`));
    },
  };

  private ask(prompt: string): Observable<string> {
    const { settings, shell, history } = this;
    const { system, tools } = settings;
    settings.onPrompt(prompt);
    this.recorded = [];
    const agent = createAgent({ model: this.model, tools, ...(system === undefined ? {} : { system }) });
    const recorded = recordRun(agent, (line) => void this.recorded.push(line));
    const keep = (event: RunEvent) => {
      if (event.type === 'message') this.history = [...this.history, event.message];
    };
    this.history = [...history, userMessage(prompt)];
    return show(recorded, prompt, history, settings, shell).pipe(
      tap(({ event }) => event && keep(event)),
      map(({ text }) => text),
      filter((text) => text !== ''),
    );
  }
}

function show(
  agent: Agent,
  prompt: string,
  history: readonly Message[],
  { size, render, input }: ChatSettings,
  { hasColors, interrupts }: Shell,
): Observable<{ readonly event?: RunEvent; readonly text: string }> {
  const writer = new MarkdownWriter(size, hasColors ? render : undefined);
  const notes = new EventPrinter(hasColors);
  const answerer = new CallAnswerer(input);
  const { answers } = answerer;
  const asked = answerer.texts().pipe(map((text) => ({ text: writer.end() + notes.line('') + text })));
  const stop = merge(interrupts, input.interrupts);
  const run = agent.stream(prompt, { history, stop, answers, wrapTurn: omitRefused });
  const events = run.pipe(
    tap((event) => answerer.observe(event)),
    map((event) => {
      if (event.type === 'text') return { event, text: notes.line('') + writer.write(event.text) };
      return { event, text: event.type === 'result' ? '' : notes.print(event) };
    }),
    catchError((thrown: unknown) => of({ text: writer.end() + failure(thrown) })),
    finalize(() => answerer.end()),
  );
  return concat(
    merge(asked, events),
    defer(() => of({ text: `${writer.end()}\n` })),
  );
}

const failure = (thrown: unknown): string => `failed: ${plainText(errorText(thrown))}\n`;

function requireFile(command: string, file: string): string {
  if (file === '') throw new Error(`Pass a file: /${command} FILE.`);
  return file;
}

function readChat(text: string): readonly Message[] {
  const chat = tryParseJson(text);
  if (!isRecord(chat) || chat['version'] !== VERSION || !Array.isArray(chat['messages']))
    throw new Error('The file is not a saved chat: /save writes one.');
  requireMessages(chat['messages']);
  return chat['messages'] as readonly Message[];
}
