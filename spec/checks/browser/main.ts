import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// npm run browser [-- --short] [--only TEXT] [--seed N] [--seconds N]: the examples' pages in Chromium. See
// spec/checks/browser/README.md.

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '600' },
  },
});
const folder = import.meta.dirname;
if (!existsSync(join(folder, 'node_modules/axe-core')))
  execFileSync('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });

const { runChecks } = await import('./run.js'); // imports what was just installed
// A check that failed may have left a server open.
const [seed, seconds] = [Number(values.seed), Number(values.seconds)];
process.exit((await runChecks({ short: values.short, only: values.only, seed, seconds })) > 0 ? 1 : 0);
