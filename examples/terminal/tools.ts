import { fileURLToPath } from 'node:url';
import { calculate } from './calculate.js';
import { readFile } from './readFile.js';
import { weather } from './weather.js';

/** The project's folder: what `read_file` can read. */
export const project = fileURLToPath(new URL('../..', import.meta.url));

/** What the demo's model can call. */
export const tools = [weather, calculate, readFile(project)] as const;
