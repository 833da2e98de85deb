// npm run sizes: builds the library, and checks only the sizes of its bundles, as the last step of npm run package does.
import { join } from 'node:path';
import { bundles } from './bundle.js';
import { bundleLibrary } from './bundleLibrary.js';
import { root } from './shell.js';

await bundleLibrary('esm', join(root, 'dist/esm'));
console.log(await bundles(root)); // `rivulet` is found in dist, since it is the package's own name
