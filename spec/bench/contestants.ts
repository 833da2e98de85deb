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
}

const peers = join(import.meta.dirname, 'peers');
const ours = (title: string, file: string, library: string): Contestant => ({
  title,
  module: join(compiled, 'client', `${file}.js`),
  library,
});
const peer = (title: string, file: string, library: string): Contestant => ({ title, module: join(peers, `${file}.mjs`), library });

/** The hand-written floor, which all ratios are against. */
export const floor = ours('floor', 'floor', 'openai');
/** The library itself. */
export const rivulet = ours('Rivulet', 'rivulet', 'openai');
/** The floor over Anthropic's wire. */
export const anthropicFloor = ours('floor', 'floor', 'anthropic');

/** What an import of the whole library is compared with: that of rxjs, which its users have anyway. Neither is run. */
export const imported: readonly Contestant[] = [
  { title: 'rxjs', module: 'rxjs', library: '' },
  { title: rivulet.title, module: join(out, 'lib/index.js'), library: '' },
];

/** Over OpenAI's wire. */
export const openaiPeers: readonly Contestant[] = [
  peer('OpenAI SDK, raw iterator', 'openaiSdk', 'iterator'),
  peer('OpenAI SDK, stream helper', 'openaiSdk', 'helper'),
  peer('TanStack AI', 'tanstack', 'openai'),
  peer('LangChain', 'langchain', 'openai'),
  peer('AI SDK', 'aiSdk', 'openai'),
];

/** Over Anthropic's wire. */
export const anthropicPeers: readonly Contestant[] = [
  ours('Rivulet', 'rivulet', 'anthropic'),
  peer('Anthropic SDK, raw iterator', 'anthropicSdk', 'iterator'),
  peer('AI SDK', 'aiSdk', 'anthropic'),
];

/** Partial objects over the wire: of typed output, or of a call's arguments. */
export const partialContestants = (of: 'output' | 'toolArguments'): readonly Contestant[] => [
  ours(floor.title, 'partialFloor', of),
  ours(rivulet.title, 'partialRivulet', of),
];

/** Those of the peers that have partial objects. */
export const partialPeers = (of: 'output' | 'toolArguments'): readonly Contestant[] => [
  peer('TanStack AI', 'tanstack', of),
  peer('LangChain', 'langchain', of),
  peer('AI SDK', 'aiSdk', of),
];

/** Partial objects in process. */
export const partialInProcess: readonly Contestant[] = [
  ours(floor.title, 'partialInProcess', 'floor'),
  ours(`${rivulet.title}, output`, 'partialInProcess', 'output'),
  ours(`${rivulet.title}, arguments`, 'partialInProcess', 'toolArguments'),
];

/** Whether the peers have been installed: `npm ci --prefix spec/bench/peers`. */
export const peersInstalled = (): boolean => existsSync(join(peers, 'node_modules'));
