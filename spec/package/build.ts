// npm run build: the JavaScript of the package. The declarations are there already; CommonJS has a package.json of its
// own, which says that it is that.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleLibrary } from './bundleLibrary.js';
import { root } from './shell.js';

for (const format of ['esm', 'cjs'] as const) await bundleLibrary(format, join(root, 'dist', format));
await writeFile(join(root, 'dist/cjs/package.json'), `${JSON.stringify({ type: 'commonjs', sideEffects: false })}\n`);
