// Mocha's `bdd` interface with a suite for each file, so that hooks at the top level of a file belong to it alone, as in
// Jest. In Mocha's own interface they run before and after the tests of all files. Stryker accepts only the names of
// Mocha's interfaces, so this one takes the place of `bdd`.
import Mocha from 'mocha';

const { bdd } = Mocha.interfaces;

/** The time of a test without a mutant, in milliseconds, as in jest.config.ts. */
const TIMEOUT = 60_000;

Mocha.interfaces.bdd = (root: Mocha.Suite) => {
  root.on('pre-require', (context, file, mocha) => {
    const suite = Mocha.Suite.create(root, '');
    suite.file = file;
    suite.timeout(TIMEOUT);
    bdd(suite);
    suite.emit('pre-require', context, file, mocha);
  });
};
