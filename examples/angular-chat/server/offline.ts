import { readFileSync } from 'node:fs';
import type { JsonValue, Message } from 'rivulet';
import { toolCall } from 'rivulet/testing';
import type { Step } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer, ServedRequest } from 'rivulet/testing/server';
import { readConversation } from '../../terminal/conversation.js';

/** What the stand-in does with a prompt. */
interface Rule {
  readonly prompt: RegExp;
  readonly thought?: string;
  /** The turn before the tools. */
  readonly steps: (prompt: string) => readonly Step[];
  /** The turn after the tools. */
  readonly answer?: (results: readonly JsonValue[]) => string;
  /** Tokens per second. */
  readonly speed?: number;
}

const rules: readonly Rule[] = [
  {
    prompt: /prime/i,
    thought: 'Nobody should guess such a number. There is a tool that counts primes.',
    steps: (prompt) => ['I will count them.', ...limitsIn(prompt).map((below) => toolCall('count_primes', { below }))],
    answer: (counts) => counts.map((count) => `There are **${Number(count).toLocaleString('en')}** primes.`).join(' '),
  },
  {
    prompt: /note/i,
    steps: (prompt) => ['I can do that, if you allow it.', toolCall('save_note', { note: noteIn(prompt) })],
    answer: () => 'The note is in `notes.md` now.',
  },
  {
    prompt: /time|clock/i,
    steps: () => ['Your browser knows that.', toolCall('local_time')],
    answer: ([now]) => `\`\`\`json\n${JSON.stringify(now, undefined, 2)}\n\`\`\``,
  },
  {
    prompt: /colou?r/i,
    steps: () => [
      'Which one?',
      toolCall('choose_colour', { colours: ['teal', 'darkslateblue', 'mediumvioletred', 'sienna'] }),
    ],
    answer: ([colour]) => `The colour of buttons and links is now ${JSON.stringify(colour)}.`,
  },
  {
    prompt: /visitor/i,
    steps: () => ['Please fill in the form.', toolCall('register_visitor')],
    answer: ([visitor]) => `Registered:\n\n\`\`\`json\n${JSON.stringify(visitor, undefined, 2)}\n\`\`\``,
  },
  {
    prompt: /long/i,
    speed: 2000,
    steps: () => [readFileSync(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8')],
  },
  {
    prompt: /busy/i,
    steps: () => ['The provider has refused two requests. The service has sent them again without your help.'],
  },
  { prompt: /fail/i, steps: () => ['This attempt succeeds. Above, **1 / 2** is the one that failed.'] },
];

const otherwise: Rule = {
  prompt: /^/,
  thought: 'The user wants to know what this page can show. A short overview in Markdown will do.',
  steps: () => [introduction],
};

const introduction = `I am a scripted stand-in for a language model, and I follow a few rules:

| say | and see |
|---|---|
| How many primes are there below 20 million? | a tool at the server, with its progress |
| Save a note: buy milk | a tool that needs your approval |
| What time is it here? | a tool that runs in this page |
| Let me choose a colour | a question that you answer |
| Register a visitor | a form of a tool, in the middle of its work |
| Write a long text | 2,000 tokens per second |
| Fail, Be busy | an error, and requests that are sent again |

While an answer arrives, you can

1. **stop** it, or send another message, which is *queued*;
2. **reload** the page, or open it in a second tab: the answer goes on.

Afterwards, *edit* a message or *regenerate* an answer; both versions are kept. The code of this page begins with

\`\`\`ts
const chat = conversation(remoteAgent('/api/chat'));
const view = toSignal(chat.view$, { requireSync: true });
\`\`\`

> A real model answers if the key of a provider is set, for example \`OPENAI_API_KEY\`.`;

/**
 * A provider on this machine, inside this process: real HTTP in the format of Anthropic, with a few rules in place of a
 * language model.
 */
export function serveOffline(): Promise<LoopbackServer> {
  let attempts = 0;
  let requests = 0;
  return serveModel(
    ({ history }) => {
      const steps = answerByRules(history);
      const fails = /fail/i.test(readConversation(history).question) && attempts++ % 2 === 0;
      return fails ? [...steps.slice(0, 4), { error: new Error('The model is overloaded.') }] : steps;
    },
    { forRequest: (request) => (asksFor(/busy/i, request) && requests++ % 3 < 2 ? { status: 503 } : undefined) },
  );
}

/** Answers a request. Like a model, the stand-in keeps no state: everything it knows is in the request. */
export function answerByRules(history: readonly Message[]): readonly Step[] {
  const { question, answeredCalls } = readConversation(history);
  const { thought, steps, answer, speed = 50 } = rules.find(({ prompt }) => prompt.test(question)) ?? otherwise;
  const failure = answeredCalls.find(({ error }) => error !== undefined);
  if (failure) return pace([`\`${failure.name}\` did not run: ${failure.error}`], speed);
  if (answer && answeredCalls.length > 0)
    return pace([answer(answeredCalls.map(({ result = null }) => result))], speed);
  const thinking: readonly Step[] = thought === undefined ? [] : [{ type: 'thinking', text: thought }];
  return pace([...thinking, ...steps(question)], speed);
}

const limitsIn = (prompt: string): readonly number[] => {
  const found = [...prompt.matchAll(/(\d[\d,]*)\s*(million)?/gi)];
  const limits = found.map(([, digits = '', million]) => Number(digits.replaceAll(',', '')) * (million ? 1e6 : 1));
  return limits.length > 0 ? limits : [20_000_000];
};

const noteIn = (prompt: string) => prompt.replace(/^.*?note\W*/i, '') || 'A note without words';

const asksFor = (words: RegExp, { body }: ServedRequest) =>
  words.test(JSON.stringify((body as { messages?: readonly JsonValue[] }).messages?.at(-1) ?? ''));

/** Text and thinking in the tokens that a model would stream: about four characters each. */
function pace(steps: readonly Step[], tokensPerSecond: number): readonly Step[] {
  const interval = 20;
  const perInterval = Math.ceil((tokensPerSecond * interval) / 1000);
  const split = (type: 'text' | 'thinking', content: string) =>
    (content.match(/[^]{1,4}/gu) ?? []).flatMap((text, at): Step[] =>
      at % perInterval === 0 ? [{ delay: interval }, { type, text }] : [{ type, text }],
    );
  return steps.flatMap((step) => {
    if (typeof step === 'string') return split('text', step);
    return 'type' in step && step.type === 'thinking' ? split('thinking', step.text) : [step];
  });
}
