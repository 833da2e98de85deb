import { beforeAll, describe, expect, it } from '@jest/globals';
import { ESLint } from 'eslint';

// Bad code is linted in the place of a file that exists: rules with type information know no others.
const eslint = new ESLint({ cwd: process.cwd() });

async function rulesBrokenBy(code: string, filePath: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath });
  return [...new Set(result?.messages.map(({ ruleId, message }) => ruleId ?? message))];
}

interface Case {
  readonly what: string;
  readonly rule: string;
  readonly code: string;
  /** Where it is bad. */
  readonly bad: string;
  /** Where the same code is good. */
  readonly good?: string;
}

const operator = 'lib/operators/prefixAfterTools.ts';
const withObservable = "import { of } from 'rxjs';\nimport type { Observable } from 'rxjs';\n";

const oneWay: Case[] = [
  {
    what: 'an operator that knows a provider',
    code: "export { openai } from '../providers/openai.js';",
    bad: operator,
    good: 'lib/providers/httpModel.ts',
  },
  {
    what: 'an operator that knows the protocol',
    code: "import type { Wire } from '../protocol/wire.js';\nexport type W = Wire;",
    bad: operator,
    good: 'lib/providers/openai.ts',
  },
  {
    what: 'core that imports the protocol',
    code: "export { postStream } from '../protocol/post.js';",
    bad: 'lib/core/usage.ts',
    good: 'lib/providers/openai.ts',
  },
  {
    what: 'a provider that knows an operator',
    code: "export { consolidate } from '../operators/consolidate.js';",
    bad: 'lib/providers/openai.ts',
    good: 'lib/orchestrators/toolLoop.ts',
  },
  {
    what: 'a provider in a folder that knows an operator',
    code: "export { consolidate } from '../../operators/consolidate.js';",
    bad: 'lib/providers/chatCompletions/decode.ts',
  },
  {
    what: 'the protocol that knows a provider',
    code: "export { openai } from '../providers/openai.js';",
    bad: 'lib/protocol/post.ts',
  },
  {
    what: 'a provider that knows the registry, and with it all others',
    code: "export { modelByName } from '../registry/index.js';",
    bad: 'lib/providers/openai.ts',
  },
  {
    what: 'a public surface that bundles the registry, and with it all providers',
    code: "export { modelByName } from './registry/index.js';",
    bad: 'lib/index.ts',
  },
  {
    what: 'an operator that knows an orchestrator',
    code: "export { toolLoop } from '../orchestrators/toolLoop.js';",
    bad: operator,
  },
  {
    what: 'an orchestrator that knows the agent',
    code: "export { createAgent } from '../agent.js';",
    bad: 'lib/orchestrators/toolLoop.ts',
  },
  {
    what: 'an agent that bundles a provider',
    code: "export { openai } from './providers/openai.js';",
    bad: 'lib/agent.ts',
    good: 'lib/index.ts',
  },
  {
    what: 'an import at run time against the way',
    code: "export const late = () => import('../providers/openai.js');",
    bad: operator,
  },
  {
    what: 'a type named in place against the way',
    code: "export type W = import('../protocol/wire.js').Wire;",
    bad: 'lib/core/usage.ts',
  },
  {
    what: 'a room that imports the public surface',
    code: "export { createAgent } from '../index.js';",
    bad: operator,
  },
  {
    what: 'the library by its own name',
    code: "export { createAgent } from 'rivulet';",
    bad: operator,
    good: 'spec/index.spec.ts',
  },
  {
    what: 'production code that imports what is for testing',
    code: "export { call } from '../testing/script.js';",
    bad: 'lib/providers/openai.ts',
    good: 'lib/testing/scriptedModel.ts',
  },
  {
    what: 'browser testing code that imports the loopback server',
    code: "export { serveModel } from './server/serveModel.js';",
    bad: 'lib/testing/scriptedModel.ts',
    good: 'lib/testing/server/responder.ts',
  },
  {
    what: 'a Node built-in',
    code: "export { readFileSync } from 'node:fs';",
    bad: 'lib/protocol/post.ts',
    good: 'lib/testing/server/serveModel.ts',
  },
  {
    what: 'a Node built-in without its prefix',
    code: "export { readFileSync } from 'fs';",
    bad: 'lib/protocol/post.ts',
  },
  {
    what: 'a package that is not for production',
    code: "export { default as fc } from 'fast-check';",
    bad: operator,
    good: 'spec/core/usage.spec.ts',
  },
  {
    what: 'zod for more than its types',
    code: "import * as z from 'zod';\nexport const s = z.string();",
    bad: 'lib/core/schema.ts',
    good: 'spec/core/usage.spec.ts',
  },
].map((each) => ({ ...each, rule: 'house/one-way' }));

const timers: Case[] = [
  'setTimeout(() => undefined, 1)',
  'globalThis.setTimeout(() => undefined, 1)',
  'setInterval(() => undefined, 1)',
].map((code) => ({
  what: code,
  rule: 'no-restricted-globals',
  code: `export const timer = ${code};`,
  bad: 'lib/testing/server/serveModel.ts',
  good: 'spec/core/usage.spec.ts',
}));

const others: Case[] = [
  {
    what: "import { z } from 'zod'",
    rule: 'no-restricted-syntax',
    code: "import { z } from 'zod';\nexport const s = z.string();",
    bad: 'spec/core/usage.spec.ts',
  },
  {
    what: "import { z as zod } from 'zod'",
    rule: 'no-restricted-syntax',
    code: "import { z as zod } from 'zod';\nexport const s = zod.string();",
    bad: 'spec/core/usage.spec.ts',
  },
  {
    what: "import z from 'zod'",
    rule: 'no-restricted-syntax',
    code: "import z from 'zod';\nexport const s = z.string();",
    bad: 'spec/core/usage.spec.ts',
  },
  {
    what: 'an operator that subscribes in a bare Observable',
    rule: 'no-restricted-syntax',
    code: "import { Observable } from 'rxjs';\nexport const bare = (source: Observable<number>) => new Observable<number>((out) => source.subscribe(out));",
    bad: operator,
    good: 'lib/core/createOperator.ts',
  },
  {
    what: 'console',
    rule: 'no-console',
    code: "console.log('x');\nexport {};",
    bad: operator,
    good: 'spec/core/usage.spec.ts',
  },
  {
    what: 'process',
    rule: 'no-restricted-globals',
    code: "export const key = process.env['KEY'];",
    bad: 'lib/providers/openai.ts',
    good: 'lib/testing/server/serveModel.ts',
  },
  {
    what: 'the wall clock',
    rule: 'no-restricted-properties',
    code: 'export const now = Date.now();',
    bad: operator,
    good: 'spec/core/usage.spec.ts',
  },
  {
    what: 'any',
    rule: '@typescript-eslint/no-explicit-any',
    code: 'export const f = (x: any): unknown => x;',
    bad: operator,
  },
  {
    what: 'a value of type any, which types alone show',
    rule: '@typescript-eslint/no-unsafe-member-access',
    code: "export const f: unknown = JSON.parse('{}').a;",
    bad: operator,
  },
  {
    what: 'a non-null assertion',
    rule: '@typescript-eslint/no-non-null-assertion',
    code: 'export const f = (x?: string) => x!.length;',
    bad: operator,
    good: 'spec/core/usage.spec.ts',
  },
  {
    what: 'a promise that nobody awaits',
    rule: '@typescript-eslint/no-floating-promises',
    code: 'export function f(p: Promise<void>) {\n  p.then(() => undefined);\n}',
    bad: operator,
  },
  {
    what: 'a switch that forgets a kind',
    rule: '@typescript-eslint/switch-exhaustiveness-check',
    code: "export function f(x: 'a' | 'b') {\n  switch (x) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}",
    bad: operator,
  },
  {
    what: 'what is deprecated',
    rule: '@typescript-eslint/no-deprecated',
    code: "import { of } from 'rxjs';\nexport const p = of(1).toPromise();",
    bad: operator,
  },
  {
    what: 'an async subscriber',
    rule: 'rxjs-x/no-async-subscribe',
    code: `${withObservable}export const f = (o: Observable<number>) => o.subscribe({ next: async () => Promise.resolve(), error: () => undefined });\nof(1);`,
    bad: operator,
  },
  {
    what: 'a subscription without an error handler',
    rule: 'rxjs-x/no-ignored-error',
    code: "import type { Observable } from 'rxjs';\nexport const f = (o: Observable<number>) => o.subscribe((n) => n.toFixed());",
    bad: operator,
    good: 'spec/core/usage.spec.ts',
  },
  {
    what: 'an Observable that nobody subscribes',
    rule: 'rxjs-x/no-floating-observables',
    code: "import { of } from 'rxjs';\nexport function f() {\n  of(1);\n}",
    bad: operator,
  },
  {
    what: 'takeUntil before an operator that goes on',
    rule: 'rxjs-x/no-unsafe-takeuntil',
    code: "import { mergeMap, of, takeUntil } from 'rxjs';\nimport type { Observable } from 'rxjs';\nexport const f = (o: Observable<number>, stop: Observable<void>) => o.pipe(takeUntil(stop), mergeMap((n) => of(n)));",
    bad: operator,
  },
  {
    what: "RxJS's internals",
    rule: 'rxjs-x/no-internal',
    code: "import { Observable } from 'rxjs/internal/Observable';\nexport const o = Observable;",
    bad: 'spec/core/usage.spec.ts',
  },
  {
    what: 'a file that is two things',
    rule: 'max-lines',
    code: Array.from({ length: 251 }, (_, n) => `export const c${n} = ${n};`).join('\n'),
    bad: operator,
    good: 'spec/core/usage.spec.ts',
  },
];

describe('lint', () => {
  // The first file pays for loading ESLint, TypeScript and the program: 3 s on an idle machine, several times that on a busy one.
  beforeAll(() => rulesBrokenBy('export {};\n', operator), 120_000);

  it.each([...oneWay, ...timers, ...others])(
    'objects to $what ($rule)',
    async ({ rule, code, bad, good }) => {
      expect(await rulesBrokenBy(`${code}\n`, bad)).toContain(rule);
      if (good) expect(await rulesBrokenBy(`${code}\n`, good)).not.toContain(rule);
    },
    60_000,
  );

  it("lets the vocabulary's types name zod", async () => {
    expect(
      await rulesBrokenBy("import type { ZodType } from 'zod';\nexport type S = ZodType;\n", 'lib/core/schema.ts'),
    ).toEqual([]);
  }, 60_000);
});
