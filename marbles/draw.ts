import { drawFolder, namesIn } from './drawing.js';

// `npm run marbles` draws every marbles/<name>.txt to <name>.svg. `npm run marbles -- --check` writes nothing, and
// fails if a drawing is missing or out of date.
const folder = import.meta.dirname;
const check = process.argv.includes('--check');
const problems = drawFolder(folder, check);

for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
else process.stdout.write(`${namesIn(folder, '.txt').length} diagrams ${check ? 'are up to date' : 'drawn'}.\n`);
