import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';

/** The content of `<name>.expected.json`. An absent property is not checked. */
export interface ExpectedAnswer {
  readonly text: string;
  readonly reasoning?: string;
  /** A finish reason in the recording's own words: see `finishReasonOf`. */
  readonly finishReason: string;
  readonly finishReasonAlsoAccepted?: readonly string[];
  readonly usage: {
    readonly input?: number;
    readonly output?: number;
    readonly reasoning?: number;
    readonly cacheRead?: number;
  } | null;
  readonly error: { readonly message?: string } | null;
  readonly toolCalls: readonly { readonly id: string | null; readonly name: string; readonly arguments: JsonObject }[];
  /** The complete message. Only the project's own recordings have it. */
  readonly message?: JsonValue;
}

/** A response of a provider, and how it must be decoded. */
export interface Recording {
  /** The folder and the name of the recording. */
  readonly name: string;
  readonly frames: readonly JsonObject[];
  readonly expected: ExpectedAnswer;
}

/**
 * Reads the recordings of a folder.
 *
 * @param folder A path relative to the project. A folder that does not exist has no recordings.
 */
export function recordings(folder: string): readonly Recording[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.chunks.txt'))
    .map((file) => {
      const name = file.slice(0, -'.chunks.txt'.length);
      const lines = readFileSync(`${folder}/${file}`, 'utf8').split('\n').filter(Boolean);
      const { expected } = JSON.parse(readFileSync(`${folder}/${name}.expected.json`, 'utf8')) as {
        expected: ExpectedAnswer;
      };
      return {
        name: `${folder.split('/').at(-1)}/${name}`,
        frames: lines.map((line) => JSON.parse(line) as JsonObject),
        expected,
      };
    });
}

const finishReasons: Readonly<Record<string, string>> = {
  'tool-calls': 'toolCalls',
  'content-filter': 'contentFilter',
  unknown: 'unspecified',
};

/** Translates a recording's finish reason to the library's. */
export const finishReasonOf = (recorded: string): string => finishReasons[recorded] ?? recorded;
