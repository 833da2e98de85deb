import { toolCall } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer, ServedTurn, Step } from 'rivulet/testing/server';
import { conversationOf } from './conversation.js';
import type { Answered, Conversation } from './conversation.js';
import { inline } from './text.js';
import { wishesIn } from './wishes.js';
import type { Wishes } from './wishes.js';

/** A provider on this machine, embedded in the program: real HTTP in the wire format of any provider, with rules in the place of a language model. */
export const serveOffline = (): Promise<LoopbackServer> => serveModel(standIn);

/** Milliseconds before an answer, and between two words of it: so that waiting and streaming can be watched. */
const pace = { answer: 200, word: 12 };

/** What the stand-in says to a request. Like a model it remembers nothing: all that it knows stands in the request. */
export function standIn({ history }: Pick<ServedTurn, 'history'>): readonly Step[] {
  const conversation = conversationOf(history);
  const steps = nextStep(wishesIn(conversation.question), conversation);
  const usage = { input: tokens(history), output: tokens(steps) };
  const reason = steps.some((step) => typeof step === 'object' && 'name' in step) ? 'toolCalls' : 'stop';
  return [{ delay: pace.answer }, ...steps.flatMap(wordByWord), { type: 'finish', reason, usage }];
}

/** The first that is still missing of weather, calculation and file; when nothing is, the answer. */
function nextStep(wishes: Wishes, { question, answered }: Conversation): readonly Step[] {
  const { cities, file } = wishes;
  const has = (name: string) => answered.some((answer) => answer.name === name);
  const expression = wishes.expression ?? difference(wishes, answered);
  if (cities.length > 0 && !has('weather')) {
    const reason =
      cities.length > 1
        ? 'No city depends on the other: I can ask for all at once.'
        : 'The weather is not in my rules, but in a table.';
    return [
      thinking(reason),
      `Let me look up ${listed(cities)}.`,
      ...cities.map((city) => toolCall('weather', { city })),
    ];
  }
  if (expression !== undefined && !has('calculate')) {
    return [thinking(`${expression} is better computed than guessed.`), toolCall('calculate', { expression })];
  }
  if (file !== undefined && !has('read_file'))
    return [thinking(`This needs a look into ${file}.`), toolCall('read_file', { path: file })];
  return [
    answered.length > 0
      ? answered.map((answer) => sentence(answer, wishes, answered, question)).join(' ')
      : introduction,
  ];
}

const introduction =
  'I am a scripted stand-in for a language model and follow a few rules. Ask me how warm it is in Oslo, how much warmer Cairo is than London, ' +
  'for (16 + 3) * 1.8, or what README.md says. npm start -- --help says how a real model answers.';

function sentence(
  { name, args, result, error }: Answered,
  wishes: Wishes,
  all: readonly Answered[],
  question: string,
): string {
  const subject = inline(Object.values(args)[0]);
  if (error !== undefined) return `I could not get "${subject}" from ${name}. ${error}`;
  if (isReport(result))
    return `In ${result.city} it is ${result.celsius} °C, ${result.sky}, with a wind of ${result.wind} km/h.`;
  if (name === 'read_file') return `${subject} says: "${fitting(inline(result), question)}"`;
  const [cold, warm] = byWarmth(all);
  if (wishes.expression !== undefined || !cold || !warm) return `${subject} is ${inline(result)}.`;
  return `${warm.city} is ${inline(result)} degrees warmer than ${cold.city}.`;
}

interface Report {
  readonly city: string;
  readonly celsius: number;
  readonly sky: string;
  readonly wind: number;
}

const isReport = (result: unknown): result is Report =>
  typeof result === 'object' && result !== null && 'celsius' in result;

const byWarmth = (answered: readonly Answered[]): readonly Report[] =>
  answered
    .map(({ result }): unknown => result)
    .filter(isReport)
    .sort((a, b) => a.celsius - b.celsius);

/** What to compute when two cities are compared. */
function difference({ compares }: Wishes, answered: readonly Answered[]): string | undefined {
  const [cold, warm, more] = byWarmth(answered);
  if (!compares || !cold || !warm || more) return undefined;
  return `${warm.celsius} - ${cold.celsius < 0 ? `(${cold.celsius})` : cold.celsius}`;
}

/** The line of a file that shares the most words with the question; where none shares two, the first. Headings and code are no lines to quote. */
function fitting(text: string, question: string): string {
  const asked = new Set(words(question));
  const shared = (line: string) => new Set(words(line).filter((word) => asked.has(word))).size;
  const lines = text.split('\n').filter((line) => /^[-*\s]*\p{Lu}.{20}/u.test(line));
  const best = lines.reduce((a, b) => (shared(b) > Math.max(1, shared(a)) ? b : a), lines[0] ?? text.trim());
  return best.replace(/^[-*\s]+/, '').slice(0, 200);
}

const words = (text: string) => text.toLowerCase().match(/\p{L}{4,}/gu) ?? [];

const listed = (names: readonly string[]) => names.join(', ').replace(/, ([^,]*)$/, ' and $1');

const thinking = (text: string): Step => ({ type: 'thinking', text });

/** A text in the pieces that a model would stream. */
function wordByWord(step: Step): readonly Step[] {
  if (typeof step === 'string')
    return (step.match(/\S+\s*/g) ?? []).flatMap((text) => [{ type: 'text', text }, { delay: pace.word }]);
  if (!('type' in step) || step.type !== 'thinking') return [step];
  return (step.text.match(/\S+\s*/g) ?? []).flatMap((text): Step[] => [
    { type: 'thinking', text },
    { delay: pace.word },
  ]);
}

/** A rule of thumb: four characters are a token. */
const tokens = (content: unknown) => Math.ceil(JSON.stringify(content).length / 4);
