import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { compiled, out } from './build.js';

/** A library that takes part. */
export interface Contestant {
  /** As the table calls it. */
  readonly title: string;
  /** The module with the function below. */
  readonly module: string;
  /** The function. */
  readonly library: string;
  /** So far from the others that three rounds with few runs tell all there is to know, and save an hour. */
  readonly slow?: true;
}

const peers = join(import.meta.dirname, 'peers');
const ours = (title: string, file: string, library: string): Contestant => ({
  title,
  module: join(compiled, 'client', `${file}.js`),
  library,
});
const sdk = (title: string, file: string, library: string): Contestant => ({
  title,
  module: join(peers, `${file}.mjs`),
  library,
});
const framework = (title: string, file: string): Contestant => ({ ...sdk(title, file, 'library'), slow: true });

/** What all ratios are against. */
export const floor = ours('floor', 'floor', 'openai');
/** The library itself. */
export const rivulet = ours('Rivulet', 'rivulet', 'openai');

/** What an import of the whole library is compared with: that of rxjs, which its users have anyway. Neither is run. */
export const imported: readonly Contestant[] = [
  { title: 'rxjs', module: 'rxjs', library: '' },
  { title: rivulet.title, module: join(out, 'lib/index.js'), library: '' },
];

/** The wires of the benchmark. */
export type Wire = 'openai' | 'anthropic';

/** The floor and Rivulet over each wire. */
export const own: Readonly<Record<Wire, readonly Contestant[]>> = {
  openai: [floor, rivulet],
  anthropic: [ours(floor.title, 'floor', 'anthropic'), ours(rivulet.title, 'rivulet', 'anthropic')],
};

/** The others, each used as its documentation says. */
export const others: Readonly<Record<Wire, readonly Contestant[]>> = {
  openai: [
    sdk('OpenAI SDK, raw iterator', 'openaiSdk', 'iterator'),
    sdk('OpenAI SDK, stream helper', 'openaiSdk', 'helper'),
    framework('TanStack AI', 'tanstackOpenai'),
    framework('LangChain', 'langchainOpenai'),
    framework('AI SDK', 'aiSdkOpenai'),
  ],
  anthropic: [
    sdk('Anthropic SDK, raw iterator', 'anthropicSdk', 'iterator'),
    { ...sdk('Anthropic SDK, stream helper', 'anthropicSdk', 'helper'), slow: true },
    framework('TanStack AI', 'tanstackAnthropic'),
    framework('LangChain', 'langchainAnthropic'),
    framework('AI SDK', 'aiSdkAnthropic'),
  ],
};

/** Partial objects over the wire: of typed output, or of a call's arguments. */
export const partialContestants = (of: 'output' | 'toolArguments'): readonly Contestant[] => [
  ours(floor.title, 'partialFloor', of),
  ours(rivulet.title, 'partialRivulet', of),
];

/** The floor, Rivulet, and those of the peers that have partial objects. */
export const withPartialPeers = (of: 'output' | 'toolArguments'): readonly Contestant[] => [
  ...partialContestants(of),
  ...(peersInstalled()
    ? ([
        ['TanStack AI', 'tanstack'],
        ['LangChain', 'langchain'],
        ['AI SDK', 'aiSdk'],
      ] as const)
    : []
  ).map(([title, file]): Contestant => ({ ...sdk(title, `${file}Partial`, of), slow: true })),
];

/** Partial objects in process. */
export const partialInProcess: readonly Contestant[] = [
  ours(floor.title, 'partialInProcess', 'floor'),
  ours(`${rivulet.title}, output`, 'partialInProcess', 'output'),
  ours(`${rivulet.title}, arguments`, 'partialInProcess', 'toolArguments'),
];

/** Whether the peers have been installed: `npm ci --prefix spec/bench/peers`. */
export const peersInstalled = (): boolean => existsSync(join(peers, 'node_modules'));
