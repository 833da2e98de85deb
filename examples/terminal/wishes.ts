import { constants, functions } from './calculate.js';
import { weatherTable } from './weatherTable.js';

/** What a question asks for, as far as the stand-in's rules can tell. */
export interface Wishes {
  /** Cities whose weather is wanted. */
  readonly cities: readonly string[];
  /** Whether they are to be compared. */
  readonly compares: boolean;
  /** An arithmetic expression. */
  readonly expression?: string;
  /** The path of a file. */
  readonly file?: string;
}

/** Finds in a question what there are tools for. */
export function wishesIn(question: string): Wishes {
  const file = aPath.exec(question)?.[1];
  const rest = file === undefined ? question : question.replace(file, ' ');
  const expression = expressionIn(rest);
  return {
    cities: citiesIn(rest),
    compares: /\b(warmer|colder|cooler|difference|compare)/i.test(rest),
    ...(expression === undefined ? {} : { expression }),
    ...(file === undefined ? {} : { file }),
  };
}

/** Something with an extension, or that begins like a path: `README.md`, `/etc/passwd`, `../secret`. */
const aPath = /(?:^|[\s"'`(])((?:\.{0,2}\/)[\w./-]*\w|[\w./-]*\w\.[a-z]\w{1,4})(?![\w/])/i;

/** Those of the table; and what is called a place in a question about the weather, so that the tool can say that it does not know it. */
function citiesIn(text: string): readonly string[] {
  const at = (city: string) => text.toLowerCase().search(new RegExp(`\\b${city.toLowerCase()}\\b`));
  const named = weatherTable.map(({ city }) => city).filter((city) => at(city) >= 0);
  const known = named.sort((a, b) => at(a) - at(b));
  const place = /\b(?:in|of|for) (\p{Lu}\p{L}+)/u.exec(text)?.[1];
  const aboutWeather = /\b(weather|warm|cold|hot|temperature|degrees|rain|snow|wind)/i.test(text);
  return known.length === 0 && place !== undefined && aboutWeather ? [place] : known;
}

const aTerm = new RegExp(
  `(?:\\b(?:${[...functions, ...constants].join('|')})\\b|\\d+(?:\\.\\d+)?|[-+*/^%!(),]|\\s)+`,
  'g',
);

/** The longest stretch of numbers, operators and known functions that computes something. */
function expressionIn(text: string): string | undefined {
  return [...text.matchAll(aTerm)]
    .map(([stretch]) => stretch.replace(/^[\s,)*/^%!]+|[\s,(*/^%+-]+$/g, ''))
    .filter((stretch) => /\d/.test(stretch) && /\d\s*[-+*/^%!]|[a-z]\s*\(/.test(stretch))
    .reduce<string | undefined>(
      (longest, stretch) => (longest && longest.length >= stretch.length ? longest : stretch),
      undefined,
    );
}
