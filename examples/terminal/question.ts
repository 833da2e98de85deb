import { constants, functions } from './calculate.js';
import { weatherTable } from './weatherTable.js';

/** What a question asks for, as far as the stand-in's rules can see. */
export interface ParsedQuestion {
  /** The cities whose weather is asked for. */
  readonly cities: readonly string[];
  /** Whether the cities are compared. */
  readonly isComparison: boolean;
  /** An arithmetic expression. */
  readonly expression?: string;
  /** The path of a file to read. */
  readonly file?: string;
  /** A file to write. */
  readonly newFile?: { readonly path: string; readonly text: string };
}

/** Finds in a question what the tools can answer. */
export function parseQuestion(question: string): ParsedQuestion {
  const [, text, path] = writePattern.exec(question) ?? [];
  if (text !== undefined && path !== undefined) return { cities: [], isComparison: false, newFile: { path, text } };
  const file = pathPattern.exec(question)?.[1];
  const withoutFile = file === undefined ? question : question.replace(file, ' ');
  const expression = findExpression(withoutFile);
  return {
    cities: findCities(withoutFile),
    isComparison: /\b(warmer|colder|cooler|difference|compare)/i.test(withoutFile),
    ...(expression === undefined ? {} : { expression }),
    ...(file === undefined ? {} : { file }),
  };
}

/** `Write "Buy milk" to todo.txt` */
const writePattern = /\bwrite\s+["“](.+?)["”]\s+(?:to|into)\s+([\w./-]+)/i;

/** Something with an extension, or that begins like a path: `README.md`, `/etc/passwd`, `../secret`. */
const pathPattern = /(?:^|[\s"'`(])((?:\.{0,2}\/)[\w./-]*\w|[\w./-]*\w\.[a-z]\w{1,4})(?![\w/])/i;

/**
 * The cities of the table. In a question about the weather, also a place that is not in the table, so that the tool can
 * report that it is unknown.
 */
function findCities(text: string): readonly string[] {
  const positionOf = (city: string) => text.toLowerCase().search(new RegExp(`\\b${city.toLowerCase()}\\b`));
  const known = weatherTable.map(({ city }) => city).filter((city) => positionOf(city) >= 0);
  if (known.length > 0) return known.sort((a, b) => positionOf(a) - positionOf(b));
  const place = /\b(?:in|of|for) (\p{Lu}\p{L}+)/u.exec(text)?.[1];
  const isAboutWeather = /\b(weather|warm|cold|hot|temperature|degrees|rain|snow|wind)/i.test(text);
  return place !== undefined && isAboutWeather ? [place] : [];
}

const termPattern = new RegExp(
  `(?:\\b(?:${[...functions, ...constants].join('|')})\\b|\\d+(?:\\.\\d+)?|[-+*/^%!(),]|\\s)+`,
  'g',
);

/** The longest run of numbers, operators and known functions that computes something. */
function findExpression(text: string): string | undefined {
  return [...text.matchAll(termPattern)]
    .map(([run]) => run.replace(/^[\s,)*/^%!]+|[\s,(*/^%+-]+$/g, ''))
    .filter((run) => /\d/.test(run) && /\d\s*[-+*/^%!]|[a-z]\s*\(/.test(run))
    .reduce<string | undefined>((longest, run) => (longest && longest.length >= run.length ? longest : run), undefined);
}
