import { isRecord } from '../core/json/json.js';
import { toolDefinition, type Tool } from '../core/tool.js';

/** Scores tools for a query: one number for each tool, in their order. */
export type ToolScore = (query: string, tools: readonly Tool[]) => readonly number[];

/** The words of a tool, by their first `PREFIX` characters, which all forms of a word share. */
interface ToolWords {
  readonly groups: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly length: number;
}

const PREFIX = 3;

/** A word of the name counts as this many words of the description. */
const weightOfName = 3;
/** BM25's constants: how soon more of a word counts less, and how much a long text counts less. */
const saturation = 1.2;
const lengthShare = 0.75;

/** A model writes the query: a longer one would take seconds over many tools. */
const MAX_QUERY_LENGTH = 1000;
const MAX_WORDS = 32;
/** A server may send a description of any length. */
const MAX_TEXT_LENGTH = 10_000;

const wordsOfTools = /* @__PURE__ */ new WeakMap<Tool, ToolWords>();

/** BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). */
export const scoreTools: ToolScore = (query, tools) => {
  const texts = tools.map(wordsOfTool);
  const meanLength = sum(texts.map(({ length }) => length)) / tools.length;
  const scores = tools.map(() => 0);
  const words = new Set(wordsIn(query.slice(0, MAX_QUERY_LENGTH)));
  for (const word of [...words].slice(0, MAX_WORDS)) {
    const frequencies = texts.map((text) => frequencyOf(word, text));
    const matches = frequencies.filter((frequency) => frequency > 0).length;
    const rarity = Math.log(1 + (tools.length - matches + 0.5) / (matches + 0.5));
    frequencies.forEach((frequency, at) => {
      const length = 1 - lengthShare + lengthShare * ((texts[at]?.length ?? 0) / meanLength);
      const points = (frequency * (saturation + 1)) / (frequency + saturation * length);
      scores[at] = (scores[at] ?? 0) + rarity * points;
    });
  }
  return scores;
};

/** Another form of the word counts half. */
function frequencyOf(word: string, { groups }: ToolWords): number {
  const similar = groups.get(word.slice(0, PREFIX)) ?? new Map<string, number>();
  const exact = similar.get(word) ?? 0;
  if (exact > 0) return exact;
  return sum([...similar].map(([other, count]) => (areForms(word, other) ? count / 2 : 0)));
}

/** Forms of one word: `invoice` and `invoices`, `query` and `queries`. */
function areForms(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  const isShared = (length: number) => long.startsWith(short.slice(0, length));
  const shared = isShared(short.length) ? short.length : short.length - 1;
  return shared >= PREFIX && isShared(shared) && (shared === short.length || shared >= 4) && long.length - shared <= 3;
}

function wordsOfTool(tool: Tool): ToolWords {
  const known = wordsOfTools.get(tool);
  if (known) return known;
  const { name, description, parameters } = toolDefinition(tool);
  const properties: unknown = parameters['properties'];
  const names = isRecord(properties) ? Object.keys(properties) : [];
  const groups = new Map<string, Map<string, number>>();
  let length = 0;
  const add = (text: string, weight: number) => {
    for (const word of wordsIn(text.slice(0, MAX_TEXT_LENGTH))) {
      const group = groups.get(word.slice(0, PREFIX)) ?? new Map<string, number>();
      groups.set(word.slice(0, PREFIX), group.set(word, (group.get(word) ?? 0) + weight));
      length += weight;
    }
  };
  add(name, weightOfName);
  add([description, ...names].join(' '), 1);
  const words = { groups, length };
  wordsOfTools.set(tool, words);
  return words;
}

/** `createInvoice`, `create_invoice` and `create an invoice` have the same, without stop words. */
function wordsIn(text: string): readonly string[] {
  const words = text
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return (words ?? []).filter((word) => !fillers.includes(word));
}

const fillers = ['a', 'an', 'and', 'by', 'for', 'from', 'in', 'is', 'it', 'of', 'on', 'or', 'the', 'to', 'with'];

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
