import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// npm run browser [-- --short] [-- --only TEXT]: the examples' pages in Chromium. See spec/checks/browser/README.md.

const { values } = parseArgs({ options: { short: { type: 'boolean', default: false }, only: { type: 'string' } } });
const folder = import.meta.dirname;
if (!existsSync(join(folder, 'node_modules')))
  execFileSync('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });

const { runChecks } = await import('./run.js'); // imports what was just installed
// A check that failed may have left a server open.
process.exit((await runChecks({ short: values.short, only: values.only })) > 0 ? 1 : 0);
