// Runs specs twice in one process, as Stryker does with its mutants, and fails with the tests that fail in one of the
// runs: what they have used up (the answers of a scripted model that is created with the file) would count as a killed
// mutant. Arguments: the pattern of the tests, and the files.
import Mocha from 'mocha';
import './fileSuites.js';

const [pattern = '', ...files] = process.argv.slice(2);
const mocha = new Mocha({ reporter: 'dot', grep: new RegExp(pattern) });
mocha.cleanReferencesAfterRun(false);
for (const file of files) mocha.addFile(file);
await mocha.loadFilesAsync();

const failed = new Set<string>();
const run = () =>
  new Promise<void>((done) => mocha.run(() => done()).on('fail', (test) => failed.add(test.fullTitle())));
await run();
await run();
if (failed.size > 0)
  console.error(`These tests fail when they run a second time in one process:\n${[...failed].join('\n')}`);
process.exit(failed.size > 0 ? 1 : 0);
