import { fileURLToPath } from 'node:url';
import { calculate } from './calculate.js';
import { readFile } from './readFile.js';
import { weather } from './weather.js';
import { writeFile } from './writeFile.js';

/** The project's folder: files are read and written only inside it. */
const project = fileURLToPath(new URL('../..', import.meta.url));

/** The tools of the agent. */
export const tools = [weather, calculate, readFile(project), writeFile(project)] as const;
