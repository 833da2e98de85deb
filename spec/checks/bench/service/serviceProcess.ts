import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  asapScheduler,
  asyncScheduler,
  concat,
  concatMap,
  delay,
  from,
  map,
  NEVER,
  of,
  range,
  subscribeOn,
} from 'rxjs';
import type { Observable } from 'rxjs';
import type * as agents from '../../../../lib/index.js';
import type { Chunk } from '../../../../lib/core/chunk.js';
import { messageText } from '../../../../lib/core/message.js';
import type { Message } from '../../../../lib/core/message.js';
import type * as services from '../../../../lib/service/index.js';
import type * as testing from '../../../../lib/testing/index.js';

// A service of `npm run bench:service`. Its argument is the folder of the build that it uses.

/** The prompt of a run: what its model emits. */
export interface Script {
  readonly deltas: number;
  /** Whether it calls a tool first. */
  readonly tool?: boolean;
  /** Whether it does not end. */
  readonly open?: boolean;
}
/** What the process has used. */
export interface Used {
  readonly cpu: number;
  readonly heap: number;
}

const [root = '.'] = process.argv.slice(2);
const { exports: entries } = createRequire(join(root, 'package.json'))('./package.json') as {
  readonly exports: Readonly<Record<string, { readonly import: { readonly default: string } }>>;
};
const load = async (name: string): Promise<object> => {
  const file = entries[name]?.import.default;
  return file === undefined ? {} : ((await import(pathToFileURL(join(root, file)).href)) as object);
};
/** An older build has the names of the service in its root. */
const library = Object.assign({}, ...(await Promise.all(['.', './service', './testing'].map(load)))) as typeof agents &
  typeof services &
  typeof testing;

/** Ten deltas arrive at once, as a network read has them. */
const DELTAS_AT_ONCE = 10;
const model = library.scriptedModel(
  ({ messages }: { readonly messages: readonly Message[] }): Observable<Chunk> => {
    const [prompt] = messages;
    const { deltas, tool, open } = JSON.parse(prompt ? messageText(prompt) : '{}') as Script;
    const texts = range(0, deltas / DELTAS_AT_ONCE).pipe(
      concatMap((n) =>
        of(n).pipe(
          delay(0, asyncScheduler),
          concatMap(() => range(0, DELTAS_AT_ONCE)),
        ),
      ),
      map((): Chunk => ({ type: 'text', text: 'two words ' })),
    );
    const isCall = tool === true && messages.length === 1;
    const call = isCall
      ? from(toolCall)
      : of<Chunk>({ type: 'finish', reason: 'stop', usage: { input: 5, output: 5 } });
    return concat(texts, open ? NEVER : call);
  },
  { keep: 0 },
);
const toolCall: readonly Chunk[] = [
  { type: 'toolCallFragment', index: 0, id: 'call', name: 'look', arguments: '{}' },
  { type: 'finish', reason: 'toolCalls' },
];
const look = library.tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
const agent = library.createAgent({ model, tools: [look] });

/** A store and a log that answer later, as those of a database. */
const later = <T extends object>(port: T): T =>
  new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function' || key === 'read' || key === 'messages') return member;
      return (...given: unknown[]) =>
        (member.apply(target, given) as Observable<unknown>).pipe(subscribeOn(asapScheduler));
    },
  });

const inMemory = library.agentHandler(agent, { keep: 600_000 });
const stored = library.agentHandler(agent, {
  ...{ store: later(library.memoryStore()), log: later(library.memoryLog()), checkpoints: true, keep: 600_000 },
});
const server = createServer(
  library.nodeListener((request) =>
    new URL(request.url).pathname === '/stored' ? stored(request) : inMemory(request),
  ),
);
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  globalThis.gc?.();
  process.send?.({ cpu: user + system, heap: process.memoryUsage().heapUsed } satisfies Used);
});
process.once('disconnect', () => process.exit());
