import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { firstValueFrom, timer } from 'rxjs';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import type { RecordQuery } from '../../../lib/service/ports/recordStore.js';
import type { RunRecord, StoredRun } from '../../../lib/service/ports/runStore.js';
import { createRandom } from '../attack/family.js';

/** A request of an instance. */
export type StoreRequest =
  | { readonly method: 'get'; readonly args: readonly [id: string] }
  | { readonly method: 'put'; readonly args: readonly [record: RunRecord, version: number] }
  | { readonly method: 'delete'; readonly args: readonly [id: string, version: number] }
  | { readonly method: 'list'; readonly args: readonly [query: RecordQuery] }
  /** A tool begins to be executed. */
  | { readonly method: 'executed'; readonly args: readonly [tool: string, call: string] }
  /** The instance has seen what must not be. */
  | { readonly method: 'violation'; readonly args: readonly [text: string] };

/**
 * One store for all instances, behind a socket: it receives and answers each request after 1 to 16 ms, in any order. It
 * notes which calls are executed, and which results it has.
 *
 * When the connection of an instance closes, its leases end, so that a check does not wait 30 seconds for each crash.
 */
export async function startStore(seed: number) {
  const random = createRandom(seed);
  const store = memoryStore();
  /** The connection that has written the record last. */
  const writers = new Map<string, Socket>();
  const executions = new Map<string, number>();
  const storedResults = new Set<string>();
  const violations: string[] = [];
  const pause = () => firstValueFrom(timer(1 + random.integer(16)));

  const noteResults = ({ checkpoint, result }: RunRecord) => {
    const messages = [...(checkpoint?.state.messages ?? []), ...(result?.messages ?? [])];
    const parts = messages.flatMap((message) => message.parts);
    for (const part of [...parts, ...(checkpoint?.open?.results ?? [])])
      if (part.type === 'toolResult') storedResults.add(part.id);
  };
  const noteExecution = (tool: string, call: string) => {
    const count = (executions.get(call) ?? 0) + 1;
    executions.set(call, count);
    if (tool === 'pay' && count > 1) violations.push(`the approved call ${call} was executed ${count} times`);
  };
  /** Called when a request arrives: a late one of an instance that was killed may be answered after the next result. */
  const checkExecution = (request: StoreRequest) => {
    if (request.method !== 'executed') return;
    const [, call] = request.args;
    if (storedResults.has(call)) violations.push(`the call ${call} was executed again, and its result was stored`);
  };
  const withLease = (stored: StoredRun | undefined): StoredRun | undefined => {
    const writer = stored && writers.get(stored.record.id);
    return stored && writer?.destroyed ? { ...stored, record: { ...stored.record, executor: undefined } } : stored;
  };
  const answer = async (socket: Socket, request: StoreRequest): Promise<unknown> => {
    switch (request.method) {
      case 'get':
        return withLease(await firstValueFrom(store.get(...request.args)));
      case 'put': {
        const isDone = await firstValueFrom(store.put(...request.args));
        const [record] = request.args;
        if (isDone) writers.set(record.id, socket);
        if (isDone) noteResults(record);
        return isDone;
      }
      case 'delete':
        return firstValueFrom(store.delete(...request.args));
      case 'list':
        return firstValueFrom(store.list(...request.args));
      case 'executed':
        noteExecution(...request.args);
        return undefined;
      case 'violation':
        return violations.push(...request.args);
    }
  };
  const server = createServer((socket) => {
    const lines = createInterface({ input: socket });
    lines.on('error', () => socket.destroy()); // the instance was killed
    lines.on('line', (line) => {
      const { id, ...request } = JSON.parse(line) as StoreRequest & { readonly id: number };
      checkExecution(request);
      void pause()
        .then(() => answer(socket, request))
        .then(async (value) => {
          await pause();
          if (!socket.destroyed) socket.write(`${JSON.stringify({ id, value })}\n`);
        });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    executions,
    violations,
    close: () => server.close(),
  };
}
