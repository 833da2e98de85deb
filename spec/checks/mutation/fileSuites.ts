// Mocha's `bdd` interface with a suite for each file, so that hooks at the top level of a file belong to it alone, as in
// Jest. In Mocha's own interface they run before and after the tests of all files. Stryker accepts only the names of
// Mocha's interfaces, so this one takes the place of `bdd`.
import Mocha from 'mocha';

const { bdd } = Mocha.interfaces;

/** A test that waits for what a mutant prevents fails after this time, in milliseconds. Jest allows 5,000. */
const TIMEOUT = 2500;

Mocha.interfaces.bdd = (root: Mocha.Suite) => {
  root.on('pre-require', (context, file, mocha) => {
    const suite = Mocha.Suite.create(root, '');
    suite.file = file;
    suite.timeout(TIMEOUT);
    bdd(suite);
    suite.emit('pre-require', context, file, mocha);
  });
};
