import { parseArgs } from 'node:util';

/** The parsed command line. */
export interface Options {
  /** Default: the recording's, or openai. */
  readonly provider: string | undefined;
  /** Default: the provider's default model. */
  readonly model: string | undefined;
  /** A file, or the common stem of two files. Default: none; the provider is asked. */
  readonly recording: string | undefined;
  readonly prompt: string | undefined;
  readonly help: boolean;
}

export const help = `  --provider NAME     the provider (openai, anthropic, google, ollama, ...); without its key, a scripted stand-in
                      answers in its wire format
  --model NAME        the model (default: the provider's)
  --recording FILE    reads a recording instead: the STEM of STEM.chunks.txt and STEM.expected.json, or the JSON file
                      of recordFetch, or a JSON list of frames
  --help              show this text
  "..."               the question (default: one that requires two tools)
`;

/**
 * Reads the command line.
 *
 * @throws Error when an option is unknown or wrong; the message names it.
 */
export function parseOptions(args: readonly string[]): Options {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { provider: text, model: text, recording: text, help: { type: 'boolean', short: 'h', default: false } },
  });
  return {
    provider: values.provider,
    model: values.model,
    recording: values.recording,
    prompt: positionals.join(' ') || undefined,
    help: values.help,
  };
}
