import { Observable, Subject, lastValueFrom } from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import type { StreamEvent } from '../../lib/core/event.js';
import { createPartialJson } from '../../lib/core/partialJson.js';
import { partialArguments } from '../../lib/operators/partialArguments.js';
import { partialOutput } from '../../lib/operators/partialOutput.js';
import { exponent, median } from './statistics.js';

/**
 * Partial objects against a parser written by hand, which keeps one growing object and gives no snapshots: the floor. In process, CPU time, median of
 * rounds in turn: `npx tsx spec/bench/partial.ts`.
 */
const sizes = { '64 KB': 65_536, '200 KB': 204_800, '1 MB': 1_048_576 };
const DELTA = 4;
const rounds = Number(process.argv[2] ?? 9);

function recordsOf(bytes: number): string {
  const records: object[] = [];
  for (let length = 0; length < bytes; length += JSON.stringify(records.at(-1)).length + 1) {
    const id = records.length;
    records.push({ id, name: `Record ${id}`, tags: ['alpha', 'beta'], price: id * 1.25, note: `A note, "${id}".\n` });
  }
  return JSON.stringify({ records });
}

const cut = (text: string): string[] => text.match(new RegExp(`[\\s\\S]{1,${DELTA}}`, 'g')) ?? [];

/** The floor: one loop over the characters, one growing object, nothing else. */
function floor(): { push(text: string): void; value(): unknown } {
  type Open = unknown[] | Record<string, unknown>;
  const stack: Open[] = [];
  const keys: string[] = [];
  let root: unknown;
  let key = '';
  let buffer = '';
  let state: 'value' | 'string' | 'escape' | 'unicode' | 'scalar' | 'after' = 'value';
  let expectsKey = false;
  let isKey = false;
  const put = (value: unknown) => {
    const top = stack.at(-1);
    if (Array.isArray(top)) top.push(value);
    else if (top) top[key] = value;
    else root = value;
  };
  const scalar = () => {
    put(buffer === 'true' ? true : buffer === 'false' ? false : buffer === 'null' ? null : Number(buffer));
    buffer = '';
  };
  return {
    value: () => root,
    push(text) {
      for (let at = 0; at < text.length; at++) {
        const char = text.charAt(at);
        if (state === 'string') {
          const from = at;
          while (at < text.length && text.charCodeAt(at) !== 34 && text.charCodeAt(at) !== 92) at++;
          if (at > from) buffer += text.slice(from, at);
          if (at === text.length) return;
          if (text.charCodeAt(at) === 92) state = 'escape';
          else {
            if (isKey) key = buffer;
            else put(buffer);
            buffer = '';
            state = 'after';
          }
          continue;
        }
        if (state === 'escape') {
          buffer += { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }[char] ?? char;
          state = 'string';
          continue;
        }
        if (state === 'scalar') {
          if (char !== ',' && char !== ']' && char !== '}') {
            buffer += char;
            continue;
          }
          scalar();
          state = 'after';
        }
        switch (char) {
          case '{':
          case '[': {
            const made: Open = char === '{' ? {} : [];
            put(made);
            stack.push(made);
            keys.push(key);
            expectsKey = char === '{';
            state = 'value';
            break;
          }
          case '}':
          case ']':
            stack.pop();
            key = keys.pop() ?? '';
            state = 'after';
            break;
          case ',':
            expectsKey = !Array.isArray(stack.at(-1));
            state = 'value';
            break;
          case ':':
            expectsKey = false;
            state = 'value';
            break;
          case '"':
            isKey = expectsKey;
            state = 'string';
            break;
          case ' ':
          case '\n':
            break;
          default:
            buffer = char;
            state = 'scalar';
        }
      }
    },
  };
}

const textOf = (text: string) => ({ type: 'text', text });
const pieceOf = (args: string) => ({ type: 'toolCallFragment', index: 0, id: 'c', name: 'f', arguments: args });

/** All deltas in one burst, as from one network read: one snapshot. */
const atOnce = async <T>(deltas: readonly string[], eventOf: (delta: string) => StreamEvent, operator: OperatorFunction<StreamEvent, T>) =>
  lastValueFrom(
    new Observable<StreamEvent>((out) => {
      for (const delta of deltas) out.next(eventOf(delta));
      out.complete();
    }).pipe(operator),
  );

/** Each delta a read of its own: as many snapshots as are due. */
async function oneByOne<T>(deltas: readonly string[], eventOf: (delta: string) => StreamEvent, operator: OperatorFunction<StreamEvent, T>) {
  const source = new Subject<StreamEvent>();
  const last = lastValueFrom(source.pipe(operator));
  for (const delta of deltas) {
    source.next(eventOf(delta));
    await Promise.resolve();
  }
  source.complete();
  return last;
}

type Run = (deltas: readonly string[]) => unknown;

const runs: Record<string, Run> = {
  floor(deltas) {
    const parser = floor();
    for (const delta of deltas) parser.push(delta);
    return parser.value();
  },
  parser(deltas) {
    const parser = createPartialJson();
    for (const delta of deltas) parser.push(delta);
    return parser.snapshot();
  },
  snapshots(deltas) {
    const parser = createPartialJson();
    for (const delta of deltas) {
      parser.push(delta);
      if (parser.isDue()) parser.snapshot();
    }
    return parser.snapshot();
  },
  'output, one read': (deltas) => atOnce(deltas, textOf, partialOutput<unknown>()),
  'arguments, one read': async (deltas) => (await atOnce(deltas, pieceOf, partialArguments())).arguments,
  async 'floor, a read each'(deltas) {
    const parser = floor();
    for (const delta of deltas) {
      parser.push(delta);
      await Promise.resolve();
    }
    return parser.value();
  },
  'output, a read each': (deltas) => oneByOne(deltas, textOf, partialOutput<unknown>()),
  'arguments, a read each': async (deltas) => (await oneByOne(deltas, pieceOf, partialArguments())).arguments,
};
const floorOf = (run: string) => (run.endsWith('a read each') ? 'floor, a read each' : 'floor');

const cpu = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

const texts = Object.entries(sizes).map(([name, bytes]) => ({ name, text: recordsOf(bytes) }));
const table: Record<string, Record<string, number>> = {};
for (const { name, text } of texts) {
  const deltas = cut(text);
  const times: Record<string, number[]> = {};
  for (let round = -2; round < rounds; round++) {
    for (const [run, work] of Object.entries(runs)) {
      let value: unknown;
      const time = await cpu(async () => (value = await work(deltas)));
      if (JSON.stringify(value) !== text) throw new Error(`${run} is wrong.`);
      if (round >= 0) (times[run] ??= []).push(time);
    }
  }
  table[name] = Object.fromEntries(Object.entries(times).map(([run, all]) => [run, median(all)]));
}
const report = Object.keys(runs).map((run) => ({
  run,
  ...Object.fromEntries(texts.map(({ name }) => [`${name} ms`, table[name]?.[run]?.toFixed(2)])),
  ...Object.fromEntries(
    texts.map(({ name }) => [`${name} ratio`, ((table[name]?.[run] ?? 0) / (table[name]?.[floorOf(run)] ?? 1)).toFixed(2)]),
  ),
  exponent: exponent(texts.map(({ name, text }) => [text.length, table[name]?.[run] ?? 0])).toFixed(2),
}));
console.table(report);
