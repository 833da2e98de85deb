import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, lastValueFrom, NEVER, of, Subscription, take } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent, remoteChats } from '../../lib/chat/index.js';
import type { Conversation } from '../../lib/chat/index.js';
import { translate } from '../../lib/chat/exchanges.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { errorText, HttpError } from '../../lib/core/errors.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { userMessage } from '../../lib/core/message.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { keepChats, memoryStore } from '../../lib/service/index.js';
import type { AgentHandler } from '../../lib/service/service.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { shutDown } from '../support/services.js';

let used = new Subscription();
afterEach(() => {
  used.unsubscribe();
  used = new Subscription();
});

const URL = 'http://service.test/chat';
type Limits = NonNullable<Parameters<typeof agentHandler>[1]>['limits'];

const answer: Chunk[] = [
  { type: 'text', text: 'Hello.' },
  { type: 'finish', reason: 'stop', usage: { input: 5, output: 2 } },
];

/** A page, whose service answers `slow` with a run that does not end. */
function open(limits: Limits = {}) {
  const model = scriptedModel(({ messages }) => (JSON.stringify(messages.at(-1)).includes('slow') ? NEVER : answer));
  const agent = createAgent({ model });
  const handler: AgentHandler = agentHandler(agent, {
    limits,
    chats: keepChats(memoryStore(), { maxChats: 1 }),
    grace: 60_000,
  });
  const send: typeof fetch = (input, init) => handler(new Request(input, init));
  used.add(() => shutDown(handler));
  const remote = remoteAgent(URL, { fetch: send, retries: 0, maxBodyBytes: 1000 });
  const chats = remoteChats(URL, { fetch: send, retries: 0 });
  const chat = conversation(remote);
  used.add(chat.view$.subscribe());
  return { chat, chats, remote, send };
}
type Page = ReturnType<typeof open>;

const run = { stop: NEVER, cancel: NEVER, fragments: true, context: undefined } as const;
const answered = (chat: Conversation, status: string) =>
  firstValueFrom(chat.view$.pipe(filter((view) => view.status === status)));

/** The error of an exchange, after its prompts were answered. */
async function ask({ chat }: Page, ...prompts: Parameters<Conversation['send']>[0][]): Promise<unknown> {
  for (const prompt of prompts.slice(0, -1)) {
    chat.send(prompt);
    await answered(chat, 'idle');
  }
  chat.send(prompts.at(-1) ?? '');
  return (await answered(chat, 'failed')).exchanges.at(-1)?.error;
}
const errorOf = async (source: Observable<unknown>): Promise<unknown> =>
  lastValueFrom(source).then(
    () => 'nothing has failed',
    (thrown: unknown) => (thrown instanceof HttpError ? thrown.toJSON() : thrown),
  );
/** Another run of the user, which does not end. */
const busy = async ({ remote }: Page, prompt: string) => {
  const events = remote.stream(prompt, { ...run, id: 'b'.repeat(32), earlier: [], history: [] });
  used.add(events.subscribe({ error: () => undefined }));
  await new Promise((resolve) => setTimeout(resolve, 50));
};
const photo = (size: number) => userMessage([{ type: 'file', mediaType: 'image/png', data: 'A'.repeat(size) }]);
const text = (length: number) => 'x'.repeat(length);
const saved = async (page: Page) => {
  page.chat.send('Hi');
  await answered(page.chat, 'idle');
  return page.chat.save();
};
const keep = (page: Page, id: string, save: Awaited<ReturnType<typeof saved>>) =>
  page.chats.keep({ saved$: of(save) }, { id }).pipe(take(1));
const uuid = () => crypto.randomUUID();

interface Row {
  readonly limits?: Limits;
  readonly params?: JsonObject;
  readonly act: (page: Page) => Promise<unknown>;
}

const rows: Readonly<Record<string, Row>> = {
  files_too_large: { params: { size: 1200, max: 1000 }, act: (page) => ask(page, photo(1200)) },
  request_too_large: { limits: { maxBodyBytes: 500 }, params: { max: 500 }, act: (page) => ask(page, text(600)) },
  conversation_too_large: {
    limits: { maxHistoryBytes: 300 },
    params: { max: 300 },
    act: (page) => ask(page, text(400), 'Hi'),
  },
  runs_too_large: {
    limits: { maxOwnerBytes: 3000 },
    params: { max: 3000 },
    act: async (page) => {
      await busy(page, `slow ${text(2000)}`);
      return ask(page, text(2000));
    },
  },
  too_many_runs: {
    limits: { maxRunsPerOwner: 1 },
    params: { max: 1 },
    act: async (page) => {
      await busy(page, 'slow');
      return ask(page, 'Hi');
    },
  },
  prompt_rate: { limits: { maxPromptsPerMinute: 1 }, params: { max: 1 }, act: (page) => ask(page, 'Hi', 'And now?') },
  budget: { limits: { budget: { tokens: 5 } }, act: (page) => ask(page, 'Hi', 'And now?') },
  file_not_found: {
    act: (page) =>
      ask(page, userMessage([{ type: 'file', mediaType: 'image/png', url: `${URL}?file=${'a'.repeat(32)}.0` }])),
  },
  not_waiting: {
    act: async (page) => {
      page.chat.send('Hi');
      await answered(page.chat, 'idle');
      const earlier = page.chat.save().exchanges.map((exchange) => ({ id: exchange.run, input: [] }));
      return errorOf(page.remote.resume(undefined, { ...run, id: 'c'.repeat(32), earlier, decisions: {} }));
    },
  },
  chat_not_found: { act: ({ chats }) => errorOf(chats.open(uuid())) },
  too_many_chats: {
    params: { max: 1 },
    act: async (page) => {
      const save = await saved(page);
      await lastValueFrom(keep(page, uuid(), save));
      return errorOf(keep(page, uuid(), save));
    },
  },
};

describe('a refusal', () => {
  it.each(Object.entries(rows))('%s has its code, and the limits that its sentence names', async (code, row) => {
    const error = (await row.act(open(row.limits))) as JsonObject;
    expect(error).toMatchObject({ code: 'http', providerCode: code });
    expect(error['params']).toEqual(row.params);
    expect(error['message']).toMatch(/^[A-Z].*\.$/);
    // The time is the field `retryAfter`.
    const own = errorText(error).replace(/ Try again in \d+ minutes\.$/, '');
    if (row.params === undefined) expect(own).not.toMatch(/\d/);
    const german = ({ params }: JsonObject) => `Grenze: ${JSON.stringify(params)}`;
    const message = `Grenze: ${JSON.stringify(row.params)}`;
    const byStatus = Object.fromEntries([404, 409, 413, 429].map((status) => [`http_${status}`, 'Fehler.']));
    expect(translate(error, { [code]: german, http: 'Fehler.', ...byStatus })).toMatchObject({ code: 'http', message });
    expect(translate(error, { http: 'Fehler.', ...byStatus })).toMatchObject({ message: 'Fehler.' });
  });

  it.each(['toString', 'constructor', '__proto__'])(
    'with the code %s of a hostile service is not translated',
    (code) => {
      const error = { code, message: 'No.', status: 400, providerCode: code };
      expect(translate(error, { other: 'Anderes.' })).toBe(error);
    },
  );
});
