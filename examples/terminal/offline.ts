import { toolCall } from 'rivulet/testing';
import type { Step } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer, ServedTurn } from 'rivulet/testing/server';
import { readConversation } from './conversation.js';
import type { AnsweredCall, Conversation } from './conversation.js';
import { parseQuestion } from './question.js';
import type { ParsedQuestion } from './question.js';
import { toInlineText } from './text.js';

/** How fast the stand-in answers, in milliseconds. */
export interface Pace {
  /** Before an answer. */
  readonly answer: number;
  /** Between two words. */
  readonly word: number;
}

/** Waiting and streaming can be watched. */
const watchablePace: Pace = { answer: 200, word: 12 };

/**
 * A provider on this machine, inside this process: real HTTP in the wire format of any provider, with a few rules in
 * place of a language model.
 */
export const serveOffline = (pace: Pace = watchablePace): Promise<LoopbackServer> =>
  serveModel((turn) => answerByRules(turn, pace));

/** Answers a request. Like a model, the stand-in keeps no state: everything it knows is in the request. */
export function answerByRules({ history }: Pick<ServedTurn, 'history'>, pace: Pace = watchablePace): readonly Step[] {
  const conversation = readConversation(history);
  const steps = nextStep(parseQuestion(conversation.question), conversation);
  const usage = { input: estimateTokens(history), output: estimateTokens(steps) };
  const reason = steps.some((step) => typeof step === 'object' && 'name' in step) ? 'toolCalls' : 'stop';
  return [
    { delay: pace.answer },
    ...steps.flatMap((step) => wordByWord(step, pace)),
    { type: 'finish', reason, usage },
  ];
}

/** The first of weather, calculation and file that is still missing; the answer when none is. */
function nextStep(question: ParsedQuestion, conversation: Conversation): readonly Step[] {
  const { cities, file, newFile } = question;
  const { answeredCalls } = conversation;
  const hasCalled = (name: string) => answeredCalls.some((call) => call.name === name);
  const expression = question.expression ?? difference(question, answeredCalls);
  if (cities.length > 0 && !hasCalled('weather')) return askForWeather(cities);
  if (expression !== undefined && !hasCalled('calculate'))
    return [thinking(`It is better to compute ${expression} than to guess.`), toolCall('calculate', { expression })];
  if (file !== undefined && !hasCalled('read_file'))
    return [thinking(`The answer is in ${file}.`), toolCall('read_file', { path: file })];
  if (newFile && !hasCalled('write_file'))
    return [thinking(`The user has to allow me to write ${newFile.path}.`), toolCall('write_file', newFile)];
  if (answeredCalls.length === 0) return [introduction];
  return [answeredCalls.map((call) => sentence(call, question, conversation)).join(' ')];
}

function askForWeather(cities: readonly string[]): readonly Step[] {
  const reason =
    cities.length > 1 ? 'The cities are independent: I can ask for all at once.' : 'I need the weather tool.';
  return [
    thinking(reason),
    `Let me look up ${joinNames(cities)}.`,
    ...cities.map((city) => toolCall('weather', { city })),
  ];
}

const introduction =
  'I am a scripted stand-in for a language model and follow a few rules. Ask me how warm it is in Oslo, ' +
  'how much warmer Cairo is than London, for (16 + 3) * 1.8, what README.md says, or to write "Buy milk" to todo.txt. To get answers from a real model, see npm start -- --help.';

function sentence(
  { name, args, result, error }: AnsweredCall,
  { expression }: ParsedQuestion,
  { question, answeredCalls }: Conversation,
): string {
  const subject = toInlineText(Object.values(args)[0]);
  if (name === 'write_file')
    return error === undefined ? `I wrote ${subject}.` : `I did not write ${subject}. ${error}`;
  if (error !== undefined) return `I could not get "${subject}" from ${name}. ${error}`;
  if (isReport(result))
    return `In ${result.city} it is ${result.celsius} °C, ${result.sky}, with a wind of ${result.wind} km/h.`;
  if (name === 'read_file') return `${subject} says: "${bestLine(toInlineText(result), question)}"`;
  const [cold, warm] = reportsByTemperature(answeredCalls);
  if (expression !== undefined || !cold || !warm) return `${subject} is ${toInlineText(result)}.`;
  return `${warm.city} is ${toInlineText(result)} degrees warmer than ${cold.city}.`;
}

interface Report {
  readonly city: string;
  readonly celsius: number;
  readonly sky: string;
  readonly wind: number;
}

const isReport = (result: unknown): result is Report =>
  typeof result === 'object' && result !== null && 'celsius' in result;

const reportsByTemperature = (calls: readonly AnsweredCall[]): readonly Report[] =>
  calls
    .map(({ result }): unknown => result)
    .filter(isReport)
    .sort((a, b) => a.celsius - b.celsius);

/** The expression to compute when two cities are compared. */
function difference({ isComparison }: ParsedQuestion, calls: readonly AnsweredCall[]): string | undefined {
  const [cold, warm, third] = reportsByTemperature(calls);
  if (!isComparison || !cold || !warm || third) return undefined;
  return `${warm.celsius} - ${cold.celsius < 0 ? `(${cold.celsius})` : cold.celsius}`;
}

/**
 * The line of a file that shares the most words with the question; the first line where none shares two. Headings and
 * code are not quoted.
 */
function bestLine(text: string, question: string): string {
  const asked = new Set(wordsOf(question));
  const countShared = (line: string) => new Set(wordsOf(line).filter((word) => asked.has(word))).size;
  const lines = text.split('\n').filter((line) => /^[-*\s]*\p{Lu}.{20}/u.test(line));
  const best = lines.reduce((a, b) => (countShared(b) > Math.max(1, countShared(a)) ? b : a), lines[0] ?? text.trim());
  return best.replace(/^[-*\s]+/, '').slice(0, 200);
}

const wordsOf = (text: string) => text.toLowerCase().match(/\p{L}{4,}/gu) ?? [];

const joinNames = (names: readonly string[]) => names.join(', ').replace(/, ([^,]*)$/, ' and $1');

const thinking = (text: string): Step => ({ type: 'thinking', text });

/** Text and thinking in the deltas that a model would stream. */
function wordByWord(step: Step, pace: Pace): readonly Step[] {
  const split = (type: 'text' | 'thinking', content: string) =>
    (content.match(/\S+\s*/g) ?? []).flatMap((text): Step[] => [{ type, text }, { delay: pace.word }]);
  if (typeof step === 'string') return split('text', step);
  return 'type' in step && step.type === 'thinking' ? split('thinking', step.text) : [step];
}

/** A rule of thumb: four characters are a token. */
const estimateTokens = (content: unknown) => Math.ceil(JSON.stringify(content).length / 4);
