// npm run reference: fixed work of the kind that `npm test` does. TypeScript checks and compiles the sources of RxJS, which
// package-lock.json fixes, in two processes. `.ci/run` compares `npm test` with it in the same run: the ratio depends little
// on the machine and on what else it does, while seconds do.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';

const ROUNDS = 3;

if (process.argv.includes('--worker')) work();
else {
  const script = import.meta.filename;
  const workers = [1, 2].map(() => fork(script, ['--worker'], { execArgv: ['--import', 'tsx'] }));
  const codes = await Promise.all(workers.map((worker) => once(worker, 'exit')));
  process.exitCode = codes.every(([code]) => code === 0) ? 0 : 1;
}

function work(): void {
  // Of a copy outside of node_modules: TypeScript emits no file of a package.
  const folder = mkdtempSync(join(tmpdir(), 'rivulet-reference-'));
  cpSync(join(import.meta.dirname, '../../../node_modules/rxjs/src'), folder, { recursive: true });
  const files = ['index', 'ajax/index', 'fetch/index', 'operators/index', 'testing/index', 'webSocket/index'];
  for (let round = 0; round < ROUNDS; round++) {
    const program = ts.createProgram(
      files.map((name) => join(folder, `${name}.ts`)),
      {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ES2022,
        moduleResolution: ts.ModuleResolutionKind.Bundler,
        strict: true,
        skipLibCheck: true,
        types: [],
        outDir: '/out',
      },
    );
    ts.getPreEmitDiagnostics(program);
    let length = 0;
    program.emit(undefined, (_, text) => void (length += text.length));
    if (length < 500_000)
      throw new Error(`TypeScript has emitted ${length} characters: the sources of RxJS are missing.`);
  }
  rmSync(folder, { recursive: true });
}
