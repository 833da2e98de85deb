import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ESLint, Linter } from 'eslint';
import tseslint from 'typescript-eslint';

// The code is linted under the name of a file that exists: rules with type information support no other names.
const eslint = new ESLint({ cwd: process.cwd() });

async function rulesBrokenBy(code: string, filePath: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath });
  return [...new Set(result?.messages.map(({ ruleId, message }) => ruleId ?? message))];
}

interface Case {
  /** The code, in words. */
  readonly what: string;
  readonly rule: string;
  readonly code: string;
  /** A file in which the rule rejects the code. */
  readonly bad: string;
  /** A file in which the rule accepts the code. */
  readonly good?: string;
}

const operator = 'lib/operators/prefixAfterTools.ts';
const withObservable = "import { of } from 'rxjs';\nimport type { Observable } from 'rxjs';\n";

const imports: Case[] = [
  {
    what: 'an operator that imports a provider',
    code: "export { openai } from '../providers/openai.js';",
    bad: operator,
    good: 'lib/providers/httpModel.ts',
  },
  {
    what: 'an operator that imports a type of the protocol',
    code: "import type { Wire } from '../protocol/wire.js';\nexport type W = Wire;",
    bad: operator,
    good: 'lib/providers/openai.ts',
  },
  {
    what: 'a dynamic import of another room',
    code: "export const late = () => import('../providers/openai.js');",
    bad: operator,
  },
  {
    what: 'an import type of another room',
    code: "export type W = import('../protocol/wire.js').Wire;",
    bad: 'lib/core/usage.ts',
  },
  {
    what: 'a room that imports the main entry point',
    code: "export { createAgent } from '../index.js';",
    bad: operator,
  },
  {
    what: 'an import of the library by its package name',
    code: "export { createAgent } from 'rivulet';",
    bad: operator,
    good: 'spec/index.spec.ts',
  },
  {
    what: 'a Node built-in',
    code: "export { readFileSync } from 'node:fs';",
    bad: 'lib/protocol/post.ts',
    good: 'lib/testing/server/serveModel.ts',
  },
  {
    what: 'a Node built-in of a recording',
    code: "export { readFileSync } from 'node:fs';",
    bad: 'lib/observe/recording/record.ts',
    good: 'lib/cli/main.ts',
  },
  {
    what: 'a Node built-in without its prefix',
    code: "export { readFileSync } from 'fs';",
    bad: 'lib/protocol/post.ts',
  },
  {
    what: 'a package that is not a dependency',
    code: "export { default as fc } from 'fast-check';",
    bad: operator,
    good: 'spec/core/usage.spec.ts',
  },
  {
    what: 'a value of an optional peer, outside of its bridge',
    code: "export { trace } from '@opentelemetry/api';",
    bad: 'lib/operators/toView.ts',
    good: 'lib/observe/opentelemetry/telemetry.ts',
  },
  {
    what: 'a bridge that imports a provider',
    code: "export { openai } from '../../providers/openai.js';",
    bad: 'lib/observe/opentelemetry/telemetry.ts',
  },
  {
    what: 'a value of zod',
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
    what: 'a value of the type any',
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
    what: 'a floating promise',
    rule: '@typescript-eslint/no-floating-promises',
    code: 'export function f(p: Promise<void>) {\n  p.then(() => undefined);\n}',
    bad: operator,
  },
  {
    what: 'a switch that is not exhaustive',
    rule: '@typescript-eslint/switch-exhaustiveness-check',
    code: "export function f(x: 'a' | 'b') {\n  switch (x) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}",
    bad: operator,
  },
  {
    what: 'a deprecated function',
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
    what: 'an Observable that is never subscribed',
    rule: 'rxjs-x/no-floating-observables',
    code: "import { of } from 'rxjs';\nexport function f() {\n  of(1);\n}",
    bad: operator,
  },
  {
    what: 'takeUntil before an operator that continues after it',
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
    what: 'a file of more than 250 lines of code',
    rule: 'max-lines',
    code: Array.from({ length: 251 }, (_, n) => `export const c${n} = ${n};`).join('\n'),
    bad: operator,
    good: 'spec/core/usage.spec.ts',
  },
  {
    what: 'a comment of more than 120 columns',
    rule: 'max-len',
    code: `// ${'word '.repeat(30)}\nexport {};`,
    bad: operator,
    good: 'spec/core/usage.spec.ts',
  },
];

describe('lint', () => {
  // The first file loads ESLint, TypeScript and the program: 3 s on an idle machine, several times that on a busy one.
  beforeAll(() => rulesBrokenBy('export {};\n', operator), 120_000);

  it.each([...imports, ...timers, ...others])(
    'lint rejects $what ($rule)',
    async ({ rule, code, bad, good }) => {
      expect(await rulesBrokenBy(`${code}\n`, bad)).toContain(rule);
      if (good) expect(await rulesBrokenBy(`${code}\n`, good)).not.toContain(rule);
    },
    60_000,
  );

  it('lint accepts types of zod in lib/', async () => {
    expect(
      await rulesBrokenBy("import type { ZodType } from 'zod';\nexport type S = ZodType;\n", 'lib/core/schema.ts'),
    ).toEqual([]);
  });
});

/** The rooms of lib/, and the rooms that each may import: DESIGN, section 4. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  operators: ['core'],
  protocol: ['core'],
  providers: ['core', 'protocol'],
  agent: ['core', 'operators'],
  models: ['core', 'operators', 'protocol'],
  tools: ['core', 'operators', 'protocol'],
  transport: ['core', 'operators', 'protocol'],
  service: ['core', 'operators', 'protocol', 'transport', 'agent', 'service/stores'],
  'service/stores': ['core', 'operators', 'protocol', 'transport', 'agent', 'service'],
  chat: ['core', 'operators', 'protocol', 'transport', 'agent'],
  observe: ['core', 'operators', 'protocol', 'agent'],
};
const published = Object.keys(mayImport);
const programs: typeof mayImport = {
  testing: published.filter((room) => room !== 'service/stores'),
  'testing/server': ['core', 'testing', 'observe'],
  cli: [...published, 'testing', 'testing/server'],
  index: published,
};
const allRooms = { ...mayImport, ...programs };
const isFile = (room: string) => room === 'index';

describe('house/one-way', () => {
  // Without type information, the rule also works for rooms that do not exist yet.
  const linter = new Linter();
  let config: Linter.Config[] = [];
  beforeAll(async () => {
    const all = ((await import(resolve('eslint.config.js'))) as { readonly default: readonly Linter.Config[] }).default;
    const plugins = all.find(({ plugins: found }) => found?.['house'])?.plugins ?? {};
    const parser = tseslint.parser as Linter.Parser;
    config = [
      { files: ['**/*.ts'], languageOptions: { parser }, plugins, rules: { 'house/one-way': 'error' } },
    ] as Linter.Config[];
  });

  /** Whether a file may import a module, by a path relative to the file. */
  function accepts(file: string, to: string): boolean {
    const up = '../'.repeat(file.split('/').length - 2) || './';
    return linter.verify(`export * from '${up}${to}.js';`, config, { filename: resolve(file) }).length === 0;
  }

  it.each(Object.entries(allRooms))('lib/%s may import itself and these rooms only: %j', (room, others) => {
    const accepted = Object.keys(allRooms).filter((other) =>
      accepts(isFile(room) ? `lib/${room}.ts` : `lib/${room}/a.ts`, isFile(other) ? other : `${other}/b`),
    );
    expect(accepted.sort()).toEqual([room, ...others].sort());
  });

  it.each(['providers', 'operators', 'core', 'tools'])('a folder in lib/%s is in the same room', (room) => {
    expect(accepts(`lib/${room}/folder/a.ts`, `${room}/b`)).toBe(true);
    expect(accepts(`lib/${room}/folder/a.ts`, 'cli/main')).toBe(false);
  });

  it('a file outside the rooms may import nothing', () => {
    expect(accepts('lib/helpers/a.ts', 'core/b')).toBe(false);
  });
});
