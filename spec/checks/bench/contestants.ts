import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { compiled, out } from './build.js';
import type { Api } from './wire.js';

/** A version of Node that runs contestants. */
interface Node {
  readonly version: string;
  /** The path of its executable. */
  readonly program: string;
}

/** A library that is measured. */
export interface Contestant {
  /** The name in the tables. */
  readonly title: string;
  readonly node: Node;
  /** The module of the function. */
  readonly module: string;
  /** The name of the exported function. */
  readonly library: string;
  /** The floor on the same Node, the base of its ratios. A floor has none. */
  readonly base?: Contestant;
  /** Whether it is one of the other libraries. */
  readonly peer?: true;
}

const peers = join(import.meta.dirname, 'peers');

/** Whether the peers are installed: `npm ci --prefix spec/checks/bench/peers`. */
export const peersInstalled = (): boolean => existsSync(join(peers, 'node_modules'));

/** The Node that runs the benchmark. */
const thisNode: Node = { version: process.version, program: process.execPath };

/** The Node of the peers, which require a newer one than Rivulet: their folder installs it. */
function nodeOfPeers(): Node {
  const program = join(peers, 'node_modules/.bin/node');
  return { version: execFileSync(program, ['--version'], { encoding: 'utf8' }).trim(), program };
}

const newer = peersInstalled() ? nodeOfPeers() : undefined;
/** The versions of Node on which Rivulet is measured. The last is that of the peers. */
export const nodes: readonly Node[] = newer && newer.version !== thisNode.version ? [thisNode, newer] : [thisNode];
const main = nodes.at(-1) ?? thisNode;
const majorOf = ({ version }: Node) => /\d+/.exec(version)?.[0];

/** What is measured on a wire: complete runs, or the partial objects of a typed output or of a call's arguments. */
export type Job = '' | 'PartialOutput' | 'PartialArguments';

const compiledClient = (file: string) => join(compiled, 'client', `${file}.js`);

/** The floor and Rivulet on a Node. */
function pairOn(node: Node, library: string, suffix = ''): readonly [floor: Contestant, rivulet: Contestant] {
  const floor = { title: `floor${suffix}`, node, module: compiledClient('floor'), library };
  return [floor, { title: `Rivulet${suffix}`, node, module: compiledClient('rivulet'), library, base: floor }];
}

/** The floor and Rivulet on the Node that runs the benchmark. */
export const baseContestants = (wire: Api, job: Job = '') => pairOn(thisNode, `${wire}${job}`);

const peer = (title: string, file: string, library: string): Contestant => ({
  title,
  node: main,
  module: join(peers, `${file}.mjs`),
  library,
  peer: true,
});

/** The other libraries, each used as its documentation shows: complete runs. */
const completeRuns: Readonly<Record<Api, readonly Contestant[]>> = {
  openai: [
    peer('OpenAI SDK, raw iterator', 'openaiSdk', 'iterator'),
    peer('OpenAI SDK, stream helper', 'openaiSdk', 'helper'),
    peer('TanStack AI', 'tanstackOpenai', 'library'),
    peer('LangChain', 'langchainOpenai', 'library'),
    peer('AI SDK', 'aiSdkOpenai', 'library'),
    peer('OpenAI Agents', 'openaiAgents', 'library'),
  ],
  anthropic: [
    peer('Anthropic SDK, raw iterator', 'anthropicSdk', 'iterator'),
    peer('Anthropic SDK, stream helper', 'anthropicSdk', 'helper'),
    peer('TanStack AI', 'tanstackAnthropic', 'library'),
    peer('LangChain', 'langchainAnthropic', 'library'),
    peer('AI SDK', 'aiSdkAnthropic', 'library'),
  ],
  google: [peer('Google Gen AI SDK, raw iterator', 'googleSdk', 'iterator'), peer('AI SDK', 'aiSdkGoogle', 'library')],
};

/** The peers that support partial objects. */
const partialPeers = (library: string): readonly Contestant[] => [
  peer('TanStack AI', 'tanstackPartial', library),
  peer('LangChain', 'langchainPartial', library),
  peer('AI SDK', 'aiSdkPartial', library),
];

/** The floor and Rivulet on each Node, and the peers if they are installed. */
export function contestants(wire: Api, job: Job = ''): readonly Contestant[] {
  const library = `${wire}${job}`;
  const [base, rivulet] = pairOn(main, library);
  const others = nodes.filter((node) => node !== main);
  const installed = !peersInstalled() ? [] : job === '' ? completeRuns[wire] : partialPeers(library);
  return [
    base,
    rivulet,
    ...others.flatMap((node) => pairOn(node, library, `, Node ${majorOf(node)}`)),
    ...installed.map((one) => ({ ...one, base })),
  ];
}

const own = (title: string, module: string, library: string, base?: Contestant): Contestant => ({
  title,
  node: thisNode,
  module,
  library,
  ...(base ? { base } : {}),
});

const rxjs = own('rxjs', 'rxjs', '');
/** The import of the complete library, and its base: the import of rxjs, which users have anyway. Neither is run. */
export const imported: readonly Contestant[] = [rxjs, own('Rivulet', join(out, 'lib/index.js'), '', rxjs)];

const inProcess = compiledClient('partialInProcess');
const parserByHand = own('floor', inProcess, 'floor');

/** The contestants for partial objects in process. */
export const partialInProcess: readonly Contestant[] = [
  parserByHand,
  own('Rivulet, output', inProcess, 'output', parserByHand),
  own('Rivulet, arguments', inProcess, 'toolArguments', parserByHand),
];

const recordedClient = compiledClient('recorded');
const plainAgent = own('floor', recordedClient, 'plain');
const onAgent = (title: string, library: string) => own(title, recordedClient, library, plainAgent);

/** An agent by itself, which is the floor, and what records or observes its runs. */
export const recordedAgents = {
  floor: plainAgent,
  recordRun: onAgent('recordRun', 'recorded'),
  inspectRuns: onAgent('inspectRuns, and nobody looks', 'inspected'),
  observeRun: onAgent('observeRun with an empty observer', 'observed'),
} as const;
