import { deepStrictEqual } from 'node:assert/strict';
import { expect } from '@jest/globals';
import * as rxjs from 'rxjs';
import * as rivulet from 'rivulet';
import * as recordings from 'rivulet/recording';
import * as testing from 'rivulet/testing';
import ts from 'typescript';

/** Runs a written spec in this process: its imports are these modules. Returns the titles of its tests. */
export function runSpec(
  text: string,
  files: Readonly<Record<string, string>> = {},
  library: object = rivulet,
): string[] {
  const titles: string[] = [];
  const it = (title: string, test: () => void) => {
    titles.push(title);
    test();
  };
  const modules: Readonly<Record<string, object>> = {
    rxjs,
    rivulet: library,
    'rivulet/recording': recordings,
    'rivulet/testing': testing,
    vitest: { expect, it },
    '@jest/globals': { expect, it },
    'node:test': { it },
    'node:assert/strict': { deepStrictEqual },
    'node:fs': { readFileSync: (url: URL) => files[url.pathname] },
  };
  const commonJs = text.replaceAll('import.meta.url', '"file:///spec/run.spec.ts"');
  const { outputText, diagnostics } = ts.transpileModule(commonJs, {
    reportDiagnostics: true,
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  expect(diagnostics).toEqual([]);
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the spec is a program
  const program = new Function('require', 'exports', outputText) as (...args: readonly unknown[]) => void;
  program((name: string) => modules[name], {});
  return titles;
}
