// npm run debug:tool-accumulation
import { run } from '../debug/run.js';
import { accumulation } from './accumulation.js';

process.exitCode = await run(accumulation, process.argv.slice(2), process);
