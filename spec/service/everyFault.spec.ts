import { describe, expect, it } from '@jest/globals';
import { concat, defer, delay, dematerialize, ignoreElements, map, materialize, NEVER, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { agUiHandler } from '../../lib/agUi.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunRecord, RunStore } from '../../lib/service/ports/runStore.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { mapStore } from '../support/stores.js';
import { inVirtualTime } from '../support/virtualTime.js';

/**
 * Every call of a store or a log x every fault x every handler. Due in each row: every response ends, or breaks off so
 * that the page comes back to an end, which is the failure of a run only if it is lost; the only slot of the owner is free; the record is settled once the fault is over
 * and somebody reads it; a fault is reported once; and `shutdown` completes.
 */
/** Longer than a call is repeated, and shorter than a lease. */
const outage = 'fails, as all others do for 10 s';
const faults = [
  'fails once',
  'fails for ever',
  'hangs once',
  'is done once, but its answer is lost',
  'is late',
  outage,
] as const;
type Fault = (typeof faults)[number];

interface Point {
  readonly name: string;
  readonly port: 'store' | 'log';
  readonly method: string;
  readonly matches: (args: readonly unknown[]) => boolean;
}
const putPoint = (name: string, matches: (record: RunRecord, version: number) => boolean): Point => ({
  name: `store.put ${name}`,
  port: 'store',
  method: 'put',
  matches: ([record, version]) => matches(record as RunRecord, version as number),
});
const appendPoint = (name: string, matches: (types: readonly string[]) => boolean): Point => ({
  name: `log.append ${name}`,
  port: 'log',
  method: 'append',
  matches: ([, , events]) => matches((events as readonly { readonly type: string }[]).map(({ type }) => type)),
});
const anyCall = (port: 'store' | 'log', method: string): Point => ({
  name: `${port}.${method}`,
  port,
  method,
  matches: () => true,
});
const storePoints = [
  anyCall('store', 'get'),
  putPoint('at the start', ({ state, checkpoint }, version) => state === 'running' && version < 2 && !checkpoint),
  putPoint('at the end', ({ state }) => state !== 'running'),
];
const logPoints = [
  appendPoint('that opens', (types) => types.length === 0),
  appendPoint('of events', (types) => types.includes('text')),
  appendPoint('of the result', (types) => types.includes('result')),
  anyCall('log', 'end'),
  anyCall('log', 'messages'),
  anyCall('log', 'read'),
];
const checkpointPoint = putPoint('of a checkpoint', ({ state, checkpoint }) => state === 'running' && !!checkpoint);

interface Ports {
  readonly store: RunStore;
  readonly log: RunLog;
}

/** The ports, with a fault in the calls of one point until it is over. */
function withFault(ports: Ports, point: Point, fault: Fault) {
  const seen = { hits: 0, isOver: false, back: 0 };
  const original = ports[point.port] as unknown as Record<string, (...args: readonly unknown[]) => Observable<unknown>>;
  const broken = () => throwError(() => new Error('The fault of the row.'));
  const call =
    (method: string) =>
    (...args: readonly unknown[]) =>
      defer(() => {
        const work = original[method]?.(...args) ?? NEVER;
        if (Date.now() < seen.back) return broken();
        if (method !== point.method) return work;
        const isHit = !seen.isOver && (fault === 'fails for ever' || seen.hits === 0) && point.matches(args);
        if (!isHit) return work;
        seen.hits += 1;
        if (fault === outage) seen.back = Date.now() + 10_000;
        if (fault.startsWith('fails')) return broken();
        if (fault === 'hangs once') return NEVER;
        if (fault === 'is late') return work.pipe(materialize(), delay(5000), dematerialize());
        return concat(work.pipe(ignoreElements()), broken());
      });
  const calls = Object.keys(original).filter((name) => typeof original[name] === 'function');
  const faulty = Object.fromEntries(calls.map((name) => [name, call(name)]));
  return { ports: { ...ports, [point.port]: { ...original, ...faulty } }, seen };
}

const look = (needsApproval: boolean) =>
  tool({ name: 'look', description: 'Looks.', needsApproval, execute: () => timer(2000).pipe(map(() => 'ok')) });
const agentOf = (needsApproval: boolean) =>
  createAgent({
    tools: [look(needsApproval)],
    model: scriptedModel(({ messages }) =>
      messages.at(-1)?.parts.some(({ type }) => type === 'toolResult')
        ? ['All ', { delay: 3000 }, 'done.']
        : ['I look. ', { delay: 3000 }, toolCall('look', {}, 'c1')],
    ),
  });

type Handler = ((request: Request) => Promise<Response>) & { readonly shutdown?: () => Observable<never> };
type Options = Ports & {
  readonly onError: (thrown: unknown) => void;
  readonly limits: { readonly maxRunsPerOwner: number };
};
interface Front {
  readonly points: readonly Point[];
  readonly create: (options: Options) => Handler;
  /** The request that starts a run with a key, and the one of a page that comes back. */
  readonly start: (key: string) => Request;
  readonly join: ((key: string) => Request) | undefined;
  readonly ends: RegExp;
  /** Whether a run is lost when its log rejects its events. */
  readonly loses?: boolean;
}
const post = (body: unknown, headers: Record<string, string> = {}) =>
  new Request('http://service.test/', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const ownFront = (checkpoints: boolean): Front => ({
  points: [...storePoints, ...(checkpoints ? [checkpointPoint] : []), ...logPoints],
  create: (options) => agentHandler(agentOf(false), { ...options, checkpoints }),
  start: (key) => post({ input: 'Hi' }, { 'x-run-id': key }),
  join: (key) => post({}, { 'x-run-id': key }),
  ends: /^event: end$/m,
  loses: !checkpoints,
});
const user = { id: 'm1', role: 'user', content: 'Hi', parts: [{ type: 'text', text: 'Hi' }] };
const fronts: Readonly<Record<string, Front>> = {
  'agentHandler without checkpoints': ownFront(false),
  'agentHandler with checkpoints': ownFront(true),
  agUiHandler: {
    points: storePoints,
    create: (options) => agUiHandler(() => agentOf(true), options),
    start: (threadId) =>
      post({ threadId, runId: 'r', messages: [user], state: {}, tools: [], context: [], forwardedProps: {} }),
    join: undefined,
    ends: /"(RUN_FINISHED|RUN_ERROR)"/,
  },
  uiChatHandler: {
    points: storePoints,
    create: (options) => uiChatHandler(agentOf(false), options),
    start: (id) => post({ id, messages: [user] }),
    join: (key) => new Request(`http://service.test/api/chat/${key}/stream`),
    ends: /\[DONE\]/,
  },
};

const after = <T>(milliseconds: number, value: T) =>
  new Promise<T>((resolve) => setTimeout(() => resolve(value), milliseconds));

/** What a page has seen in the end: it asks again after a 503, and joins after a response that breaks off. */
async function visit(handler: Handler, front: Front, first: Request, key: string): Promise<string> {
  let request = first;
  for (let tries = 0; tries < 8; tries += 1) {
    const response = await Promise.race([handler(request.clone()), after(45_000, undefined)]);
    if (!response) return 'no response';
    const text = await Promise.race([response.text(), after(60_000, undefined)]);
    if (text === undefined) return 'a response without an end';
    if (response.status === 204) return 'gone';
    if (response.status === 200 && /^event: failed$/m.test(text)) return 'failed';
    if (response.status === 200 && front.ends.test(text)) return 'end';
    if (response.status !== 200 && response.status !== 503) return `status ${response.status}`;
    if (response.status === 200 && front.join) request = front.join(key);
    await after(2000, undefined);
  }
  return 'no end';
}

const isIn = (values: readonly string[], value: string | undefined) => value !== undefined && values.includes(value);

/** A stream that is silent may be one of a quiet run. */
const isQuiet = ({ method }: Point, fault: Fault) => isIn(['read', 'messages'], method) && fault === 'hangs once';

async function walk(front: Front, point: Point, fault: Fault): Promise<readonly string[]> {
  const store = mapStore();
  const { ports, seen } = withFault({ store, log: { ...memoryLog(), isShared: true } }, point, fault);
  const errors: unknown[] = [];
  const handler = front.create({ ...ports, onError: (thrown) => errors.push(thrown), limits: { maxRunsPerOwner: 1 } });
  const key = crypto.randomUUID();
  const first = visit(handler, front, front.start(key), key);
  await after(1500, undefined);
  const second = front.join && point.method !== 'get' ? visit(handler, front, front.join(key), key) : undefined;
  const outcome = [await first, await second];
  const reports = errors.length;
  seen.isOver = true;
  outcome.push(await visit(handler, front, (front.join ?? front.start)(key), key));
  const next = await Promise.race([handler(front.start(crypto.randomUUID())), after(5000, undefined)]);
  await after(60_000, undefined);
  const ended = handler.shutdown?.();
  const shutdown = ended && new Promise<string>((resolve) => ended.subscribe({ complete: () => resolve('complete') }));
  const shut = await Promise.race([shutdown ?? 'complete', after(60_000, 'hangs')]);
  // Without checkpoints; and a run that was refused is not there for the page that joins it.
  const isLost =
    point.port === 'store'
      ? fault === 'fails for ever' || (fault === outage && point.name === 'store.put at the start')
      : front.loses === true && (fault === outage || point.method === 'append');
  const expected = ['end', 'gone', ...(fault === 'fails for ever' ? ['no end'] : []), ...(isLost ? ['failed'] : [])];
  const states = [...store.records.values()].map(({ record }) => record.state);
  return [
    ...outcome.filter((each) => each !== undefined && !isIn(expected, each)).map((each) => `a page has ${each}`),
    ...(next?.status === 200 ? [] : [`the slot: ${next?.status}`]),
    ...(states.includes('running') ? ['a record is running'] : []),
    ...(fault !== 'is late' && !isQuiet(point, fault) && seen.hits > 0 && reports === 0 ? ['nothing is reported'] : []),
    ...(fault !== 'fails for ever' && fault !== outage && reports > 1 ? [`reported ${reports} times`] : []),
    ...(shut === 'complete' ? [] : ['shutdown hangs']),
  ];
}

describe('every call of a port x every fault', () => {
  it.each(Object.entries(fronts))('%s ends every run once', async (_, front) => {
    const rows = front.points.flatMap((point) => faults.map((fault) => ({ point, fault })));
    const walked = await inVirtualTime(() =>
      Promise.all(
        rows
          .filter(({ point, fault }) => point.method !== 'read' || !isQuiet(point, fault))
          .map(async ({ point, fault }) => [`${point.name} ${fault}`, await walk(front, point, fault)] as const),
      ),
    );
    expect(walked.filter(([, wrong]) => wrong.length > 0)).toEqual([]);
  });
});
