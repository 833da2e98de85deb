import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { firstValueFrom, timer } from 'rxjs';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import type { RecordQuery } from '../../../lib/service/ports/recordStore.js';
import type { RunRecord, StoredRun } from '../../../lib/service/ports/runStore.js';
import { createRandom } from '../attack/family.js';

/**
 * What may happen to a write: PostgreSQL refuses it (its disk is full, the statement was cancelled, a conflict), or the
 * connection breaks before or after it is done, or nothing answers for 20 s.
 */
const faults = ['53100', '57014', '40001', 'reset', 'lost', 'silence'] as const;
type Fault = (typeof faults)[number];

/** Longer than a call of a store may take: the service repeats it. */
const SILENCE = 20_000;

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
 * notes which calls are executed, and which results it has. Of its writes, one in `faultRate` has a fault (0: none).
 *
 * When the connection of an instance closes, its leases end, so that a check does not wait 30 seconds for each crash.
 */
export async function startStore(seed: number, faultRate = 0) {
  const random = createRandom(seed);
  const faultCounts = new Map<Fault, number>();
  let areFaultsOver = false;
  /** The fault of a write: one in `faultRate`; silence is the rarest, since it is long. */
  const nextFault = (method: StoreRequest['method']): Fault | undefined => {
    if (areFaultsOver || faultRate === 0 || method !== 'put' || random.integer(faultRate) > 0) return undefined;
    const fault = faults[random.integer(random.integer(8) === 0 ? faults.length : faults.length - 1)] ?? 'reset';
    faultCounts.set(fault, (faultCounts.get(fault) ?? 0) + 1);
    return fault;
  };
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
      const reply = async () => {
        await pause();
        const fault = nextFault(request.method);
        const isDone = fault === undefined || fault === 'lost';
        const value = isDone ? await answer(socket, request) : undefined;
        await (fault === 'silence' ? firstValueFrom(timer(SILENCE)) : pause());
        if (!socket.destroyed) socket.write(`${JSON.stringify(fault ? { id, error: fault } : { id, value })}\n`);
      };
      void reply();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    executions,
    violations,
    faultCounts,
    /** From now on, every write is done. */
    endFaults: () => void (areFaultsOver = true),
    close: () => server.close(),
  };
}
