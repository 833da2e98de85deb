import { transformSync } from 'esbuild';

/**
 * Compiles TypeScript for jest, without a look at types: `npm run types` checks them. In a fresh clone, where jest has
 * no cache, esbuild saves a third of the CPU time of the specs in comparison with ts-jest.
 */
export default {
  process: (source, path) =>
    transformSync(source, {
      sourcefile: path,
      loader: 'ts',
      format: 'esm',
      target: 'es2022',
      sourcemap: 'inline',
      tsconfigRaw: { compilerOptions: { target: 'es2022', verbatimModuleSyntax: true } },
    }),
};
