import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface Options {
  /** Default: the recording's own, or openai. */
  readonly provider: string | undefined;
  /** Default: the provider's. */
  readonly model: string | undefined;
  /** A file, or the stem of two. Default: none, the provider is asked. */
  readonly recording: string | undefined;
  readonly prompt: string | undefined;
  readonly help: boolean;
}

export const help = `  --provider NAME     whom to ask (openai, anthropic, google, ollama, ...); without its key a scripted stand-in answers in its wire format
  --model NAME        the model (default: the provider's)
  --recording FILE    reads a recording instead: STEM of STEM.chunks.txt and STEM.expected.json, or the JSON of recordFetch,
                      or a JSON list of frames
  --help              this text
  "..."               the question (default: one that needs two tools)
`;

/**
 * Reads the command line.
 *
 * @throws Error whose message says what is wrong with it.
 */
export function optionsFrom(args: readonly string[]): Options {
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
