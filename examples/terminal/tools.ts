import { fileURLToPath } from 'node:url';
import { calculate } from './calculate.js';
import { readFile } from './readFile.js';
import { weather } from './weather.js';

/** The project's folder: `read_file` reads only files inside it. */
export const project = fileURLToPath(new URL('../..', import.meta.url));

/** The tools of the agent. */
export const tools = [weather, calculate, readFile(project)] as const;
