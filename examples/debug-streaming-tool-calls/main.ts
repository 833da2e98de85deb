// npm run debug:streaming-tool-calls
import { run } from '../debug/run.js';
import { operators } from './operators.js';

process.exitCode = await run(operators, process.argv.slice(2), process);
