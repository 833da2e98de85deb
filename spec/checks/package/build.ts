// npm run build: the JavaScript of the package. The declarations are there already: their pictures, which the package
// does not contain, become absolute URLs. CommonJS has a package.json of its own, which says that it is that.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleLibrary } from './bundleLibrary.js';
import { root } from './shell.js';

for (const format of ['esm', 'cjs'] as const) await bundleLibrary(format, join(root, 'dist', format));
/** The drawings of the version that is built. */
const drawings = 'https://raw.githubusercontent.com/rivulet-rx/rivulet/v';

async function linkDrawings(): Promise<void> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const files = await readdir(join(root, 'dist'), { recursive: true });
  for (const name of files.filter((each) => each.endsWith('.d.ts'))) {
    const file = join(root, 'dist', name);
    const text = await readFile(file, 'utf8');
    const linked = text.replaceAll(/!\[\]\((?:\.\.\/)+marbles\//g, `![](${drawings}${version}/marbles/`);
    if (linked !== text) await writeFile(file, linked);
  }
}

await linkDrawings();
// The bridge to Angular has no CommonJS, as Angular has none.
await rm(join(root, 'dist/cjs/chat/angular'), { recursive: true });
await writeFile(join(root, 'dist/cjs/package.json'), `${JSON.stringify({ type: 'commonjs', sideEffects: false })}\n`);
