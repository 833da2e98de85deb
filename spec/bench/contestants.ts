import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { compiled, out } from './build.js';

/** A library that is measured. */
export interface Contestant {
  /** The name in the tables. */
  readonly title: string;
  /** The module of the function. */
  readonly module: string;
  /** The name of the exported function. */
  readonly library: string;
  /** The library is so much slower that three rounds with few runs suffice, which saves an hour. */
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

/** The base of all ratios. */
export const floor = ours('floor', 'floor', 'openai');
/** The library itself. */
export const rivulet = ours('Rivulet', 'rivulet', 'openai');

/** The import of the complete library, and its base: the import of rxjs, which users have anyway. Neither is run. */
export const imported: readonly Contestant[] = [
  { title: 'rxjs', module: 'rxjs', library: '' },
  { title: rivulet.title, module: join(out, 'lib/index.js'), library: '' },
];

/** The APIs of the benchmark. */
export type Wire = 'openai' | 'anthropic';

/** The floor and Rivulet for each wire. */
export const baseContestants: Readonly<Record<Wire, readonly Contestant[]>> = {
  openai: [floor, rivulet],
  anthropic: [ours(floor.title, 'floor', 'anthropic'), ours(rivulet.title, 'rivulet', 'anthropic')],
};

/** The other libraries, each used as its documentation shows. */
export const peerContestants: Readonly<Record<Wire, readonly Contestant[]>> = {
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

/** The contestants for partial objects over the wire: of typed output, or of a call's arguments. */
export const partialContestants = (of: 'output' | 'toolArguments'): readonly Contestant[] => [
  ours(floor.title, 'partialFloor', of),
  ours(rivulet.title, 'partialRivulet', of),
];

/** The floor, Rivulet, and the peers that support partial objects. */
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

/** The contestants for partial objects in process. */
export const partialInProcess: readonly Contestant[] = [
  ours(floor.title, 'partialInProcess', 'floor'),
  ours(`${rivulet.title}, output`, 'partialInProcess', 'output'),
  ours(`${rivulet.title}, arguments`, 'partialInProcess', 'toolArguments'),
];

/** Whether the peers are installed: `npm ci --prefix spec/bench/peers`. */
export const peersInstalled = (): boolean => existsSync(join(peers, 'node_modules'));
