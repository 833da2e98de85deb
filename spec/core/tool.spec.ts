/* eslint-disable @typescript-eslint/no-unused-vars -- only the types of the tools are tested */
import { describe, expect, it } from '@jest/globals';
import { concat, of } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { ToolCallEvent } from '../../lib/core/event.js';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';
import { progress } from '../../lib/core/progress.js';
import type { Progress } from '../../lib/core/progress.js';
import { tool } from '../../lib/core/tool.js';
import type { EventsOf, Tool } from '../../lib/core/tool.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { scriptedModel } from '../../lib/testing/index.js';

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- identical types, not only assignable ones
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only if the types are the same. */
const sameType = <A, B>(equal: Equal<A, B>) => expect(equal).toBe(true);

type ResultOf<T extends Tool> = Exclude<Extract<EventsOf<T>, { type: 'toolResult' }>['result'], undefined>;
type ProgressOf<T extends Tool> = Extract<EventsOf<T>, { type: 'toolProgress' }>['value'];

const description = '';
interface Row {
  readonly id: number;
  readonly name?: string;
}

describe('the types of a tool', () => {
  it('a result has the type of its copy as JSON', () => {
    const date = tool({ name: 'date', description, execute: () => new Date(0) });
    sameType<ResultOf<typeof date>, string>(true);
    const nothing = tool({ name: 'nothing', description, execute: () => undefined });
    sameType<ResultOf<typeof nothing>, null>(true);
    const effect = tool({ name: 'effect', description, execute: (): void => undefined });
    sameType<ResultOf<typeof effect>, null>(true);
    const rows = tool({ name: 'rows', description, execute: async (): Promise<Row[]> => [] });
    const [row] = [] as ResultOf<typeof rows>;
    sameType<typeof row, ({ readonly id: number } & { readonly name?: string }) | undefined>(true);
    const nested = tool({ name: 'nested', description, execute: () => ({ at: new Date(0), n: 1 }) });
    const { at, n } = { at: '', n: 1 } satisfies ResultOf<typeof nested>;
    expect([at, n]).toEqual(['', 1]);
    const any = tool({ name: 'any', description, execute: (): unknown => 1 });
    sameType<ResultOf<typeof any>, JsonValue>(true);
  });

  it('a Promise is resolved, even to an Observable', () => {
    const promised = tool({ name: 'promised', description, execute: async () => of(1) });
    sameType<ResultOf<typeof promised>, number>(true);
    sameType<ProgressOf<typeof promised>, number>(true);
    const either = tool({ name: 'either', description, execute: ({ a }) => (a ? of(1) : 'none') });
    sameType<ResultOf<typeof either>, number | 'none'>(true);
  });

  it('marked values have a separate type, and unmarked values are progress or the result', () => {
    const marked = tool({ name: 'm', description, execute: () => concat(of(progress({ percent: 1 })), of('done')) });
    sameType<ResultOf<typeof marked>, string>(true);
    sameType<ProgressOf<typeof marked>, { percent: number } | string>(true);
    const only = tool({ name: 'o', description, execute: (): Observable<Progress<number>> => of(progress(1)) });
    sameType<ResultOf<typeof only>, null>(true);
    sameType<ProgressOf<typeof only>, number>(true);
  });

  it('the yields and the return value of a generator have separate types', () => {
    const steps = tool({
      name: 'steps',
      description,
      execute: async function* () {
        yield { percent: 50 };
        return 'done';
      },
    });
    sameType<ResultOf<typeof steps>, string>(true);
    sameType<ProgressOf<typeof steps>, { percent: number }>(true);
    const yields = tool({
      name: 'yields',
      description,
      execute: function* () {
        yield 1;
        yield progress('marked');
      },
    });
    sameType<ResultOf<typeof yields>, 1>(true);
    sameType<ProgressOf<typeof yields>, 1 | string>(true);
  });

  it('a progress schema types context.progress and its events', () => {
    const typed = tool({
      name: 'typed',
      description,
      progress: z.object({ percent: z.number() }),
      execute: (_, context) => {
        context.progress({ percent: 1 });
        // @ts-expect-error -- `percent` is a number
        context.progress({ percent: '1' });
        return 'done';
      },
    });
    sameType<ResultOf<typeof typed>, string>(true);
    sameType<ProgressOf<typeof typed>, { percent: number }>(true);
    const untyped = tool({ name: 'untyped', description, execute: () => 1 });
    sameType<ProgressOf<typeof untyped>, JsonValue>(true);
  });

  it('toolCall and toolStart have the arguments that the model sends, by the name of the tool', () => {
    const forecast = tool({
      name: 'forecast',
      description,
      parameters: z.object({ city: z.string(), days: z.number().default(3) }),
      execute: ({ days }, { call }) => {
        sameType<typeof days, number>(true);
        sameType<typeof call.arguments, { city: string; days?: number | undefined }>(true);
        return 1;
      },
    });
    const plain = tool({ name: 'plain', description, execute: () => 1 });
    const tools = [forecast, plain] as const;
    const read = (event: EventsOf<(typeof tools)[number]>) => {
      if (event.type !== 'toolCall' && event.type !== 'toolStart') return;
      if (event.name === 'plain') sameType<typeof event.arguments, JsonObject>(true);
      else sameType<typeof event.arguments, { city: string; days?: number | undefined }>(true);
    };
    read({ type: 'toolCall', id: '', name: 'forecast', arguments: { city: 'Oslo' } });
    createAgent({ model: scriptedModel(['Hi']), tools })
      .stream('?')
      .subscribe((event) => {
        if (event.type === 'toolCall' && event.name === 'forecast') sameType<typeof event.arguments.city, string>(true);
      });
    const operator: OperatorFunction<Chunk | ToolCallEvent, unknown> = executeTools(tools);
    expect(operator).toBeDefined();
    sameType<Extract<EventsOf<Tool>, { type: 'toolCall' }>, ToolCallEvent>(true);
  });

  it('a list of different tools is a list of tools', () => {
    const date = tool({ name: 'date', description, execute: () => new Date(0) });
    const typed = tool({
      name: 'typed',
      description,
      parameters: z.object({ n: z.number() }),
      progress: z.object({ percent: z.number() }),
      execute: ({ n }) => of(n),
    });
    const tools: readonly Tool[] = [date, typed];
    expect(tools).toHaveLength(2);
  });
});
